#include "mpi/arguments/vector_call.h"

#include "mpi/arguments/regular_call.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
// A side is four words: the address, the counts, the displacements, and the type or the types.
VectorSide vector_side_of(const Word64 words[4], bool large_counts, bool has_types) {
  return {reinterpret_cast<void*>(words[0]), Numbers(words[1], large_counts), Numbers(words[2], large_counts),
          has_types ? handles().type_null : handle_from<MPI_Datatype>(words[3]), has_types ? reinterpret_cast<const MPI_Datatype*>(words[3]) : nullptr};
}

namespace {

bool incomplete(const VectorSide& side) {
  return !side.counts.given() || !side.displacements.given() || (!side.has_types() && side.type == handles().type_null);
}

// MPICH and its relatives refuse two equal sides; Open MPI does not look.
bool same_sides(const VectorSide& send, const VectorSide& recv) {
  return !library_is_open_mpi() && send.address == recv.address && send.address != nullptr && send.counts == recv.counts &&
         send.type == recv.type && send.types == recv.types;
}

}  // namespace

void keep_types_of(VectorSide& side, const SideFacts& facts, std::vector<MPI_Datatype>& array, std::vector<MPI_Datatype>& ours) {
  if (!side.has_types()) {
    side.type = kept_type(side.type, facts.facts[0], ours);
    return;
  }
  const std::size_t ranks = facts.blocks.size();
  array.assign(ranks, handles().byte);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const bool like_the_last = rank > 0 && side.types[rank] == side.types[rank - 1] && facts.blocks[rank - 1].bytes > 0;
    if (facts.blocks[rank].bytes == 0) continue;
    array[rank] = like_the_last ? array[rank - 1] : kept_type(side.types[rank], facts.facts[rank], ours);
  }
  side.types = array.data();
}

VectorCall::VectorCall(const MpiFunction& function, const Word64* words, bool large_counts)
    : send_(vector_side_of(words, large_counts, function.has('T'))),
      recv_(vector_side_of(words + function.receive_word, large_counts, function.has('T'))),
      comm_(handle_from<MPI_Comm>(words[function.words() - 1])) {}

bool VectorCall::left_to_mpi() const {
  if (incomplete(recv_) || recv_.address == MPI_IN_PLACE) return true;
  return !in_place() && (incomplete(send_) || same_sides(send_, recv_));
}

Survey VectorCall::survey(int ranks, Facts& facts) {
  facts.in.size_for(ranks);
  facts.out.size_for(ranks);
  Survey found = mpi::survey(recv_, comm_, facts.in);
  if (found.answer == Survey::Answer::carry && !in_place()) found = mpi::survey(send_, comm_, facts.out);
  block_bytes_ = found.bytes / static_cast<std::uint64_t>(ranks);
  return found;
}

void VectorCall::keep_types(Facts& facts, std::vector<MPI_Datatype>& ours) {
  keep_types_of(recv_, facts.in, facts.recv_types, ours);
  if (!in_place()) keep_types_of(send_, facts.out, facts.send_types, ours);
}

}  // namespace crossrail::mpi
