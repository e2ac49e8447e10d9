#include "mpi/arguments/rooted_call.h"

#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

Side nothing() { return {nullptr, 0, handles().byte, {.bytes = 1, .in_a_row = true, .contiguous = true, .predefined = true, .usable = true}}; }

// Returns a side that is a single block, sent from the root or to it.
VectorSide side_of_one(const Side& block, int root) {
  VectorSide side{block};
  side.only.rank = root;
  return side;
}

Side side_of(const Word64 words[3], bool large_counts) {
  return {reinterpret_cast<void*>(words[0]), static_cast<std::uint64_t>(count_from(words[1], large_counts)), handle_from<MPI_Datatype>(words[2])};
}

bool is_negative(const Side& side) { return static_cast<std::int64_t>(side.count) < 0; }
bool is_refused(const Side& side) { return is_negative(side) || side.type == handles().type_null || side.address == MPI_IN_PLACE; }

}  // namespace

Rooted::Rooted(const MpiFunction& function, const Word64* words)
    : comm_(handle_from<MPI_Comm>(words[function.words() - 1])),
      collective_(function.collective),
      root_(static_cast<int>(words[function.root_word])),
      rank_(rank_in(comm_)),
      means_(significant_sides(function, root_, rank_)) {}

Shape Rooted::shape_of(std::uint64_t block_bytes) const {
  Shape shape{collective_, Memory::host, false, block_bytes};
  shape.root = root_;
  return shape;
}

// The words are those of the letters "sntrntkc".
RootedCall::RootedCall(const MpiFunction& function, const Word64* words, bool large_counts) : Rooted(function, words), send_(nothing()), recv_(nothing()) {
  wrong_ = has_wrong_root();
  if (wrong_) return;
  if (means_.sent) send_ = side_of(words, large_counts);
  if (means_.received) recv_ = side_of(words + function.receive_word, large_counts);
  in_place_ = is_root() && own().address == MPI_IN_PLACE;
  if (in_place_) own() = nothing();
  wrong_ = is_refused(send_) || is_refused(recv_);
}

Survey RootedCall::describe_side(Side& side) {
  if (side.facts.usable) return {};
  if (const int code = describe(side.type, comm_, side.facts); !side.facts.usable) return {Survey::Answer::refused, code};
  return {null_without_reason(side) ? Survey::Answer::leave : Survey::Answer::carry};
}

// The MPICH family refuses a block that lies where it goes.
bool RootedCall::is_own_block() const {
  if (library_is_open_mpi() || !is_root() || in_place_ || block_bytes_ == 0 || send_.type != recv_.type) return false;
  const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(block_bytes_) * rank_;
  return gathers() ? send_.address == moved(recv_.address, place) : recv_.address == moved(send_.address, place);
}

Survey RootedCall::survey(int ranks, Facts&) {
  if (root_ >= ranks) {
    send_ = recv_ = nothing();
    return {Survey::Answer::leave};
  }
  for (Side* const side : {&own(), &row()}) {
    if (const Survey found = describe_side(*side); found.answer != Survey::Answer::carry) return found;
  }
  const Side& block = is_root() ? row() : own();
  block_bytes_ = block.bytes();
  unequal_ = is_root() && !in_place_ && own().bytes() != block_bytes_;
  if (is_own_block()) return {Survey::Answer::leave};
  row().count *= static_cast<std::uint64_t>(ranks);
  return {};
}

void RootedCall::keep_types(std::vector<MPI_Datatype>& ours) {
  send_.type = kept_type(send_.type, send_.facts, ours);
  recv_.type = kept_type(recv_.type, recv_.facts, ours);
}

// The words are those of the letters "sntrNDtkc" or "sNDtrntkc".
RootedVectorCall::RootedVectorCall(const MpiFunction& function, const Word64* words, bool large_counts)
    : Rooted(function, words), send_(side_of_one(nothing(), 0)), recv_(side_of_one(nothing(), 0)) {
  wrong_ = has_wrong_root();
  if (wrong_) return;
  const Word64* const received = words + function.receive_word;
  const Side own = side_of(gathers() ? words : received, large_counts);
  in_place_ = is_root() && own.address == MPI_IN_PLACE;
  wrong_ = !in_place_ && is_refused(own);
  if (!in_place_) (gathers() ? send_ : recv_) = side_of_one(own, root_);
  if (!is_root()) return;
  VectorSide& row = gathers() ? recv_ : send_;
  row = vector_side_of(gathers() ? received : words, large_counts, false);
  wrong_ = wrong_ || is_incomplete(row) || row.address == MPI_IN_PLACE;
}

// The MPICH family refuses a block that lies where it goes.
bool RootedVectorCall::is_own_block() const {
  if (library_is_open_mpi() || !is_root() || in_place_ || own_of(recv_).bytes == 0 || send_.type != recv_.type) return false;
  return moved(send_.address, own_of(send_).offset) == moved(recv_.address, own_of(recv_).offset);
}

Survey RootedVectorCall::survey(int ranks, Facts& facts) {
  facts.in.size_for(ranks);
  facts.out.size_for(ranks);
  const bool wrong_root = root_ >= ranks;
  if (wrong_root) send_ = recv_ = side_of_one(nothing(), 0);
  const Survey received = mpi::survey(recv_, comm_, facts.in);
  if (received.answer != Survey::Answer::carry) return received;
  const Survey found = mpi::survey(send_, comm_, facts.out);
  if (found.answer != Survey::Answer::carry) return found;
  if (wrong_root || is_own_block()) return {Survey::Answer::leave};
  if (in_place_) (gathers() ? facts.in : facts.out).blocks[static_cast<std::size_t>(rank_)] = {};
  block_bytes_ = found.bytes / static_cast<std::uint64_t>(gathers() ? 1 : ranks);
  return {};
}

void RootedVectorCall::keep_types(std::vector<MPI_Datatype>& ours) {
  keep_types_of(recv_, ours);
  keep_types_of(send_, ours);
}

}  // namespace crossrail::mpi
