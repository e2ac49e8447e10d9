#include "mpi/arguments/vector_call.h"

#include "mpi/arguments/regular_call.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
// A side is four words: the address, the counts, the displacements, and the type or the types.
VectorSide vector_side_of(const Word64 words[4], bool large_counts, bool has_types) {
  VectorSide side{{reinterpret_cast<void*>(words[0])}, Numbers(words[1], large_counts), Numbers(words[2], large_counts)};
  if (has_types) side.types = reinterpret_cast<const MPI_Datatype*>(words[3]);
  side.type = has_types ? handles().type_null : handle_from<MPI_Datatype>(words[3]);
  return side;
}

// A side of one block is three words: the address, a count, and the type.
VectorSide one_block_of(const Word64 words[3], bool large_counts) {
  VectorSide side{{reinterpret_cast<void*>(words[0]), static_cast<std::uint64_t>(count_from(words[1], large_counts)), handle_from<MPI_Datatype>(words[2])}};
  side.only.rank = 0;  // The survey finds out which rank it belongs to.
  return side;
}

bool is_incomplete(const VectorSide& side) {
  if (side.has_one_block()) return side.type == handles().type_null;
  return !side.counts.given() || !side.displacements.given() || (!side.has_types() && side.type == handles().type_null);
}

namespace {

// MPICH and its relatives refuse two equal sides; Open MPI does not look.
bool same_sides(const VectorSide& send, const VectorSide& recv) {
  return !library_is_open_mpi() && !send.has_one_block() && send.address == recv.address && send.address != nullptr && send.counts == recv.counts &&
         send.type == recv.type && send.types == recv.types;
}

}  // namespace

void keep_types_of(VectorSide& side, std::vector<MPI_Datatype>& ours) {
  if (!side.has_types()) {
    side.type = kept_type(side.type, side.facts, ours);
    return;
  }
  BlockTable& table = *side.table;
  const std::size_t ranks = table.blocks.size();
  table.kept_types.assign(ranks, handles().byte);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const bool like_the_last = rank > 0 && side.types[rank] == side.types[rank - 1] && table.blocks[rank - 1].bytes > 0;
    if (table.blocks[rank].bytes == 0) continue;
    table.kept_types[rank] = like_the_last ? table.kept_types[rank - 1] : kept_type(side.types[rank], table.facts[rank], ours);
  }
  side.types = table.kept_types.data();
}

VectorCall::VectorCall(const MpiFunction& function, const Word64* words, bool large_counts)
    : send_(function.has('n') ? one_block_of(words, large_counts) : vector_side_of(words, large_counts, function.has('T'))),
      recv_(vector_side_of(words + function.receive_word, large_counts, function.has('T'))),
      comm_(handle_from<MPI_Comm>(words[function.words() - 1])),
      in_place_(send_.address == MPI_IN_PLACE),
      shape_{function.collective, Memory::host, false, 0} {}

bool VectorCall::left_to_mpi() const {
  if (is_incomplete(recv_) || recv_.address == MPI_IN_PLACE) return true;
  return !in_place() && (is_incomplete(send_) || same_sides(send_, recv_));
}

Survey VectorCall::survey(int ranks, Facts& facts) {
  facts.in.size_for(ranks);
  facts.out.size_for(ranks);
  if (gathers()) return survey_gathering(ranks, facts);
  facts.in.copied = &facts.out;
  Survey found = mpi::survey(recv_, comm_, facts.in);
  if (found.answer == Survey::Answer::carry && !in_place()) found = mpi::survey(send_, comm_, facts.out);
  block_bytes_ = found.bytes / static_cast<std::uint64_t>(ranks);
  return found;
}

// In place, this rank's block is sent from where it belongs. The MPICH family refuses the same buffer without MPI_IN_PLACE.
Survey VectorCall::survey_gathering(int ranks, Facts& facts) {
  int rank = 0;
  if (pmpi().Comm_rank(comm_, &rank) != MPI_SUCCESS) return {Survey::Answer::leave};
  Survey found = mpi::survey(recv_, comm_, facts.in);
  if (found.answer != Survey::Answer::carry) return found;
  if (in_place_) {
    send_ = recv_;
    send_.count = static_cast<std::uint64_t>(recv_.counts[rank]);
    send_.only.displacement = recv_.displacements[rank];
  }
  send_.only.rank = rank;
  if (const Survey sent = mpi::survey(send_, comm_, facts.out); sent.answer != Survey::Answer::carry) return sent;
  const Block &own = facts.out.blocks[rank], &there = facts.in.blocks[rank];
  const bool lies_there = moved(send_.address, own.offset) == moved(recv_.address, there.offset) && static_cast<std::int64_t>(send_.count) == recv_.counts[rank];
  if (!in_place_ && !library_is_open_mpi() && own.bytes > 0 && lies_there && send_.type == recv_.type) return {Survey::Answer::leave};
  block_bytes_ = found.bytes / static_cast<std::uint64_t>(ranks);
  shape_.block_bytes = mean_class(found.bytes, ranks);
  return found;
}

void VectorCall::keep_types(std::vector<MPI_Datatype>& ours) {
  keep_types_of(recv_, ours);
  if (!in_place()) keep_types_of(send_, ours);
  else if (gathers()) send_.type = recv_.type;
}

}  // namespace crossrail::mpi
