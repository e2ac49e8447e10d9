// These functions pack datatypes into rows of bytes and unpack them, by their layout or through MPI.
#include <algorithm>

#include "mpi/buffers/side.h"
#include "mpi/library/library.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

// A type with absolute addresses comes with MPI_BOTTOM, which is null, and MPICH packs nothing from null. The same bytes lie at address `kShift` in a
// type that is moved back by as much.
class FromSomewhere {
 public:
  explicit FromSomewhere(const Side& memory) : type(memory.type), address(memory.address) {
    if (address != nullptr) return;
    const int one = 1;
    const MPI_Aint back = -kShift;
    moved_ = pmpi().Type_create_hindexed(1, &one, &back, memory.type, &type) == MPI_SUCCESS &&
             pmpi().Type_commit(&type) == MPI_SUCCESS;
    address = reinterpret_cast<void*>(kShift);
  }
  FromSomewhere(const FromSomewhere&) = delete;
  ~FromSomewhere() {
    if (moved_) (void)pmpi().Type_free(&type);
  }
  MPI_Datatype type;
  void* address;

 private:
  static constexpr MPI_Aint kShift = 4096;
  bool moved_ = false;
};

struct Piece {
  char* address;
  MPI_Datatype type;
  int count;
};

// This is the form with large counts, which some libraries and some headers lack.
using LargePack = int (*)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Count*, MPI_Comm);
using LargeUnpack = int (*)(const void*, MPI_Count, MPI_Count*, void*, MPI_Count, MPI_Datatype, MPI_Comm);

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;  // One MPI call packs at most this much, unless one element is longer.
constexpr std::uint64_t kMostOfInt = (std::uint64_t{1} << 31) - 1;

Status as_long_elements(const Side& memory, MPI_Comm comm, std::byte* row, bool packs) {
  static const auto pack_large = reinterpret_cast<LargePack>(library_symbol("PMPI_Pack_c"));
  static const auto unpack_large = reinterpret_cast<LargeUnpack>(library_symbol("PMPI_Unpack_c"));
  if (pack_large == nullptr || unpack_large == nullptr) {
    return failure(Code::unsupported, "a datatype of %llu bytes cannot be packed by this MPI library", static_cast<unsigned long long>(memory.facts.bytes));
  }
  const FromSomewhere from(memory);
  const auto count = static_cast<MPI_Count>(memory.count), bytes = static_cast<MPI_Count>(memory.bytes());
  MPI_Count position = 0;
  const int code = packs ? pack_large(from.address, count, from.type, row, bytes, &position, comm)
                         : unpack_large(row, bytes, &position, from.address, count, from.type, comm);
  return code == MPI_SUCCESS && position == bytes ? Status{} : failure(Code::system, "packing a datatype: error %d", code);
}

// MPI_Pack counts in int, so long data are packed in pieces of whole elements.
template <class Move>
Status in_pieces(const Side& memory, Move move) {
  if (memory.facts.bytes == 0) return {};
  const FromSomewhere from(memory);
  MPI_Aint lower = 0, extent = 0;
  CROSSRAIL_TRY(from_mpi(pmpi().Type_get_extent(memory.type, &lower, &extent), "MPI_Type_get_extent"));
  const std::uint64_t most = std::max<std::uint64_t>(1, kMostBytes / memory.facts.bytes);
  for (std::uint64_t done = 0; done < memory.count;) {
    const std::uint64_t piece = std::min(most, memory.count - done);
    char* address = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(from.address) +
                                            static_cast<std::uintptr_t>(extent) * done);
    const int bytes = static_cast<int>(piece * memory.facts.bytes);
    const std::uint64_t row_offset = done * memory.facts.bytes;
    int position = 0;
    const int code = move({address, from.type, static_cast<int>(piece)}, row_offset, bytes, position);
    if (code != MPI_SUCCESS || position != bytes) {
      return failure(Code::system, "packing a datatype: error %d after %d of %d bytes", code, position, bytes);
    }
    done += piece;
  }
  return {};
}

}  // namespace

Status pack(const Side& from, MPI_Comm comm, std::byte* row) {
  if (from.facts.layout != nullptr) {
    from.facts.layout->gather(row, static_cast<const std::byte*>(from.address), 0, from.bytes());
    return {};
  }
  if (from.facts.bytes > kMostOfInt) return as_long_elements(from, comm, row, true);
  return in_pieces(from, [&](const Piece& piece, std::uint64_t offset, int bytes, int& position) {
    return pmpi().Pack(piece.address, piece.count, piece.type, row + offset, bytes, &position, comm);
  });
}

Status unpack(const std::byte* row, const Side& to, MPI_Comm comm) {
  if (to.facts.layout != nullptr) {
    to.facts.layout->scatter(static_cast<std::byte*>(to.address), row, 0, to.bytes());
    return {};
  }
  if (to.facts.bytes > kMostOfInt) return as_long_elements(to, comm, const_cast<std::byte*>(row), false);
  return in_pieces(to, [&](const Piece& piece, std::uint64_t offset, int bytes, int& position) {
    return pmpi().Unpack(row + offset, bytes, &position, piece.address, piece.count, piece.type, comm);
  });
}

}  // namespace crossrail::mpi
