// Buffers are what a contender sends from and receives into, in host or device memory. They also move checked data into them and out of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness.h"

namespace bench {

// A Source says where buffers come from.
struct Source {
  void* (*allocate)(std::size_t bytes);  // It returns null if there is no room.
  void (*release)(void* memory);
  bool on_device;
};

// Returns the peer's own source if it has one, and otherwise the bench's.
Source source_of(Memory memory, const Contender& contender);

constexpr std::byte kPoison{0xA5};  // Receive buffers contain it before a call that is checked.

// Sets says how many sets of buffers there are. Each has allocations of its own or is a slice of the same allocation. In the latter case the next set
// begins a little behind the one before and may overlap it, like memory from a caching allocator.
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

  bool complete() const;  // It is false if there was no room.
  // Frees all sets and allocates others. Ends the program if there is no room for them.
  void renew();
  std::size_t sets() const { return sets_.size(); }
  const void* send(std::size_t call) const { return sets_[call % sets_.size()].send; }
  void* recv(std::size_t call) const { return sets_[call % sets_.size()].recv; }

  // These handle the set that this call uses. Data are written to outgoing() and are in the send buffer after ship(), which also poisons the receive
  // buffer. incoming() is then the content of the receive buffer. All are host memory.
  void check_set(std::size_t call) { checked_ = call % sets_.size(); }
  std::byte* outgoing();
  void ship();
  // Serves MPI_IN_PLACE, only on the host: the data are in the receive buffer.
  void ship_in_place();
  // Takes all sets out of the caches, only on the host.
  void flush() const;
  const std::byte* incoming();
  // Returns how many bytes have been written behind the receive buffer, as seen by the last incoming().
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
  void* whole_ = nullptr;  // Slices are parts of it.
  std::size_t checked_ = 0;
  const std::byte* seen_ = nullptr;
};

}  // namespace bench
