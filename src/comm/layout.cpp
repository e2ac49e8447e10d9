#include "comm/layout.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "base/bytes.h"
#include "comm/buffers.h"

namespace crossrail {
namespace {

// For many short pieces of one length, the length is known to the compiler.
template <std::size_t kBytes, class Copy>
void each_of(std::byte* first, std::int64_t stride, std::uint64_t count, Copy copy) {
  for (std::uint64_t piece = 0; piece < count; ++piece, first = moved(first, stride)) copy(first, kBytes);
}

template <class Copy>
void each(std::byte* first, const Pieces& like, std::uint64_t count, Copy copy) {
  switch (like.bytes) {
    case 1: return each_of<1>(first, like.stride, count, copy);
    case 2: return each_of<2>(first, like.stride, count, copy);
    case 4: return each_of<4>(first, like.stride, count, copy);
    case 8: return each_of<8>(first, like.stride, count, copy);
    case 16: return each_of<16>(first, like.stride, count, copy);
    case 32: return each_of<32>(first, like.stride, count, copy);
    default:
      for (std::uint64_t piece = 0; piece < count; ++piece, first = moved(first, like.stride)) copy(first, like.bytes);
  }
}

// Copies by one load and one store at each end, which may overlap in the middle.
template <class Word>
inline void copy_ends(std::byte* to, const std::byte* from, std::size_t bytes) {
  Word first, last;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, from + bytes - sizeof last, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + bytes - sizeof last, &last, sizeof last);
}

struct Sixteen {
  std::uint64_t low, high;
};

// For pieces of different lengths. A call of memcpy would take longer than what it copies.
inline void copy_short(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 32 || bytes < 4) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 16) {
    copy_ends<Sixteen>(to, from, bytes);
  } else if (bytes >= 8) {
    copy_ends<std::uint64_t>(to, from, bytes);
  } else {
    copy_ends<std::uint32_t>(to, from, bytes);
  }
}

// A range of the bytes of pieces or elements.
struct Stretch {
  std::uint64_t at;
  std::size_t bytes;
};

// Copies what lies in the range: the end of a piece, whole pieces, the beginning of one. Returns how many bytes that was.
template <class Copy>
std::size_t walk_pieces(const Pieces& pieces, std::byte* base, Stretch wanted, Copy copy) {
  const std::size_t all = std::min<std::size_t>(wanted.bytes, pieces.bytes * pieces.count - wanted.at);
  std::uint64_t piece = wanted.at / pieces.bytes;
  std::size_t left = all;
  if (const std::size_t skip = wanted.at % pieces.bytes; skip > 0) {
    const std::size_t part = std::min<std::size_t>(pieces.bytes - skip, left);
    copy(moved(base, pieces.offset + static_cast<std::int64_t>(piece) * pieces.stride + static_cast<std::int64_t>(skip)), part);
    left -= part;
    ++piece;
  }
  std::byte* const first = moved(base, pieces.offset + static_cast<std::int64_t>(piece) * pieces.stride);
  const std::uint64_t whole = left / pieces.bytes;
  each(first, pieces, whole, copy);
  left -= whole * pieces.bytes;
  if (left > 0) copy(moved(first, static_cast<std::int64_t>(whole) * pieces.stride), left);
  return all;
}

template <class Copy>
void walk(const Layout& layout, std::byte* base, Stretch wanted, Copy copy) {
  if (wanted.bytes == 0) return;
  base = moved(base, static_cast<std::int64_t>(wanted.at / layout.element_bytes) * layout.extent);
  std::uint64_t rest = wanted.at % layout.element_bytes;
  auto pieces = std::upper_bound(layout.pieces.begin(), layout.pieces.end(), rest,
                                 [](std::uint64_t value, const Pieces& one) { return value < one.at; }) - 1;
  for (;;) {
    // Mostly whole lines of pieces follow, for which there is no need to divide.
    for (; rest == pieces->at && pieces->bytes * pieces->count < wanted.bytes; rest = pieces->at) {
      std::byte* const first = moved(base, pieces->offset);
      if (pieces->count == 1) copy(first, pieces->bytes);
      else each(first, *pieces, pieces->count, copy);
      wanted.bytes -= pieces->bytes * pieces->count;
      if (++pieces != layout.pieces.end()) continue;
      pieces = layout.pieces.begin();
      base = moved(base, layout.extent);
    }
    wanted.bytes -= walk_pieces(*pieces, base, {rest - pieces->at, wanted.bytes}, copy);
    if (wanted.bytes == 0) return;
    if (++pieces == layout.pieces.end()) {
      pieces = layout.pieces.begin();
      base = moved(base, layout.extent);
    }
    rest = pieces->at;
  }
}

}  // namespace

void Layout::gather(std::byte* row, const std::byte* base, std::size_t at, std::size_t bytes) const {
  walk(*this, const_cast<std::byte*>(base), {at, bytes}, [&row](const std::byte* from, std::size_t part) {
    copy_short(row, from, part);
    row += part;
  });
}

