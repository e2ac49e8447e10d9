#include "mpi/buffers/type_contents.h"

#include "mpi/library/library.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

// These belong to MPI 4, and not all headers have them. To the other functions a type made with large counts is an error, which MPICH raises.
using LargeEnvelope = int (*)(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*);
using LargeContents = int (*)(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int[], MPI_Aint[], MPI_Count[], MPI_Datatype[]);

LargeContents large_contents() {
  static const auto found = reinterpret_cast<LargeContents>(library_symbol("PMPI_Type_get_contents_c"));
  return found;
}

LargeEnvelope large_envelope() {
  static const auto found = large_contents() == nullptr ? nullptr : reinterpret_cast<LargeEnvelope>(library_symbol("PMPI_Type_get_envelope_c"));
  return found;
}

struct ContentCounts {
  MPI_Count integers = 0, addresses = 0, large = 0, types = 0;
};

bool ask(MPI_Datatype type, ContentCounts& counts, int& combiner) {
  if (large_envelope() != nullptr) {
    return large_envelope()(type, &counts.integers, &counts.addresses, &counts.large, &counts.types, &combiner) == MPI_SUCCESS;
  }
  int integers = 0, addresses = 0, types = 0;
  if (pmpi().Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return false;
  counts = {integers, addresses, 0, types};
  return true;
}

// Types cost more than words: Open MPI duplicates them, which takes 0.4 us each, and they must be freed.
std::uint64_t words_of(const ContentCounts& counts) {
  constexpr MPI_Count kWordsOfType = 16;
  return static_cast<std::uint64_t>(counts.integers + counts.addresses + counts.large + kWordsOfType * counts.types);
}

// The room is never empty, because some libraries insist on addresses that are not null.
template <class Number>
std::vector<Number> room_for(MPI_Count count, Number value = {}) {
  return std::vector<Number>(static_cast<std::size_t>(count) + 1, value);
}

}  // namespace

bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

bool ask_combiner(MPI_Datatype type, int& combiner) {
  ContentCounts counts;
  return ask(type, counts, combiner);
}

int combiner_of(MPI_Datatype type) {
  int combiner = MPI_COMBINER_NAMED;
  return ask_combiner(type, combiner) ? combiner : MPI_COMBINER_NAMED;
}

TypeContents::TypeContents(MPI_Datatype type, Work& work) {
  ContentCounts counts;
  if (!ask(type, counts, combiner) || !work.spend(words_of(counts))) combiner = MPI_UNDEFINED;
  if (combiner == MPI_UNDEFINED || is_predefined(combiner)) return;
  auto ints = room_for<int>(counts.integers);
  auto places = room_for<MPI_Aint>(counts.addresses);
  auto large = room_for<MPI_Count>(counts.large);
  types = room_for(counts.types, handles().type_null);
  const auto as_int = [](MPI_Count count) { return static_cast<int>(count); };
  const int code = large_envelope() != nullptr
                       ? large_contents()(type, counts.integers, counts.addresses, counts.large, counts.types, ints.data(), places.data(), large.data(), types.data())
                       : pmpi().Type_get_contents(type, as_int(counts.integers), as_int(counts.addresses), as_int(counts.types), ints.data(), places.data(), types.data());
  if (code != MPI_SUCCESS) {
    combiner = MPI_UNDEFINED;
    return;
  }
  large.pop_back();
  if (!large.empty()) {
    sort(large, ints);
  } else {
    integers.assign(ints.begin(), ints.end());
    addresses.assign(places.begin(), places.end());
  }
}

// All counts, lengths and places are among the large ones (MPI 4.0, section 5.1.13).
void TypeContents::sort(const std::vector<MPI_Count>& large, const std::vector<int>& ints) {
  std::size_t places_from = large.size();
  if (combiner == MPI_COMBINER_HVECTOR || combiner == MPI_COMBINER_HINDEXED_BLOCK) places_from = 2;
  if (combiner == MPI_COMBINER_HINDEXED || combiner == MPI_COMBINER_STRUCT) places_from = 1 + static_cast<std::size_t>(large[0]);
  if (combiner == MPI_COMBINER_RESIZED) places_from = 0;
  const bool of_dimensions = combiner == MPI_COMBINER_SUBARRAY;
  if (places_from > large.size() || combiner == MPI_COMBINER_DARRAY) {
    combiner = MPI_UNDEFINED;
    return;
  }
  const auto places = large.begin() + static_cast<std::ptrdiff_t>(places_from);
  if (of_dimensions) integers.push_back(ints[0]);
  integers.insert(integers.end(), large.begin(), places);
  if (of_dimensions) integers.push_back(ints[1]);  // It is the order.
  addresses.assign(places, large.end());
}

TypeContents::~TypeContents() {
  MPI_Datatype last = handles().type_null;  // Structs often have many members of one type.
  bool last_is_predefined = false;
  for (MPI_Datatype& part : types) {
    if (part == handles().type_null) continue;
    if (part != last) last_is_predefined = is_predefined(combiner_of(part));
    last = part;
    if (!last_is_predefined) (void)pmpi().Type_free(&part);
  }
}

}  // namespace crossrail::mpi
