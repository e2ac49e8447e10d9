// A TypeRecord is what is remembered with a derived type, as an attribute of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "mpi/buffers/datatypes.h"
#include "mpi/buffers/flatten.h"

namespace crossrail::mpi {

// Many programs make a new type for every call. If a type is expensive to take apart, MPI packs it in the first call that uses it, and it is taken
// apart when a later call uses it again. One call may look at a type many times.
Effort effort_of_this_call();

class TypeRecord {
 public:
  // The call that runs on this thread has seen the type; it is taken apart if
  // that is cheap. `facts` contains everything except what the record finds.
  TypeRecord(MPI_Datatype type, const TypeFacts& facts);
  // Makes a record of a type with the same data.
  TypeRecord(const TypeRecord& of);
  TypeRecord& operator=(const TypeRecord&) = delete;

  // Returns what is known by now; a layout stays valid as long as the type lives.
  const TypeFacts& facts() const { return known()->facts; }
  bool is_apart() const { return known()->apart; }
  bool seen_by_this_call() const;
  void take_apart(MPI_Datatype type);
  const DeviceLayout* device_layout();

  // `record` becomes null if there is none. Returns MPI's code.
  static int find(MPI_Datatype type, TypeRecord*& record);
  // Returns false if nothing can be kept with this type.
  static bool keep(MPI_Datatype type, std::unique_ptr<TypeRecord> record);

 private:
  struct Known {
    TypeFacts facts;
    std::shared_ptr<const Layout> layout;
    bool apart = false;  // The type is taken apart as far as possible.
  };
  static Known look(MPI_Datatype type, const TypeFacts& facts, Effort effort);
  const Known* known() const { return known_.load(std::memory_order_acquire); }

  // Neither changes once other threads may read it.
  const Known first_;
  std::unique_ptr<const Known> later_;
  std::atomic<const Known*> known_;
  std::uint64_t seen_by_;  // It is the number of a call.
  std::mutex mutex_;       // It protects the members below and the taking apart.
  bool device_layout_made_ = false;
  std::unique_ptr<DeviceLayout> device_layout_;
};

}  // namespace crossrail::mpi
