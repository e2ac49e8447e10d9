#include "mpi/buffers/datatypes.h"

#include <array>
#include <memory>
#include <mutex>

#include "mpi/buffers/flatten.h"
#include "mpi/buffers/type_contents.h"
#include "mpi/library/library.h"
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

// Kept as an attribute of a derived type.
struct TypeRecord {
  TypeFacts facts;
  std::shared_ptr<const Layout> layout;
  std::mutex mutex;  // of what follows
  bool device_layout_made = false;
  std::unique_ptr<DeviceLayout> device_layout;
};

// A duplicate has the same layout.
int copy_record(MPI_Datatype, int, void*, void* value, void* copy, int* flag) {
  const auto& record = *static_cast<const TypeRecord*>(value);
  auto* const made = new TypeRecord;
  made->facts = record.facts;
  made->layout = record.layout;
  *static_cast<void**>(copy) = made;
  *flag = 1;
  return MPI_SUCCESS;
}

int forget_record(MPI_Datatype, int, void* value, void*) {
  delete static_cast<TypeRecord*>(value);
  return MPI_SUCCESS;
}

int record_keyval() {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    (void)pmpi().Type_create_keyval(copy_record, forget_record, &made, nullptr);
    return made;
  }();
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

// What the pieces of a derived type say. Size equal to extent is not enough: an indexed type may visit its bytes in another
// order.
void learn(const std::shared_ptr<const Layout>& layout, TypeFacts& facts) {
  if (layout == nullptr) return;
  const Pieces& first = layout->pieces.front();
  facts.in_a_row = layout->pieces.size() == 1 && first.count == 1;
  facts.lower = facts.in_a_row ? first.offset : 0;
  facts.contiguous = facts.in_a_row && layout->extent == static_cast<std::int64_t>(facts.bytes);
  if (!facts.contiguous) facts.layout = layout.get();
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

namespace {

int find_record(MPI_Datatype type, TypeRecord*& record) {
  void* value = nullptr;
  int found = 0;
  record = nullptr;
  if (record_keyval() == MPI_KEYVAL_INVALID) return MPI_SUCCESS;
  const int code = pmpi().Type_get_attr(type, record_keyval(), &value, &found);
  if (code == MPI_SUCCESS && found != 0) record = static_cast<TypeRecord*>(value);
  return code;
}

// A type of which nothing can be remembered: MPI packs it.
void know_little(TypeFacts& facts) {
  facts.in_a_row = facts.contiguous = false;
  facts.lower = 0;
  facts.layout = nullptr;
}

// One record a type, whatever threads come at the same time: who is given its layout keeps it.
int describe_derived(MPI_Datatype type, MPI_Comm comm, TypeFacts& facts) {
  if (const int code = check_committed(type, comm, facts.usable); !facts.usable) return code;
  static std::mutex making;
  const std::lock_guard<std::mutex> lock(making);
  TypeRecord* known = nullptr;
  (void)find_record(type, known);
  if (known != nullptr) {
    facts = known->facts;
    return MPI_SUCCESS;
  }
  auto record = std::make_unique<TypeRecord>();
  record->layout = flatten(type);
  learn(record->layout, facts);
  record->facts = facts;
  const bool kept = record_keyval() != MPI_KEYVAL_INVALID && pmpi().Type_set_attr(type, record_keyval(), record.get()) == MPI_SUCCESS;
  if (!kept) know_little(facts);
  if (kept) (void)record.release();
  return MPI_SUCCESS;
}

}  // namespace

int describe(MPI_Datatype type, MPI_Comm comm, TypeFacts& facts) {
  Remembered& slot = remembered(type);
  if (slot.type == type && slot.facts.predefined) {
    facts = slot.facts;
    return MPI_SUCCESS;
  }
  TypeRecord* record = nullptr;
  const int looked = find_record(type, record);
  if (record != nullptr) {
    facts = record->facts;
    return MPI_SUCCESS;
  }
  facts = {};
  int combiner = MPI_UNDEFINED;
  const bool known = ask_combiner(type, combiner);
  if (looked != MPI_SUCCESS && !known) return looked;  // it is no type
  facts.bytes = size_of(type);
  facts.predefined = known && is_predefined(combiner);
  if (!facts.predefined) return describe_derived(type, comm, facts);
  facts.usable = true;
  facts.contiguous = facts.in_a_row = fills_extent(type);
  if (!facts.contiguous) facts.layout = layout_of_predefined(type);
  slot = {type, facts};
  return MPI_SUCCESS;
}

const DeviceLayout* device_layout_of(MPI_Datatype type) {
  TypeRecord* record = nullptr;
  if (find_record(type, record) != MPI_SUCCESS || record == nullptr || record->layout == nullptr) return nullptr;
  const std::lock_guard<std::mutex> lock(record->mutex);
  if (!record->device_layout_made) record->device_layout = for_devices(*record->layout);
  record->device_layout_made = true;
  return record->device_layout.get();
}

}  // namespace crossrail::mpi
