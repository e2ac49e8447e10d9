#include "mpi/buffers/datatypes.h"

#include <array>
#include <memory>
#include <mutex>

#include "device/device.h"
#include "mpi/buffers/flatten.h"
#include "mpi/buffers/reductions.h"
#include "mpi/buffers/type_contents.h"
#include "mpi/buffers/type_record.h"
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

namespace {

// Returns whether one element fills its extent from the first byte to the last.
bool fills_extent(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  (void)pmpi().Type_get_extent(type, &lower, &extent);
  (void)pmpi().Type_get_true_extent(type, &true_lower, &true_extent);
  const std::uint64_t bytes = size_of(type);
  return lower == 0 && true_lower == 0 && static_cast<std::uint64_t>(extent) == bytes &&
         static_cast<std::uint64_t>(true_extent) == bytes;
}

// MPI refuses a type that is not committed and raises its own error on `comm`. In Open MPI, MPI_Pack does so. In the MPICH family, MPI_Pack_size
// does, and its size shows the refusal where its code does not.
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

// Predefined types live for ever, so their handles may be remembered by value.
struct Remembered {
  MPI_Datatype type{};
  TypeFacts facts;
};
constexpr std::size_t kRemembered = 8;

Remembered& remembered(MPI_Datatype type) {
  static constinit thread_local std::array<Remembered, kRemembered> slots;
  const auto word = (std::uint64_t)(std::uintptr_t)type;  // A handle is an int or a pointer, depending on the flavour.
  return slots[(word ^ word >> 6 ^ word >> 12) % kRemembered];
}

// Returns whether the type must be taken apart at once. Without a layout, neither MPI nor we can tell data in device memory from gaps, and an MPI
// without MPI_Pack_c cannot pack elements of 2 GiB and more.
bool needs_layout(const TypeFacts& facts) {
  constexpr std::uint64_t kMostPacked = (std::uint64_t{1} << 31) - 1;
  return facts.bytes > kMostPacked || device::driver_present();
}

void tell(MPI_Datatype type, TypeRecord& record, Effort effort, TypeFacts& facts) {
  if (!record.is_apart() && (effort == Effort::any || !record.seen_by_this_call() || needs_layout(record.facts()))) record.take_apart(type);
  facts = record.facts();
}

// A type gets only one record, however many threads come at the same time.
int describe_derived(MPI_Datatype type, MPI_Comm comm, Effort effort, TypeFacts& facts) {
  if (const int code = check_committed(type, comm, facts.usable); !facts.usable) return code;
  static std::mutex making;
  const std::lock_guard<std::mutex> lock(making);
  TypeRecord* known = nullptr;
  (void)TypeRecord::find(type, known);
  if (known != nullptr) {
    tell(type, *known, effort, facts);
    return MPI_SUCCESS;
  }
  auto record = std::make_unique<TypeRecord>(type, facts);
  TypeFacts found;
  tell(type, *record, effort, found);
  // If nothing can be remembered, MPI packs the type.
  if (TypeRecord::keep(type, std::move(record))) facts = found;
  return MPI_SUCCESS;
}

int describe_with(MPI_Datatype type, MPI_Comm comm, Effort effort, TypeFacts& facts) {
  Remembered& slot = remembered(type);
  if (slot.type == type && slot.facts.predefined) {
    facts = slot.facts;
    return MPI_SUCCESS;
  }
  TypeRecord* record = nullptr;
  const int looked = TypeRecord::find(type, record);
  if (record != nullptr) {
    tell(type, *record, effort, facts);
    return MPI_SUCCESS;
  }
  facts = {};
  int combiner = MPI_UNDEFINED;
  const bool known = ask_combiner(type, combiner);
  if (looked != MPI_SUCCESS && !known) return looked;  // The handle is no type.
  facts.bytes = size_of(type);
  // If MPI does not say whether the type is predefined, the handle decides. No rank may decide by itself what a type is to a reduction.
  facts.predefined = known ? is_predefined(combiner) : is_type_of_reductions(type);
  if (!facts.predefined) return describe_derived(type, comm, effort, facts);
  facts.usable = true;
  facts.contiguous = facts.in_a_row = fills_extent(type);
  if (!facts.contiguous) facts.layout = layout_of_predefined(type);
  slot = {type, facts};
  return MPI_SUCCESS;
}

}  // namespace

int describe(MPI_Datatype type, MPI_Comm comm, TypeFacts& facts) {
  const Remembered& known = remembered(type);
  if (known.type == type && known.facts.predefined) {
    facts = known.facts;
    return MPI_SUCCESS;
  }
  return describe_with(type, comm, effort_of_this_call(), facts);
}
int describe_whole(MPI_Datatype type, MPI_Comm comm, TypeFacts& facts) { return describe_with(type, comm, Effort::any, facts); }

bool make_alike(MPI_Datatype type, MPI_Datatype& alike) {
  MPI_Datatype made = type;
  if (pmpi().Type_contiguous(1, type, &made) != MPI_SUCCESS || pmpi().Type_commit(&made) != MPI_SUCCESS) return false;
  TypeRecord* record = nullptr;
  if (TypeRecord::find(type, record) == MPI_SUCCESS && record != nullptr) (void)TypeRecord::keep(made, std::make_unique<TypeRecord>(*record));
  alike = made;
  return true;
}

const DeviceLayout* device_layout_of(MPI_Datatype type) {
  TypeRecord* record = nullptr;
  if (TypeRecord::find(type, record) != MPI_SUCCESS || record == nullptr) return nullptr;
  if (!record->is_apart()) record->take_apart(type);
  return record->device_layout();
}

}  // namespace crossrail::mpi
