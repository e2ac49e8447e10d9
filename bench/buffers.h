// The buffers that a contender sends from and receives into, in host or device memory, and the way of
// checked data into them and out of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness.h"

namespace bench {

// Where buffers come from.
struct Source {
  void* (*allocate)(std::size_t bytes);  // null: there is no room
  void (*release)(void* memory);
  bool on_device;
};

// A peer's own where it brings one, else the bench's.
Source source_of(Memory memory, const Contender& contender);

constexpr std::byte kPoison{0xA5};  // what receive buffers hold before a call that is checked

// How many sets of buffers there are: each in allocations of its own, or each a slice of the same one, where the next set begins a bit behind
// the one before and may overlap it, as memory that a caching allocator hands out does.
struct Sets {
  int count;
  bool are_slices;
};
Sets sets_of(const Options& options);

class Buffers {
 public:
  Buffers(const Source& source, const GrowableBuffer& room, const Sets& sets);
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  bool complete() const;  // false: there was no room
  // Gives all sets back and allocates others. Ends the program where there is no room for them.
  void renew();
  std::size_t sets() const { return sets_.size(); }
  const void* send(std::size_t call) const { return sets_[call % sets_.size()].send; }
  void* recv(std::size_t call) const { return sets_[call % sets_.size()].recv; }

  // Of the set that this call has. Data are written to outgoing() and are in the send buffer after ship(), which also
  // poisons the receive buffer; incoming() is what the receive buffer then holds. All are host memory.
  void check_set(std::size_t call) { checked_ = call % sets_.size(); }
  std::byte* outgoing();
  void ship();
  // For MPI_IN_PLACE, on the host only: the data are in the receive buffer.
  void ship_in_place();
  // Takes all sets out of the caches; on the host only.
  void flush() const;
  const std::byte* incoming();
  // Bytes written behind the receive buffer, as seen by the last incoming().
  std::uint64_t trespasses() const;

 private:
  struct Set {
    void* send;
    void* recv;
  };

  void allocate();
  void release();
  void allocate_slices();

  Source source_;
  GrowableBuffer room_;
  std::vector<Set> sets_;
  bool are_slices_;
  void* whole_ = nullptr;  // what slices are of
  std::size_t checked_ = 0;
  const std::byte* seen_ = nullptr;
};

}  // namespace bench
