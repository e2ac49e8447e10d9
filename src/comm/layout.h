// Layout says where the bytes of a datatype with gaps lie, so that a part of many elements can be copied between them and a row of bytes
// without MPI. Part is a block between two ranks, in a row or by a Layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace crossrail {

// Addresses are computed as numbers, because MPI_BOTTOM is null and offsets may be negative.
inline std::byte* moved(void* address, std::ptrdiff_t by) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uintptr_t>(by));
}

// There are `count` pieces of `bytes`, `stride` apart. `at` bytes of the element come before them.
struct Pieces {
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 1;
  std::int64_t stride = 0;
  std::uint64_t at = 0;
};

// The pieces are those of one element, in the order in which MPI sends them. The next element begins `extent` bytes on.
struct Layout {
  std::vector<Pieces> pieces;
  std::uint64_t element_bytes = 0;
  std::int64_t extent = 0;

  // Copies bytes `at` to `at + bytes` of the elements that begin at `base` to a row, or from one.
  void gather(std::byte* row, const std::byte* base, std::size_t at, std::size_t bytes) const;
  void scatter(std::byte* base, const std::byte* row, std::size_t at, std::size_t bytes) const;
};

// A Part has as many bytes as both ranks agree on, from `base` on, in a row or by a Layout.
struct Part {
  std::byte* base = nullptr;
  const Layout* layout = nullptr;
  std::size_t begin = 0;  // So many bytes of the elements come before.
  std::size_t bytes = 0;

  void take(std::byte* row, std::size_t at, std::size_t length) const;
  void put(const std::byte* row, std::size_t at, std::size_t length) const;
};
// Copies as many bytes as the receiver's part has.
void copy_part(const Part& to, const Part& from);

// Returns the layout for device modules, or null if it has more than a million segments that do not form a line of equal ones.
struct DeviceLayout;
std::unique_ptr<DeviceLayout> for_devices(const Layout& layout);

// Joins pieces that follow each other into one, and pieces at equal distances into one line.
void join(std::vector<Pieces>& pieces);

}  // namespace crossrail
