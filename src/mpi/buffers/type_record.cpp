#include "mpi/buffers/type_record.h"

#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

int copy_record(MPI_Datatype, int, void*, void* value, void* copy, int* flag) {
  *static_cast<void**>(copy) = new TypeRecord(*static_cast<const TypeRecord*>(value));
  *flag = 1;
  return MPI_SUCCESS;
}

int forget_record(MPI_Datatype, int, void* value, void*) {
  delete static_cast<TypeRecord*>(value);
  return MPI_SUCCESS;
}

int type_keyval() {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    (void)pmpi().Type_create_keyval(copy_record, forget_record, &made, nullptr);
    return made;
  }();
  return keyval;
}

// Derives the facts of a type from its pieces. That the size equals the extent is not enough, since an indexed type may visit its bytes in another
// order.
void learn(const Layout& layout, TypeFacts& facts) {
  const Pieces& first = layout.pieces.front();
  facts.in_a_row = layout.pieces.size() == 1 && first.count == 1;
  facts.lower = facts.in_a_row ? first.offset : 0;
  facts.contiguous = facts.in_a_row && layout.extent == static_cast<std::int64_t>(facts.bytes);
  if (!facts.contiguous) facts.layout = &layout;
}

}  // namespace

constinit thread_local ProgramCall this_call;

std::uint64_t first_number_of_thread() {
  constexpr int kCallsOfAThread = 40;  // It is a power of two.
  static std::atomic<std::uint64_t> threads{0};
  return (threads.fetch_add(1, std::memory_order_relaxed) << kCallsOfAThread) + 1;
}

Effort effort_of_this_call() { return this_call.runs == CallRuns::often ? Effort::any : Effort::little; }

TypeRecord::Known TypeRecord::look(MPI_Datatype type, const TypeFacts& facts, Effort effort) {
  const Flattened found = flatten(type, effort);
  Known known{facts, found.layout, !found.given_up};
  if (known.layout != nullptr) learn(*known.layout, known.facts);
  return known;
}

TypeRecord::TypeRecord(MPI_Datatype type, const TypeFacts& facts)
    : first_(look(type, facts, Effort::little)), known_(&first_), seen_by_(this_call.number) {}

TypeRecord::TypeRecord(const TypeRecord& of) : first_(*of.known()), known_(&first_), seen_by_(of.seen_by_) {}

bool TypeRecord::seen_by_this_call() const { return seen_by_ == this_call.number; }

void TypeRecord::take_apart(MPI_Datatype type) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_apart()) return;
  later_ = std::make_unique<const Known>(look(type, first_.facts, Effort::any));
  known_.store(later_.get(), std::memory_order_release);
}

const DeviceLayout* TypeRecord::device_layout() {
  const std::shared_ptr<const Layout>& layout = known()->layout;
  if (layout == nullptr) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!device_layout_made_) device_layout_ = for_devices(*layout);
  device_layout_made_ = true;
  return device_layout_.get();
}

int TypeRecord::find(MPI_Datatype type, TypeRecord*& record) {
  void* value = nullptr;
  int found = 0;
  record = nullptr;
  if (type_keyval() == MPI_KEYVAL_INVALID) return MPI_SUCCESS;
  const int code = pmpi().Type_get_attr(type, type_keyval(), &value, &found);
  if (code == MPI_SUCCESS && found != 0) record = static_cast<TypeRecord*>(value);
  return code;
}

bool TypeRecord::keep(MPI_Datatype type, std::unique_ptr<TypeRecord> record) {
  if (type_keyval() == MPI_KEYVAL_INVALID || pmpi().Type_set_attr(type, type_keyval(), record.get()) != MPI_SUCCESS) return false;
  (void)record.release();
  return true;
}

}  // namespace crossrail::mpi
