// Layout: where the bytes of a datatype with gaps lie, so that a part of many elements can be copied between them and a row
// of bytes without MPI. Part: a block between two ranks, in a row or by a Layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace crossrail {

// Addresses are computed as numbers: MPI_BOTTOM is null, and offsets may be negative.
inline std::byte* moved(void* address, std::ptrdiff_t by) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uintptr_t>(by));
}

// `count` pieces of `bytes`, `stride` apart; `at` bytes of the element come before.
struct Pieces {
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 1;
  std::int64_t stride = 0;
  std::uint64_t at = 0;
};

// Of one element; the next begins `extent` bytes on. In the order in which MPI sends them.
struct Layout {
  std::vector<Pieces> pieces;
  std::uint64_t element_bytes = 0;
  std::int64_t extent = 0;

  // Bytes `at` to `at + bytes` of the elements that begin at `base`, to a row or from one.
  void gather(std::byte* row, const std::byte* base, std::size_t at, std::size_t bytes) const;
  void scatter(std::byte* base, const std::byte* row, std::size_t at, std::size_t bytes) const;
};

// As many bytes as both ranks agree on, from `base` on: in a row, or by a Layout.
struct Part {
  std::byte* base = nullptr;
  const Layout* layout = nullptr;
  std::size_t begin = 0;  // bytes of the elements that come before
  std::size_t bytes = 0;

  void take(std::byte* row, std::size_t at, std::size_t length) const;
  void put(const std::byte* row, std::size_t at, std::size_t length) const;
};
// As many bytes as the receiver's.
void copy_part(const Part& to, const Part& from);

// For device modules. Null where it is more than a million segments that are no line of equal ones.
struct DeviceLayout;
std::unique_ptr<DeviceLayout> for_devices(const Layout& layout);

// Pieces one after the other become one, and those at equal distances one line.
void join(std::vector<Pieces>& pieces);

}  // namespace crossrail
