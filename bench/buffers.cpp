#include "buffers.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "device_memory.h"

namespace bench {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr int kSlices = 32;
constexpr std::size_t kSliceUnit = 512;  // PyTorch's allocator returns multiples of it.
constexpr std::size_t kSliceStep = 33 * kSliceUnit;  // It is no multiple of a page, so slices begin at all places of a page.

void* allocate_on_host(std::size_t bytes) { return new std::byte[bytes](); }
void release_on_host(void* memory) { delete[] static_cast<std::byte*>(memory); }

// Returns host memory that stands for a device's buffer. One is enough, because only one contender is checked at a time.
std::byte* image_of(std::size_t bytes) {
  static std::vector<std::byte> image;
  if (image.size() < bytes) image.resize(bytes);
  return image.data();
}

// Flushes the memory out of all caches of this processor.
void flush_lines(const void* memory, std::size_t bytes) {
  constexpr std::size_t kLine = 64;  // If lines are longer, it divides their length, and some are flushed twice.
  const char* const first = static_cast<const char*>(memory);
  for (std::size_t at = 0; at < bytes + kLine; at += kLine) {
    const char* const line = first + std::min(at, bytes);
#if defined(__x86_64__)
    __builtin_ia32_clflush(line);
#elif defined(__aarch64__)
    asm volatile("dc civac, %0" ::"r"(line) : "memory");
#endif
  }
#if defined(__x86_64__)
  __builtin_ia32_mfence();
#elif defined(__aarch64__)
  asm volatile("dsb sy" ::: "memory");
#endif
}

}  // namespace

Source source_of(Memory memory, const Contender& contender) {
  const bool on_device = memory == Memory::cuda;
  if (contender.peer.allocate != nullptr) return {contender.peer.allocate, contender.peer.release, on_device};
  return on_device ? Source{device::allocate, device::release, true} : Source{allocate_on_host, release_on_host, false};
}

Sets sets_of(const Options& options) { return options.slices ? Sets{kSlices, true} : Sets{options.buffers, false}; }

Buffers::Buffers(const Source& source, const GrowableBuffer& room, const Sets& sets)
    : source_(source), room_(room), sets_(static_cast<std::size_t>(sets.count)), are_slices_(sets.are_slices) {
  allocate();
}

Buffers::~Buffers() { release(); }

// All send buffers come first, and then all receive buffers.
void Buffers::allocate_slices() {
  const auto all = [this](std::size_t bytes) { return (bytes + kGuardBytes + sets_.size() * kSliceStep) / kSliceUnit * kSliceUnit; };
  const std::size_t sent = all(room_.send_bytes);
  whole_ = source_.allocate(sent + all(room_.recv_bytes));
  for (std::size_t one = 0; one < sets_.size(); ++one) {
    auto* const begin = static_cast<std::byte*>(whole_) + one * kSliceStep;
    sets_[one] = whole_ == nullptr ? Set{nullptr, nullptr} : Set{begin, begin + sent};
  }
}

void Buffers::allocate() {
  if (are_slices_) return allocate_slices();
  for (Set& set : sets_) {
    set.send = source_.allocate(room_.send_bytes + kGuardBytes);
    set.recv = source_.allocate(room_.recv_bytes + kGuardBytes);
  }
}

void Buffers::release() {
  if (are_slices_) return source_.release(whole_);
  for (const Set& set : sets_) {
    source_.release(set.send);
    source_.release(set.recv);
  }
}

void Buffers::renew() {
  release();
  allocate();
  if (complete()) return;
  std::fprintf(stderr, "bench: there is no memory left for buffers of %zu and %zu bytes\n", room_.send_bytes, room_.recv_bytes);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

bool Buffers::complete() const {
  return std::all_of(sets_.begin(), sets_.end(), [](const Set& set) { return set.send != nullptr && set.recv != nullptr; });
}

std::byte* Buffers::outgoing() {
  return source_.on_device ? image_of(room_.send_bytes) : static_cast<std::byte*>(sets_[checked_].send);
}

void Buffers::ship() {
  const std::size_t recv_bytes = room_.recv_bytes + kGuardBytes;
  if (!source_.on_device) {
    std::memset(sets_[checked_].recv, std::to_integer<int>(kPoison), recv_bytes);
    return;
  }
  device::copy(sets_[checked_].send, outgoing(), room_.send_bytes);
  device::set(sets_[checked_].recv, std::to_integer<int>(kPoison), recv_bytes);
}

void Buffers::ship_in_place() {
  ship();
  std::memcpy(sets_[checked_].recv, sets_[checked_].send, std::min(room_.send_bytes, room_.recv_bytes));
}

void Buffers::flush() const {
  for (const Set& set : sets_) {
    flush_lines(set.send, room_.send_bytes);
    flush_lines(set.recv, room_.recv_bytes);
  }
}

const std::byte* Buffers::incoming() {
  seen_ = static_cast<const std::byte*>(sets_[checked_].recv);
  if (source_.on_device) {
    const std::size_t bytes = room_.recv_bytes + kGuardBytes;
    std::byte* image = image_of(bytes);
    device::copy(image, sets_[checked_].recv, bytes);
    seen_ = image;
  }
  return seen_;
}

std::uint64_t Buffers::trespasses() const {
  const std::byte* guard = seen_ + room_.recv_bytes;
  return static_cast<std::uint64_t>(std::count_if(guard, guard + kGuardBytes, [](std::byte one) { return one != kPoison; }));
}

}  // namespace bench
