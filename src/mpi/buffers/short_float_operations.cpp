#include "mpi/buffers/short_float_operations.h"

#include <atomic>
#include <mutex>

#include "base/log.h"
#include "collectives/combine.h"
#include "mpi/buffers/datatypes.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

struct Operands {
  void *first, *both;
  std::uint64_t count;
  MPI_Datatype type;
};

// An element of the type may consist of several floats.
void combine_operands(const Reduction& reduction, const Operands& given) {
  TypeFacts facts;
  (void)describe(given.type, handles().comm_self, facts);
  if (!facts.usable || !facts.contiguous || facts.bytes % bytes_of(reduction.element) != 0) {
    log_line(LogLevel::error, "an operation on elements of %zu bytes has been given a datatype of %llu bytes%s", bytes_of(reduction.element),
             static_cast<unsigned long long>(facts.bytes), facts.contiguous ? "" : " and gaps");
    (void)pmpi().Abort(handles().comm_world, MPI_ERR_TYPE);
  }
  auto* const to = moved(given.both, facts.lower);
  combine_of(reduction)(moved(given.first, facts.lower), to, to, given.count * facts.bytes / bytes_of(reduction.element));
}

template <Operation operation, Element element>
void function(void* first, void* both, int* count, MPI_Datatype* type) {
  combine_operands({operation, element}, {first, both, static_cast<std::uint64_t>(*count), *type});
}

struct MadeOperation {
  Reduction reduction;
  MPI_User_function* function;
  std::atomic<bool> there{false};
  MPI_Op op{};  // It is written once, before `there`.

  MadeOperation(const Reduction& does, MPI_User_function* by) : reduction(does), function(by) {}
};

#define OF_FORMAT(element)                                                                                                                \
  {{Operation::sum, Element::element}, function<Operation::sum, Element::element>},                                                       \
      {{Operation::product, Element::element}, function<Operation::product, Element::element>},                                           \
      {{Operation::minimum, Element::element}, function<Operation::minimum, Element::element>},                                           \
      {{Operation::maximum, Element::element}, function<Operation::maximum, Element::element>}
MadeOperation made_operations[] = {OF_FORMAT(float16), OF_FORMAT(bfloat16), OF_FORMAT(float8_e4m3), OF_FORMAT(float8_e5m2)};
#undef OF_FORMAT

std::mutex making;

}  // namespace

Status short_float_operation(const Reduction& reduction, MPI_Op& op) {
  for (MadeOperation& one : made_operations) {
    if (!(one.reduction == reduction)) continue;
    const std::lock_guard lock(making);
    if (!one.there) {
      constexpr int kCommutes = 1;
      CROSSRAIL_TRY(from_mpi(pmpi().Op_create(one.function, kCommutes, &one.op), "MPI_Op_create"));
      one.there.store(true, std::memory_order_release);
    }
    op = one.op;
    return {};
  }
  return failed(Code::invalid, "only sums, products, minima and maxima of short floats are supported");
}

Reduction reduction_of_own(MPI_Op op) {
  for (const MadeOperation& one : made_operations) {
    if (one.there.load(std::memory_order_acquire) && one.op == op) return one.reduction;
  }
  return {};
}

void free_short_float_operations() {
  const std::lock_guard lock(making);
  for (MadeOperation& one : made_operations) {
    if (one.there.exchange(false)) (void)pmpi().Op_free(&one.op);
  }
}

}  // namespace crossrail::mpi
