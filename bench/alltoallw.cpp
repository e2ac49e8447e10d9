// This bench compares MPI_Alltoallw, MPI_Ialltoallw and MPI_Alltoallw_init of crossrail with those of the MPI
// library, on the subarrays that libraries for Fourier transforms exchange (mpi4py-fft and others). They belong to a
// three-dimensional array of complex numbers that is first distributed over the ranks along its last axis, and then
// along its middle one. Both sides have gaps, each rank has a datatype of its own, and all displacements are 0.
//
// A block has planes x rows x columns elements. If the size is a power of two, rows
// and columns are equal or nearly so, and there are at most twice as many planes.

#include <climits>
#include <cstdio>
#include <cstring>
#include <vector>

#include "forms.h"
#include "pattern.h"

namespace {

using bench::Exchange;
using bench::kComplexBytes;

constexpr int kAxes = 3;

// It says which part of this rank's array a block is.
struct Subarray {
  int whole[kAxes], part[kAxes], first[kAxes];
};

struct Side {
  std::vector<Subarray> blocks;
  std::vector<MPI_Datatype> types;
};

// They describe the size that is being measured.
Side sent, received;
std::vector<int> ones, zeros;
std::vector<std::byte> row;  // It holds a block's data without gaps.

// Returns the largest power of two that divides a number and is at most its root of this degree.
std::size_t side_of(std::size_t number, int degree) {
  std::size_t side = 1;
  const auto power = [&](std::size_t of) { return degree == 3 ? of * of * of : of * of; };
  while (number % (2 * side) == 0 && power(2 * side) <= number) side *= 2;
  return side;
}

void free_types(Side& side) {
  for (MPI_Datatype& type : side.types) MPI_Type_free(&type);
  side.types.clear();
}

// On one axis the block has the place of the peer; it covers the other axes completely.
void lay_out(Side& side, const int (&block)[kAxes], int axis, int ranks) {
  free_types(side);
  side.blocks.clear();
  for (int peer = 0; peer < ranks; ++peer) {
    Subarray one{{block[0], block[1], block[2]}, {block[0], block[1], block[2]}, {0, 0, 0}};
    one.whole[axis] *= ranks;
    one.first[axis] = peer * block[axis];
    side.blocks.push_back(one);
    side.types.push_back(MPI_DATATYPE_NULL);
    MPI_Type_create_subarray(kAxes, one.whole, one.part, one.first, MPI_ORDER_C, MPI_C_DOUBLE_COMPLEX, &side.types.back());
    MPI_Type_commit(&side.types.back());
  }
}

void refuse(const Exchange& exchange, const char* why) {
  std::fprintf(stderr, "bench: blocks of %zu bytes %s\n", exchange.block, why);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

bench::GrowableBuffer prepare(const Exchange& exchange) {
  const std::size_t elements = exchange.block / kComplexBytes, ranks = static_cast<std::size_t>(exchange.ranks);
  const std::size_t columns = side_of(elements, 3), rows = side_of(elements / columns, 2), planes = elements / columns / rows;
  if (planes > INT_MAX || rows * ranks > INT_MAX || columns * ranks > INT_MAX) refuse(exchange, "are more than the sides of a subarray hold");
  const int block[kAxes] = {static_cast<int>(planes), static_cast<int>(rows), static_cast<int>(columns)};
  lay_out(sent, block, 1, exchange.ranks);
  lay_out(received, block, 2, exchange.ranks);
  ones.assign(ranks, 1);
  zeros.assign(ranks, 0);
  row.resize(exchange.block);
  const std::size_t bytes = exchange.block * ranks;
  return {bytes, bytes};
}

// Calls back with each run of bytes: its place in the array, its place in the block without gaps, and its length.
template <typename Each>
void every_run(const Subarray& block, Each each) {
  const auto at = [](int number) { return static_cast<std::size_t>(number); };
  const std::size_t bytes = at(block.part[2]) * kComplexBytes;
  std::size_t packed = 0;
  for (std::size_t plane = 0; plane < at(block.part[0]); ++plane) {
    for (std::size_t line = 0; line < at(block.part[1]); ++line, packed += bytes) {
      const std::size_t before = (plane * at(block.whole[1]) + at(block.first[1]) + line) * at(block.whole[2]) + at(block.first[2]);
      each(before * kComplexBytes, packed, bytes);
    }
  }
}

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  for (int to = 0; to < exchange.ranks; ++to) {
    bench::fill_block(row.data(), exchange.block, bench::word_of(exchange.rank, to, seed));
    every_run(sent.blocks[to], [&](std::size_t place, std::size_t packed, std::size_t bytes) { std::memcpy(send + place, row.data() + packed, bytes); });
  }
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  std::uint64_t wrong = 0;
  for (int from = 0; from < exchange.ranks; ++from) {
    every_run(received.blocks[from], [&](std::size_t place, std::size_t packed, std::size_t bytes) { std::memcpy(row.data() + packed, recv + place, bytes); });
    wrong += !bench::block_is_right(row.data(), exchange.block, bench::word_of(from, exchange.rank, seed));
  }
  return wrong;
}

auto arguments(const void* send, void* recv, const Exchange&) {
  return std::tuple<const void*, const int*, const int*, const MPI_Datatype*, void*, const int*, const int*, const MPI_Datatype*>(
      send, ones.data(), zeros.data(), sent.types.data(), recv, ones.data(), zeros.data(), received.types.data());
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run<BENCH_FORMS(arguments, Alltoallw, alltoallw)>({.name = "alltoallw", .in_place = false, .prepare = prepare, .fill = fill, .check = check,
                                                                   .types = bench::Types::subarrays, .carried_as = "alltoallv"}, argc, argv);
}
