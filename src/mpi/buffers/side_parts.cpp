#include "mpi/buffers/side_parts.h"

#include <algorithm>
#include <optional>

#include "device/device.h"

namespace crossrail::mpi {
namespace {

// `offset` is the distance of the block's address from that of the whole side.
SidePart part_of(const Side& block, std::ptrdiff_t offset) {
  if (!block.in_a_row() && block.facts.layout != nullptr) return {offset, 0, block.count, block.facts.layout, nullptr};
  const Span span = span_of(block);
  return {offset + span.lower, span.bytes, 0, nullptr, nullptr};
}

// Rows collects rows for device::copy_rows, which copies many at a time. If the addresses are absolute (MPI_BOTTOM, which is null), it copies them
// one by one, since they may be in different kinds of memory.
class Rows {
 public:
  Rows(std::byte* to, std::byte* from) : to_(to), from_(from) {}
  // Adds the pieces `like`, counted from `offset`.
  Status add(std::ptrdiff_t offset, const Pieces& like) {
    constexpr std::int64_t kMostPitch = std::int64_t{1} << 30;  // Devices limit the pitch.
    const auto bytes = static_cast<std::int64_t>(like.bytes);
    if (like.count == 1) return add_rows(offset, like.bytes, 1, like.bytes);
    if (like.stride >= bytes && like.stride <= kMostPitch) return add_rows(offset, like.bytes, like.count, static_cast<std::size_t>(like.stride));
    for (std::uint64_t piece = 0; piece < like.count; ++piece) {
      CROSSRAIL_TRY(add_rows(offset + static_cast<std::int64_t>(piece) * like.stride, like.bytes, 1, like.bytes));
    }
    return {};
  }
  Status finish() {
    const Status status = device::copy_rows(rows_);
    rows_.clear();
    return status;
  }

 private:
  Status add_rows(std::ptrdiff_t offset, std::size_t bytes, std::size_t count, std::size_t pitch) {
    const std::size_t most = to_ == nullptr || from_ == nullptr ? 1 : 1024;
    rows_.push_back({moved(to_, offset), moved(from_, offset), bytes, count, pitch});
    return rows_.size() < most ? Status{} : finish();
  }
  std::byte *to_, *from_;
  std::vector<crossrail_rows> rows_;
};

// PieceCopies copies pieces, together if they are in one allocation of a device. If processes share a device, each wait may take milliseconds.
class PieceCopies {
 public:
  // `piece` lies on the side that has pieces.
  Status add(std::byte* to, const std::byte* from, const std::byte* piece, std::size_t bytes) {
    if (!is_near(piece, bytes)) {
      CROSSRAIL_TRY(finish());
      near_ = {};
      const crossrail_device_module* const module = device::module();
      if (module != nullptr) module->describe(piece, bytes, &near_);
    }
    if (!is_near(piece, bytes)) return device::copy(to, from, bytes);
    rows_.push_back({to, from, bytes, 1, bytes});
    return rows_.size() < 1024 ? Status{} : finish();
  }
  Status finish() {
    const Status status = device::copy_rows(rows_);
    rows_.clear();
    return status;
  }

 private:
  bool is_near(const std::byte* piece, std::size_t bytes) const {
    const auto at = reinterpret_cast<std::uintptr_t>(piece), base = reinterpret_cast<std::uintptr_t>(near_.base);
    return near_.kind == CROSSRAIL_MEMORY_DEVICE && at >= base && bytes <= near_.bytes && at - base <= near_.bytes - bytes;
  }
  crossrail_memory near_{};
  std::vector<crossrail_rows> rows_;
};

// Calls `visit` with the offset and length of each piece, in MPI's order, until it returns false. Returns whether it never did.
template <class Visit>
bool for_each_piece(const SidePart& part, Visit visit) {
  if (part.layout == nullptr) return visit(part.offset, part.bytes);
  for (std::uint64_t element = 0; element < part.elements; ++element) {
    const std::ptrdiff_t first = part.offset + static_cast<std::int64_t>(element) * part.layout->extent;
    for (const Pieces& like : part.layout->pieces) {
      for (std::uint64_t piece = 0; piece < like.count; ++piece) {
        if (!visit(first + like.offset + static_cast<std::int64_t>(piece) * like.stride, like.bytes)) return false;
      }
    }
  }
  return true;
}

}  // namespace

SideParts parts_of(const Side& side) {
  SideParts parts;
  for (int number = 0; number < side.blocks(); ++number) {
    const Side block = side.block(number);
    if (block.bytes() > 0) parts.push_back(part_of(block, offset_between(side.address, block.address)));
  }
  return parts;
}

void keep_layouts(SideParts& parts) {
  for (SidePart& part : parts) {
    if (part.layout == nullptr) continue;
    part.kept = std::make_shared<const Layout>(*part.layout);
    part.layout = part.kept.get();
  }
}

bool in_device_memory(const void* address, const SideParts& parts) {
  const auto on_host = [address](std::ptrdiff_t offset, std::size_t) { return !device::is_device_memory(moved(const_cast<void*>(address), offset)); };
  return std::any_of(parts.begin(), parts.end(), [&](const SidePart& part) {
    if (address == nullptr || part.layout == nullptr) return !for_each_piece(part, on_host);
    return !on_host(part.offset + part.layout->pieces.front().offset, 0);
  });
}

bool on_one_device(const Side& side) {
  const crossrail_device_module* const module = device::module();
  if (module == nullptr) return false;
  std::optional<crossrail_memory> first;
  return for_each_piece(part_of(side, 0), [&](std::ptrdiff_t offset, std::size_t bytes) {
    if (bytes == 0) return true;
    crossrail_memory other{};
    module->describe(moved(side.address, offset), bytes, &other);
    if (!first.has_value()) first = other;
    return other.kind == CROSSRAIL_MEMORY_DEVICE && other.device == first->device && other.context == first->context;
  });
}

Status copy_pieces(const Side& side, std::byte* row, RowIs row_is) {
  PieceCopies copies;
  Status copied;
  for_each_piece(part_of(side, 0), [&](std::ptrdiff_t offset, std::size_t bytes) {
    std::byte* const piece = moved(side.address, offset);
    copied = row_is == RowIs::filled ? copies.add(row, piece, piece, bytes) : copies.add(piece, row, piece, bytes);
    row += bytes;
    return copied.ok();
  });
  return copied.ok() ? copies.finish() : copied;
}

Status copy_part(std::byte* to, std::byte* from, const SidePart& part) {
  if (part.layout == nullptr) return device::copy(moved(to, part.offset), moved(from, part.offset), part.bytes);
  const Layout& layout = *part.layout;
  Rows rows(to, from);
  // Few copies of many rows each are the fastest: a copy takes all pieces of one element, or one piece of all elements.
  for (const Pieces& piece : layout.pieces) {
    const std::ptrdiff_t first = part.offset + piece.offset;
    if (piece.count > part.elements) {
      for (std::uint64_t element = 0; element < part.elements; ++element) {
        CROSSRAIL_TRY(rows.add(first + static_cast<std::int64_t>(element) * layout.extent, piece));
      }
      continue;
    }
    for (std::uint64_t number = 0; number < piece.count; ++number) {
      CROSSRAIL_TRY(rows.add(first + static_cast<std::int64_t>(number) * piece.stride, {0, piece.bytes, part.elements, layout.extent, 0}));
    }
  }
  return rows.finish();
}

}  // namespace crossrail::mpi
