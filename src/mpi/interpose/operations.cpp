// This file defines crossrail_op.

#include <iterator>

#include "base/log.h"
#include "mpi/buffers/reductions.h"
#include "mpi/buffers/short_float_operations.h"
#include "mpi/library/pmpi.h"
#include "crossrail/crossrail.h"  // This must follow mpi.h.

namespace crossrail::mpi {
namespace {

Status find_operation(crossrail_format format, MPI_Op operation, MPI_Op* op) {
  constexpr Element kElements[] = {Element::none, Element::float16, Element::bfloat16, Element::float8_e4m3, Element::float8_e5m2};
  CROSSRAIL_TRY(mpi_is_up());
  if (op == nullptr) return failed(Code::invalid, "there is no place for the operation");
  const auto number = static_cast<std::size_t>(format);
  if (number == 0 || number >= std::size(kElements)) return failed(Code::invalid, "no such format");
  const Reduction wanted = combining_of(operation);
  if (wanted.element != Element::none) return failed(Code::invalid, "it is such an operation already");
  return short_float_operation({wanted.operation, kElements[number]}, *op);
}

}  // namespace
}  // namespace crossrail::mpi

extern "C" __attribute__((visibility("default"))) int crossrail_op(crossrail_format format, MPI_Op operation, MPI_Op* op) {
  const crossrail::Status status = crossrail::mpi::find_operation(format, operation, op);
  if (status.ok()) return MPI_SUCCESS;
  crossrail::log_line(crossrail::LogLevel::error, "crossrail_op: %s", status.what);
  return MPI_ERR_OP;
}
