// What is remembered with a derived type, as an attribute of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "mpi/buffers/datatypes.h"
#include "mpi/buffers/flatten.h"

namespace crossrail::mpi {

// Many programs make a new type for every call. One that costs much to take apart is packed by MPI in the call in which it is first seen, and
// taken apart when a later call uses it again. One call may look at a type many times.
Effort effort_of_this_call();

class TypeRecord {
 public:
  // Seen by the call that runs on this thread, taken apart if that costs little. `facts`: all but those that it tells.
  TypeRecord(MPI_Datatype type, const TypeFacts& facts);
  // Of a type with the same data.
  TypeRecord(const TypeRecord& of);
  TypeRecord& operator=(const TypeRecord&) = delete;

  // As they are known by now; whoever has been given a layout keeps it as long as the type lives.
  const TypeFacts& facts() const { return known()->facts; }
  bool is_apart() const { return known()->apart; }
  bool seen_by_this_call() const;
  void take_apart(MPI_Datatype type);
  const DeviceLayout* device_layout();

  // Null where there is none. Returns MPI's code.
  static int find(MPI_Datatype type, TypeRecord*& record);
  // False: nothing can be kept with this type.
  static bool keep(MPI_Datatype type, std::unique_ptr<TypeRecord> record);

 private:
  struct Known {
    TypeFacts facts;
    std::shared_ptr<const Layout> layout;
    bool apart = false;  // as far as it can be
  };
  static Known look(MPI_Datatype type, const TypeFacts& facts, Effort effort);
  const Known* known() const { return known_.load(std::memory_order_acquire); }

  // Neither changes once others may read it.
  const Known first_;
  std::unique_ptr<const Known> later_;
  std::atomic<const Known*> known_;
  std::uint64_t seen_by_;  // a call's number
  std::mutex mutex_;       // of what follows, and of taking it apart
  bool device_layout_made_ = false;
  std::unique_ptr<DeviceLayout> device_layout_;
};

}  // namespace crossrail::mpi
