#include "calls.h"

#include <dlfcn.h>

#include <string>

namespace bench {

Calls::Calls(const Collective& collective, const Options& options, const Contender& contender, const Exchange& exchange, Buffers& buffers)
    : collective_(collective), form_(options.form), in_place_(options.in_place), off_cache_(options.off_cache), fresh_(options.fresh),
      slices_(options.slices), beside_(options.beside), contender_(contender), exchange_(exchange), buffers_(buffers) {
  if (form_ != Form::persistent || !buffers_.complete()) return;
  const double began = MPI_Wtime();
  for (std::size_t set = 0; set < buffers_.sets() && init_code_ == MPI_SUCCESS; ++set) {
    made_.push_back(MPI_REQUEST_NULL);
    init_code_ = collective_.init(outgoing(set), buffers_.recv(set), exchange_, contender_, &made_.back());
  }
  init_seconds_ = (MPI_Wtime() - began) / static_cast<double>(buffers_.sets());
}

Calls::~Calls() {
  const auto release = contender_.choose(PMPI_Request_free, MPI_Request_free);
  for (MPI_Request& request : made_) {
    if (request != MPI_REQUEST_NULL) release(&request);
  }
}

int Calls::run_blocking(std::size_t turn) {
  const std::size_t set = set_of(turn);
  ++calls_;
  return collective_.call(outgoing(set), buffers_.recv(set), exchange_, contender_);
}

int Calls::run(std::size_t turn) {
  if (form_ == Form::blocking) return run_blocking(turn);
  const int code = start(turn);
  return code == MPI_SUCCESS ? wait() : code;
}

int Calls::start(std::size_t turn) {
  const std::size_t set = set_of(turn);
  ++calls_;
  completed_ = false;
  if (form_ == Form::nonblocking) return collective_.start(outgoing(set), buffers_.recv(set), exchange_, contender_, &started_);
  if (init_code_ != MPI_SUCCESS) return init_code_;
  started_ = made_[set % made_.size()];
  return contender_.choose(PMPI_Start, MPI_Start)(&started_);
}

void Calls::test() {
  if (completed_) return;
  int done = 0;
  contender_.choose(PMPI_Test, MPI_Test)(&started_, &done, MPI_STATUS_IGNORE);
  completed_ = done != 0;
}

int Calls::wait() { return contender_.choose(PMPI_Wait, MPI_Wait)(&started_, MPI_STATUS_IGNORE); }

namespace {

// Looks the function up in the MPI library itself, because a wrapper of crossrail's does not show whether the library has the function.
void* library_function(const std::string& name) {
  Dl_info found{};
  if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Init"), &found) == 0) return nullptr;
  void* const library = dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name.c_str());
}

}  // namespace

void* persistent_function(const char* name, bool of_mpi) {
  for (const std::string prefix : {"MPI_", "MPIX_"}) {
    void* const native = library_function("P" + prefix + name);
    if (native != nullptr) return of_mpi ? native : dlsym(RTLD_DEFAULT, (prefix + name).c_str());
  }
  return nullptr;
}

}  // namespace bench
