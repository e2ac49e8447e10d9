#include "mpi/library/pmpi.h"

#include <atomic>

#include "base/log.h"
#include "mpi/library/library.h"

namespace crossrail::mpi {
namespace {

struct Table {
  Functions functions;
  bool complete = true;
};

Table fill() {
  Table table;
#define FUNCTION(name, needed)                                                                           \
  table.functions.name = reinterpret_cast<decltype(table.functions.name)>(library_symbol("PMPI_" #name)); \
  if (needed && table.functions.name == nullptr) {                                                       \
    table.complete = false;                                                                              \
    log_line(LogLevel::error, "the MPI library has no PMPI_" #name ": its calls go to MPI untouched");    \
  }
#include "mpi/library/functions.def"
#undef FUNCTION
  return table;
}

std::atomic<bool> over{false};

}  // namespace

std::atomic<const Functions*> known_functions{nullptr};

void mpi_is_over() {
  over = true;
  known_functions = nullptr;
}

const Functions* look_for_functions() {
  if (!library().ours || over.load(std::memory_order_relaxed)) return nullptr;
  static const Table table = fill();
  if (!table.complete) return nullptr;
  known_functions = &table.functions;
  if (over) known_functions = nullptr;  // Another thread may have ended MPI meanwhile.
  return &table.functions;
}

}  // namespace crossrail::mpi
