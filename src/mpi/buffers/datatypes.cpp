#include "mpi/buffers/datatypes.h"

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi/library/pmpi.h"

namespace crossrail::mpi {

bool begins_at_its_address(MPI_Datatype type, const TypeFacts& facts) {
  if (facts.predefined) return true;
  MPI_Aint lower = 0, extent = 0;
  (void)pmpi().Type_get_true_extent(type, &lower, &extent);
  return lower == 0;
}

std::uint64_t size_of(MPI_Datatype type) {
  if (pmpi().Type_size_x != nullptr) {
    MPI_Count bytes = 0;
    if (pmpi().Type_size_x(type, &bytes) == MPI_SUCCESS && bytes >= 0) return static_cast<std::uint64_t>(bytes);
  }
  int bytes = 0;
  (void)pmpi().Type_size(type, &bytes);
  return bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
}

bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

int combiner_of(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  (void)pmpi().Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner;
}

namespace {

int do_not_copy(MPI_Datatype, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

}  // namespace

int make_type_keyval(ForgetAttribute forget) {
  int made = MPI_KEYVAL_INVALID;
  (void)pmpi().Type_create_keyval(do_not_copy, forget, &made, nullptr);
  return made;
}

namespace {

// Facts of a derived type are remembered as one of its attributes: bytes * 2 + contiguous.
int forget_facts(MPI_Datatype, int, void*, void*) { return MPI_SUCCESS; }

int facts_keyval() {
  static const int keyval = make_type_keyval(forget_facts);
  return keyval;
}

// One element fills its extent from its first byte to its last.
bool fills_extent(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  (void)pmpi().Type_get_extent(type, &lower, &extent);
  (void)pmpi().Type_get_true_extent(type, &true_lower, &true_extent);
  const std::uint64_t bytes = size_of(type);
  return lower == 0 && true_lower == 0 && static_cast<std::uint64_t>(extent) == bytes &&
         static_cast<std::uint64_t>(true_extent) == bytes;
}

bool is_contiguous(MPI_Datatype type);

// Whether the first type that `type` is made of is contiguous.
bool made_of_contiguous(MPI_Datatype type) {
  int integer_count = 0, address_count = 0, type_count = 0, combiner = 0;
  (void)pmpi().Type_get_envelope(type, &integer_count, &address_count, &type_count, &combiner);
  if (type_count < 1) return false;
  std::vector<int> integers(integer_count + 1);
  std::vector<MPI_Aint> addresses(address_count + 1);
  std::vector<MPI_Datatype> types(type_count);
  if (pmpi().Type_get_contents(type, integer_count, address_count, type_count, integers.data(), addresses.data(),
                               types.data()) != MPI_SUCCESS) {
    return false;
  }
  const bool contiguous = is_contiguous(types[0]);
  for (MPI_Datatype& part : types) {
    if (!is_predefined(combiner_of(part))) (void)pmpi().Type_free(&part);
  }
  return contiguous;
}

// Size equal to extent is not enough: an indexed type may visit its bytes in another order. Only
// constructors that keep the order are believed; all others are packed.
bool is_contiguous(MPI_Datatype type) {
  if (!fills_extent(type)) return false;
  const int combiner = combiner_of(type);
  if (is_predefined(combiner)) return true;
  switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_RESIZED: return made_of_contiguous(type);
    default: return false;
  }
}

// A type that is not committed is refused, with MPI's own error raised on `comm`: by MPI_Pack in
// Open MPI, by MPI_Pack_size in the MPICH family, whose result tells it apart where its code does not.
int check_committed(MPI_Datatype type, MPI_Comm comm, bool& committed) {
#ifdef OPEN_MPI
  char in[16] = {}, out[16] = {};
  int position = 0;
  const int code = pmpi().Pack(in, 0, type, out, sizeof out, &position, comm);
  committed = code == MPI_SUCCESS;
#else
  int bytes = -1;
  const int code = pmpi().Pack_size(1, type, comm, &bytes);
  committed = code == MPI_SUCCESS && bytes != -1;
#endif
  return code;
}

// Predefined types live for ever, so that their handles may be remembered by value.
struct Remembered {
  MPI_Datatype type{};
  TypeFacts facts;
};
constexpr std::size_t kRemembered = 64;

Remembered& remembered(MPI_Datatype type) {
  static thread_local std::array<Remembered, kRemembered> slots;
  const auto word = (std::uint64_t)(std::uintptr_t)type;  // an int or a pointer, by flavour
  return slots[(word ^ word >> 6 ^ word >> 12) % kRemembered];
}

}  // namespace

int describe(MPI_Datatype type, MPI_Comm comm, TypeFacts& facts) {
  Remembered& slot = remembered(type);
  if (slot.type == type && slot.facts.predefined) {
    facts = slot.facts;
    return MPI_SUCCESS;
  }
  void* value = nullptr;
  int found = 0;
  if (int code = pmpi().Type_get_attr(type, facts_keyval(), &value, &found); code != MPI_SUCCESS) return code;
  if (found != 0) {
    const auto word = reinterpret_cast<std::uintptr_t>(value);
    facts = {word >> 1, (word & 1) != 0, false, true};
    return MPI_SUCCESS;
  }
  facts.bytes = size_of(type);
  facts.contiguous = is_contiguous(type);
  facts.predefined = is_predefined(combiner_of(type));
  facts.usable = facts.predefined;
  if (facts.predefined) {
    slot = {type, facts};
    return MPI_SUCCESS;
  }
  if (int code = check_committed(type, comm, facts.usable); !facts.usable) return code;
  value = reinterpret_cast<void*>(static_cast<std::uintptr_t>(facts.bytes << 1 | (facts.contiguous ? 1 : 0)));
  return pmpi().Type_set_attr(type, facts_keyval(), value);
}

namespace {

// A type of absolute addresses comes with MPI_BOTTOM, which is null, and MPICH packs nothing from
// null: the same bytes lie at address `kShift` in a type moved back by as much.
class FromSomewhere {
 public:
  explicit FromSomewhere(const TypedMemory& memory) : type(memory.type), address(memory.address) {
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

// MPI_Pack counts in int: pieces of whole elements, none over 1 GiB (or one element).
template <class Move>
Status in_pieces(const TypedMemory& memory, Move move) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  if (memory.element_bytes == 0) return {};
  const FromSomewhere from(memory);
  MPI_Aint lower = 0, extent = 0;
  (void)pmpi().Type_get_extent(memory.type, &lower, &extent);
  const std::uint64_t most = std::max<std::uint64_t>(1, kMostBytes / memory.element_bytes);
  for (std::uint64_t done = 0; done < memory.count;) {
    const std::uint64_t piece = std::min(most, memory.count - done);
    char* address = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(from.address) +
                                            static_cast<std::uintptr_t>(extent) * done);
    const int bytes = static_cast<int>(piece * memory.element_bytes);
    const std::uint64_t row_offset = done * memory.element_bytes;
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

Status pack(const TypedMemory& from, std::byte* row) {
  return in_pieces(from, [&](const Piece& piece, std::uint64_t offset, int bytes, int& position) {
    return pmpi().Pack(piece.address, piece.count, piece.type, row + offset, bytes, &position, from.comm);
  });
}

Status unpack(const std::byte* row, const TypedMemory& to) {
  return in_pieces(to, [&](const Piece& piece, std::uint64_t offset, int bytes, int& position) {
    return pmpi().Unpack(row + offset, bytes, &position, piece.address, piece.count, piece.type, to.comm);
  });
}

}  // namespace crossrail::mpi
