// These are the constructors of datatypes, by the type maps of the standard (MPI 4.0, section 5.1).
#include <algorithm>
#include <memory>
#include <utility>

#include "tests/mpi/units/fake_mpi.h"

namespace crossrail::mpi::fake {
namespace {

// A block has `count` elements at `place`, and its bounds count as MPI has it.
struct Block {
  std::ptrdiff_t place;
  int count;
  MPI_Datatype of;
};

std::unique_ptr<Type> laid_out(int combiner, const std::vector<Block>& blocks) {
  auto made = std::make_unique<Type>();
  made->combiner = combiner;
  std::ptrdiff_t lowest = 0, end = 0;
  bool any = false;
  for (const Block& block : blocks) {
    const Type& of = type(block.of);
    for (int element = 0; element < block.count; ++element) {
      const std::ptrdiff_t at = block.place + element * of.extent;
      for (const Run& run : of.map) made->map.push_back({at + run.offset, run.bytes});
      lowest = any ? std::min(lowest, at + of.lower) : at + of.lower;
      end = any ? std::max(end, at + of.lower + of.extent) : at + of.lower + of.extent;
      any = true;
    }
  }
  made->lower = lowest;
  made->extent = end - lowest;
  return made;
}

}  // namespace

MPI_Datatype contiguous(int count, MPI_Datatype of) {
  auto made = laid_out(MPI_COMBINER_CONTIGUOUS, {{0, count, of}});
  made->integers = {count};
  made->types = {of};
  return keep(std::move(made));
}

MPI_Datatype vector(int count, int length, int stride, MPI_Datatype of) {
  std::vector<Block> blocks;
  for (int block = 0; block < count; ++block) blocks.push_back({block * stride * type(of).extent, length, of});
  auto made = laid_out(MPI_COMBINER_VECTOR, blocks);
  made->integers = {count, length, stride};
  made->types = {of};
  return keep(std::move(made));
}

MPI_Datatype hvector(int count, int length, MPI_Aint stride, MPI_Datatype of) {
  std::vector<Block> blocks;
  for (int block = 0; block < count; ++block) blocks.push_back({block * stride, length, of});
  auto made = laid_out(MPI_COMBINER_HVECTOR, blocks);
  made->integers = {count, length};
  made->addresses = {stride};
  made->types = {of};
  return keep(std::move(made));
}

MPI_Datatype indexed(const std::vector<int>& lengths, const std::vector<int>& places, MPI_Datatype of) {
  std::vector<Block> blocks;
  for (std::size_t block = 0; block < lengths.size(); ++block) blocks.push_back({places[block] * type(of).extent, lengths[block], of});
  auto made = laid_out(MPI_COMBINER_INDEXED, blocks);
  made->integers = {static_cast<int>(lengths.size())};
  made->integers.insert(made->integers.end(), lengths.begin(), lengths.end());
  made->integers.insert(made->integers.end(), places.begin(), places.end());
  made->types = {of};
  return keep(std::move(made));
}

MPI_Datatype hindexed(const std::vector<int>& lengths, const std::vector<MPI_Aint>& places, MPI_Datatype of) {
  std::vector<Block> blocks;
  for (std::size_t block = 0; block < lengths.size(); ++block) blocks.push_back({places[block], lengths[block], of});
  auto made = laid_out(MPI_COMBINER_HINDEXED, blocks);
  made->integers = {static_cast<int>(lengths.size())};
  made->integers.insert(made->integers.end(), lengths.begin(), lengths.end());
  made->addresses = places;
  made->types = {of};
  return keep(std::move(made));
}

MPI_Datatype indexed_block(int length, const std::vector<int>& places, MPI_Datatype of) {
  std::vector<Block> blocks;
  for (const int place : places) blocks.push_back({place * type(of).extent, length, of});
  auto made = laid_out(MPI_COMBINER_INDEXED_BLOCK, blocks);
  made->integers = {static_cast<int>(places.size()), length};
  made->integers.insert(made->integers.end(), places.begin(), places.end());
  made->types = {of};
  return keep(std::move(made));
}

MPI_Datatype structure(const std::vector<int>& lengths, const std::vector<MPI_Aint>& places, const std::vector<MPI_Datatype>& types) {
  std::vector<Block> blocks;
  for (std::size_t block = 0; block < lengths.size(); ++block) blocks.push_back({places[block], lengths[block], types[block]});
  auto made = laid_out(MPI_COMBINER_STRUCT, blocks);
  made->integers = {static_cast<int>(lengths.size())};
  made->integers.insert(made->integers.end(), lengths.begin(), lengths.end());
  made->addresses = places;
  made->types = types;
  return keep(std::move(made));
}

MPI_Datatype resized(MPI_Datatype of, MPI_Aint lower, MPI_Aint extent) {
  auto made = laid_out(MPI_COMBINER_RESIZED, {{0, 1, of}});
  made->lower = lower;
  made->extent = extent;
  made->addresses = {lower, extent};
  made->types = {of};
  return keep(std::move(made));
}

MPI_Datatype subarray(const std::vector<int>& sizes, const std::vector<int>& subsizes, const std::vector<int>& starts, int order, MPI_Datatype of) {
  const std::size_t dimensions = sizes.size();
  std::vector<Block> blocks;
  std::vector<int> at(dimensions, 0);
  const auto dimension_of = [&](std::size_t inner) { return order == MPI_ORDER_C ? dimensions - 1 - inner : inner; };
  for (bool more = true; more;) {
    std::ptrdiff_t element = 0, stride = 1;
    for (std::size_t inner = 0; inner < dimensions; ++inner) {
      element += (starts[dimension_of(inner)] + at[dimension_of(inner)]) * stride;
      stride *= sizes[dimension_of(inner)];
    }
    blocks.push_back({element * type(of).extent, 1, of});
    more = false;
    for (std::size_t inner = 0; inner < dimensions && !more; ++inner) {
      int& place = at[dimension_of(inner)];
      more = ++place < subsizes[dimension_of(inner)];
      if (!more) place = 0;
    }
  }
  auto made = laid_out(MPI_COMBINER_SUBARRAY, blocks);
  made->integers = {static_cast<int>(dimensions)};
  for (const auto* const list : {&sizes, &subsizes, &starts}) made->integers.insert(made->integers.end(), list->begin(), list->end());
  made->integers.push_back(order);
  made->types = {of};
  made->lower = 0;
  made->extent = type(of).extent;
  for (const int size : sizes) made->extent *= size;
  return keep(std::move(made));
}

MPI_Datatype darray(MPI_Datatype of) {
  auto made = laid_out(MPI_COMBINER_DARRAY, {{0, 1, of}});
  made->integers = {1, 0, 1};
  made->types = {of};
  return keep(std::move(made));
}

}  // namespace crossrail::mpi::fake
