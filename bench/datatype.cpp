#include "datatype.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "buffers.h"
#include "pattern.h"

namespace bench {
namespace {

constexpr std::size_t kDouble = sizeof(double);

Datatype committed(MPI_Datatype type, std::vector<Datatype::Piece> pieces) {
  MPI_Type_commit(&type);
  Datatype made;
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  made.type = type;
  made.extent = static_cast<std::size_t>(extent);
  made.data_bytes = 0;
  for (const Datatype::Piece& piece : pieces) made.data_bytes += piece.bytes;
  made.pieces = std::move(pieces);
  return made;
}

Datatype vector() {
  constexpr int kCount = 8, kStride = 2;
  MPI_Datatype type;
  MPI_Type_vector(kCount, 1, kStride, MPI_DOUBLE, &type);
  std::vector<Datatype::Piece> pieces;
  for (std::size_t one = 0; one < kCount; ++one) pieces.push_back({one * kStride * kDouble, kDouble});
  return committed(type, pieces);
}

Datatype indexed() {
  const int lengths[] = {1, 3, 2, 2}, places[] = {0, 2, 6, 9};
  MPI_Datatype type;
  MPI_Type_indexed(4, lengths, places, MPI_DOUBLE, &type);
  std::vector<Datatype::Piece> pieces;
  for (int one = 0; one < 4; ++one) pieces.push_back({static_cast<std::size_t>(places[one]) * kDouble, static_cast<std::size_t>(lengths[one]) * kDouble});
  return committed(type, pieces);
}

// The other side of elements with gaps consists of doubles.
Datatype doubles() {
  Datatype made;
  made.type = MPI_DOUBLE;
  made.data_bytes = made.extent = kDouble;
  return made;
}

Datatype resized() {
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * kDouble, &type);
  return committed(type, {{0, kDouble}});
}

Datatype subarray() {
  const int whole[] = {4, 4}, part[] = {4, 2}, first[] = {0, 1};
  MPI_Datatype type;
  MPI_Type_create_subarray(2, whole, part, first, MPI_ORDER_C, MPI_DOUBLE, &type);
  std::vector<Datatype::Piece> pieces;
  for (std::size_t row = 0; row < 4; ++row) pieces.push_back({(row * 4 + 1) * kDouble, 2 * kDouble});
  return committed(type, pieces);
}

// Checks every byte of an element that is in no piece.
bool gaps_are_poison(const std::byte* element, const Datatype& datatype) {
  std::size_t at = 0;
  const auto poison = [&](std::size_t until) { return std::all_of(element + at, element + until, [](std::byte one) { return one == kPoison; }); };
  for (const Datatype::Piece& piece : datatype.pieces) {
    if (!poison(piece.offset)) return false;
    at = piece.offset + piece.bytes;
  }
  return poison(datatype.extent);
}

std::vector<std::byte>& row_of(std::size_t bytes) {
  static std::vector<std::byte> row;
  if (row.size() < bytes) row.resize(bytes);
  return row;
}

}  // namespace

void Datatype::fill(std::byte* to, std::size_t block, std::uint64_t word) const {
  if (pieces.empty()) return fill_block(to, block, word);
  std::byte* row = row_of(block).data();
  fill_block(row, block, word);
  for (int one = 0; one < count(block); ++one, to += extent) {
    for (const Piece& piece : pieces) {
      std::memcpy(to + piece.offset, row, piece.bytes);
      row += piece.bytes;
    }
  }
}

bool Datatype::is_right(const std::byte* from, std::size_t block, std::uint64_t word) const {
  if (pieces.empty()) return block_is_right(from, block, word);
  std::byte* const begin = row_of(block).data();
  std::byte* row = begin;
  for (int one = 0; one < count(block); ++one, from += extent) {
    if (!gaps_are_poison(from, *this)) return false;
    for (const Piece& piece : pieces) {
      std::memcpy(row, from + piece.offset, piece.bytes);
      row += piece.bytes;
    }
  }
  return block_is_right(begin, block, word);
}

std::pair<std::string, std::string> sides_of(const std::string& datatype) {
  const std::size_t colon = datatype.find(':');
  return colon == std::string::npos ? std::pair(datatype, datatype) : std::pair(datatype.substr(0, colon), datatype.substr(colon + 1));
}

std::string shortest(const std::string& datatype) {
  const auto [sender, receiver] = sides_of(datatype);
  return sender == receiver && !sender.empty() ? sender : datatype;
}

Datatypes datatypes_of(const std::string& words) {
  const auto [sender, receiver] = sides_of(words);
  const auto side = [&](const std::string& name) { return words != kContiguous && name == kContiguous ? doubles() : *find_datatype(name); };
  return {side(sender), side(receiver)};
}

const Datatype* find_datatype(const std::string& name) {
  static const std::map<std::string, Datatype> all = {
      {kContiguous, Datatype{}}, {"vector", vector()}, {"indexed", indexed()}, {"resized", resized()}, {"subarray", subarray()}};
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace bench
