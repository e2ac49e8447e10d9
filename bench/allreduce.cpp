// MPI_Allreduce, MPI_Iallreduce and MPI_Allreduce_init, sums of floats (of bytes, for sizes that are no multiple of four): crossrail
// (preloaded, under the MPI_ name) against the MPI library (PMPI_) and peers.

#include "calls.h"
#include "harness.h"

namespace {

using bench::Exchange;

// Here the bytes of a block are those of a rank's elements.
struct Elements {
  int count;
  MPI_Datatype type;
};

bool floats(const Exchange& exchange) { return exchange.block % sizeof(float) == 0; }

Elements elements_of(const Exchange& exchange) {
  const std::size_t bytes = floats(exchange) ? sizeof(float) : 1;
  return {static_cast<int>(exchange.block / bytes), floats(exchange) ? MPI_FLOAT : MPI_UNSIGNED_CHAR};
}

// What all ranks have in common at a place; each adds its number. Sums of so small whole numbers are exact.
unsigned common_part(std::size_t place, std::uint64_t seed) { return static_cast<unsigned>((place * 7 + seed * 131) % 509); }

template <class Type>
void fill_as(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  auto* const all = reinterpret_cast<Type*>(send);
  for (std::size_t place = 0; place < exchange.block / sizeof(Type); ++place) {
    all[place] = static_cast<Type>(common_part(place, seed) + static_cast<unsigned>(exchange.rank));
  }
}

template <class Type>
std::uint64_t check_as(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  const auto* const all = reinterpret_cast<const Type*>(recv);
  const auto ranks = static_cast<unsigned>(exchange.ranks);
  std::uint64_t wrong = 0;
  for (std::size_t place = 0; place < exchange.block / sizeof(Type); ++place) {
    wrong += all[place] != static_cast<Type>(ranks * common_part(place, seed) + ranks * (ranks - 1) / 2);
  }
  return wrong;
}

bench::GrowableBuffer prepare(const Exchange& exchange) { return {exchange.block, exchange.block}; }

void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  floats(exchange) ? fill_as<float>(send, exchange, seed) : fill_as<unsigned char>(send, exchange, seed);
}

std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  return floats(exchange) ? check_as<float>(recv, exchange, seed) : check_as<unsigned char>(recv, exchange, seed);
}

int call(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender) {
  const Elements elements = elements_of(exchange);
  return contender.choose(PMPI_Allreduce, MPI_Allreduce)(send, recv, elements.count, elements.type, MPI_SUM, contender.comm);
}

int start(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const Elements elements = elements_of(exchange);
  return contender.choose(PMPI_Iallreduce, MPI_Iallreduce)(send, recv, elements.count, elements.type, MPI_SUM, contender.comm, request);
}

using Init = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
bench::PersistentEntry<Init> entry;

int init(const void* send, void* recv, const Exchange& exchange, const bench::Contender& contender, MPI_Request* request) {
  const Elements elements = elements_of(exchange);
  const auto function = contender.choose(entry.of_mpi, entry.of_crossrail);
  return function(send, recv, elements.count, elements.type, MPI_SUM, contender.comm, MPI_INFO_NULL, request);
}

// Of the elements, whatever becomes of them on their way.
double bandwidth(const Exchange& exchange, double seconds) { return static_cast<double>(exchange.block) / seconds; }

}  // namespace

int main(int argc, char** argv) {
  entry = bench::persistent_entry<Init>("Allreduce_init");
  return bench::run({"allreduce", false, nullptr, prepare, fill, check, call, start, entry.of_mpi == nullptr ? nullptr : init, bandwidth, bench::Types::own},
                    argc, argv);
}
