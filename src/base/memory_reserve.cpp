#include "base/memory_reserve.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#include "base/bytes.h"

namespace crossrail {
namespace {

// A Piece stands in front of each piece of memory, and they follow each other from the first byte to the last.
struct alignas(MemoryReserve::kAlignment) Piece {
  std::size_t bytes;  // It includes this header.
  bool taken;
};

alignas(MemoryReserve::kAlignment) std::byte reserve[MemoryReserve::kBytes];
constinit std::mutex mutex;

std::byte* end() { return reserve + sizeof reserve; }
Piece* first_piece() { return reinterpret_cast<Piece*>(reserve); }
Piece* behind(Piece* piece) { return reinterpret_cast<Piece*>(reinterpret_cast<std::byte*>(piece) + piece->bytes); }
bool is_end(const Piece* piece) { return reinterpret_cast<const std::byte*>(piece) == end(); }

void join_with_free_ones_behind(Piece* piece) {
  for (Piece* next = behind(piece); !is_end(next) && !next->taken; next = behind(piece)) piece->bytes += next->bytes;
}

void split(Piece* piece, std::size_t bytes) {
  if (piece->bytes - bytes <= sizeof(Piece)) return;
  auto* const rest = reinterpret_cast<Piece*>(reinterpret_cast<std::byte*>(piece) + bytes);
  *rest = {piece->bytes - bytes, false};
  piece->bytes = bytes;
}

// The sentence is written without taking memory, since there is none.
void say_once() {
  static std::atomic<bool> said{false};
  constexpr char kSentence[] = "crossrail: there is no memory left: going on with what was set aside for this\n";
  if (!said.exchange(true)) (void)!write(STDERR_FILENO, kSentence, sizeof kSentence - 1);
}

}  // namespace

void* MemoryReserve::take(std::size_t bytes, std::size_t alignment) {
  if (alignment > kAlignment || bytes > kBytes) return nullptr;
  const std::size_t whole = sizeof(Piece) + round_up(bytes, kAlignment);
  const std::lock_guard lock(mutex);
  if (first_piece()->bytes == 0) first_piece()->bytes = kBytes;  // The reserve is one free piece at first.
  for (Piece* piece = first_piece(); !is_end(piece); piece = behind(piece)) {
    if (piece->taken) continue;
    join_with_free_ones_behind(piece);
    if (piece->bytes < whole) continue;
    split(piece, whole);
    piece->taken = true;
    say_once();
    return piece + 1;
  }
  return nullptr;
}

bool MemoryReserve::holds(const void* piece) {
  const auto* const at = static_cast<const std::byte*>(piece);
  return at >= reserve && at < end();
}

void MemoryReserve::give_back(void* piece) {
  const std::lock_guard lock(mutex);
  (static_cast<Piece*>(piece) - 1)->taken = false;
}

}  // namespace crossrail

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

using crossrail::MemoryReserve;

namespace {

void* take_or_throw(void* piece, std::size_t bytes, std::size_t alignment) {
  if (piece == nullptr) piece = MemoryReserve::take(bytes, alignment);
  if (piece == nullptr) throw std::bad_alloc();
  return piece;
}

void* plain(std::size_t bytes) { return std::malloc(bytes == 0 ? 1 : bytes); }

void* aligned(std::size_t bytes, std::align_val_t alignment) {
  void* piece = nullptr;
  return posix_memalign(&piece, static_cast<std::size_t>(alignment), bytes == 0 ? 1 : bytes) == 0 ? piece : nullptr;
}

void give_back(void* piece) {
  if (MemoryReserve::holds(piece)) {
    MemoryReserve::give_back(piece);
  } else {
    std::free(piece);
  }
}

}  // namespace

// The C++ library makes the other forms of new and delete from these.
void* operator new(std::size_t bytes) { return take_or_throw(plain(bytes), bytes, MemoryReserve::kAlignment); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take_or_throw(aligned(bytes, alignment), bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return plain(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return plain(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept { return aligned(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept { return aligned(bytes, alignment); }
void operator delete(void* piece) noexcept { give_back(piece); }
void operator delete(void* piece, std::size_t) noexcept { give_back(piece); }
void operator delete(void* piece, std::align_val_t) noexcept { give_back(piece); }

#endif