void Layout::scatter(std::byte* base, const std::byte* row, std::size_t at, std::size_t bytes) const {
  walk(*this, base, {at, bytes}, [&row](std::byte* to, std::size_t part) {
    copy_short(to, row, part);
    row += part;
  });
}

void Part::take(std::byte* row, std::size_t at, std::size_t length) const {
  if (layout != nullptr) return layout->gather(row, base, begin + at, length);
  copy_block(row, base + begin + at, length);
}

void Part::put(const std::byte* row, std::size_t at, std::size_t length) const {
  if (layout != nullptr) return layout->scatter(base, row, begin + at, length);
  copy_block(base + begin + at, row, length);
}

void copy_part(const Part& to, const Part& from) {
  if (to.bytes == 0) return;  // There may be no buffer.
  if (to.base == from.base && to.begin == from.begin && to.layout == from.layout) return;  // The call is in place.
  if (from.layout == nullptr) return to.put(from.base + from.begin, 0, to.bytes);
  if (to.layout == nullptr) return from.take(to.base + to.begin, 0, to.bytes);
  if (to.layout == from.layout && to.begin == from.begin) {
    const auto apart = static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(to.base) - reinterpret_cast<std::uintptr_t>(from.base));
    return walk(*from.layout, from.base, {from.begin, to.bytes}, [apart](std::byte* at, std::size_t part) { copy_short(moved(at, apart), at, part); });
  }
  std::array<std::byte, 16 * 1024> row;
  for (std::size_t at = 0; at < to.bytes; at += row.size()) {
    const std::size_t part = std::min(row.size(), to.bytes - at);
    from.take(row.data(), at, part);
    to.put(row.data(), at, part);
  }
}

std::unique_ptr<DeviceLayout> for_devices(const Layout& layout) {
  constexpr std::uint64_t kMostSegments = std::uint64_t{1} << 20;
  static std::atomic<std::uint64_t> made{0};
  auto device = std::make_unique<DeviceLayout>();
  device->element_bytes = layout.element_bytes;
  device->extent = layout.extent;
  device->even = layout.pieces.size() == 1;
  if (device->even) {
    device->runs = {layout.pieces[0].offset, layout.pieces[0].bytes, layout.pieces[0].stride};
    return device;
  }
  std::uint64_t segments = 0;
  for (const Pieces& one : layout.pieces) segments += one.count;
  if (segments > kMostSegments) return nullptr;
  device->segments.reserve(segments);
  for (const Pieces& one : layout.pieces) {
    for (std::uint64_t piece = 0; piece < one.count; ++piece) {
      device->segments.push_back({one.offset + static_cast<std::int64_t>(piece) * one.stride, one.bytes});
    }
  }
  device->id = ++made;
  return device;
}

namespace {

// Returns whether `next` goes on where `last` ends, or continues its line of pieces.
bool joined(Pieces& last, const Pieces& next) {
  const std::int64_t end = last.offset + static_cast<std::int64_t>(last.bytes);
  if (last.count == 1 && next.count == 1 && end == next.offset) {
    last.bytes += next.bytes;
    return true;
  }
  if (last.bytes != next.bytes) return false;
  if (last.count == 1) {
    const std::int64_t stride = next.offset - last.offset;
    if (next.count > 1 && next.stride != stride) return false;
    last.stride = stride;
  } else {
    const bool on_line = next.offset == last.offset + static_cast<std::int64_t>(last.count) * last.stride;
    if (!on_line || (next.count > 1 && next.stride != last.stride)) return false;
  }
  last.count += next.count;
  return true;
}

// Makes one piece of pieces that touch each other.
void fuse(Pieces& one) {
  if (one.count == 1 || one.stride != static_cast<std::int64_t>(one.bytes)) return;
  one.bytes *= one.count;
  one.count = 1;
}

void join_once(std::vector<Pieces>& pieces, bool only_touching) {
  std::size_t kept = 0;
  for (std::size_t next = 1; next < pieces.size(); ++next) {
    const bool touches = pieces[kept].count == 1 && pieces[next].count == 1 &&
                         pieces[kept].offset + static_cast<std::int64_t>(pieces[kept].bytes) == pieces[next].offset;
    if ((!only_touching || touches) && joined(pieces[kept], pieces[next])) continue;
    pieces[++kept] = pieces[next];
  }
  if (!pieces.empty()) pieces.resize(kept + 1);
}

}  // namespace

// Pieces that touch are joined first. Otherwise short pieces of a long one would form a line with what follows.
void join(std::vector<Pieces>& pieces) {
  for (Pieces& one : pieces) fuse(one);
  join_once(pieces, true);
  join_once(pieces, false);
  for (Pieces& one : pieces) fuse(one);
  std::uint64_t at = 0;
  for (Pieces& one : pieces) {
    one.at = at;
    at += one.bytes * one.count;
  }
}

}  // namespace crossrail
