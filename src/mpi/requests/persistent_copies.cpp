#include "mpi/requests/persistent_copies.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi/library/arguments.h"
#include "mpi/communicator/raised_errors.h"
#include "mpi/library/library.h"
#include "mpi/requests/copied_call.h"

namespace crossrail::mpi {
namespace {

class PersistentOnCopies;

std::mutex copies_mutex;  // It protects the list.
std::vector<PersistentOnCopies*>& known() {
  static auto& all = *new std::vector<PersistentOnCopies*>;
  return all;
}
std::atomic<int> persistent_count{0};

class PersistentOnCopies final : public PendingCopiedCall, public Startable {
 public:
  ~PersistentOnCopies() override {
    if (native != handles().request_null) (void)pmpi().Request_free(&native);
  }

  int start() override {
    if (!fill().ok()) return MPI_ERR_OTHER;
    if (const int started = start_token(token); started != MPI_SUCCESS) return started;
    becomes_active();
    if (const int started = pmpi().Start(&native); started != MPI_SUCCESS) {
      becomes_inactive();
      complete_token(token, started);
      return started;
    }
    put_under_way(*this);
    return MPI_SUCCESS;
  }
  void finish() override {
    take_back();
    if (end(true, code)) delete this;
  }
  void free() override {
    {
      const std::lock_guard lock(copies_mutex);
      std::erase(known(), this);
    }
    persistent_count.fetch_sub(1);
    if (release()) delete this;
  }
};

}  // namespace

CallResult init_on_copies(const EntryPoint& entry, const Word64* words, const SidesOfCall& sides) {
  auto call = std::make_unique<PersistentOnCopies>();
  CopiedCall::Words own{};
  CallResult carried;
  void* const next = native_function(entry);
  if (next == nullptr) return carried;
  if (const Status placed = call->place(entry, words, sides, own); !placed.ok()) {
    carried.done = true;
    carried.code = raise({entry.name(), sides.comm}, placed);
    return carried;
  }
  if (!call->needed() || !tokens_possible() || open_token(call->token) != MPI_SUCCESS) return carried;
  call->keep_layouts();
  const int request = entry.function.request_word(entry.form);
  own[static_cast<std::size_t>(request)] = word_of(&call->native);
  carried.done = carried.on_copies = true;
  carried.code = call_with(next, own);
  if (carried.code != MPI_SUCCESS) {
    call->native = handles().request_null;
    return carried;
  }
  *reinterpret_cast<MPI_Request*>(words[request]) = call->request = call->token.request;
  call->has_program_its_token = true;
  const std::lock_guard lock(copies_mutex);
  known().push_back(call.release());  // The program frees it.
  persistent_count.fetch_add(1);
  return carried;
}

Startable* find_persistent_on_copies(MPI_Request request) {
  if (!any_persistent_on_copies()) return nullptr;
  const std::lock_guard lock(copies_mutex);
  const auto found = std::find_if(known().begin(), known().end(), [request](const PersistentOnCopies* one) { return one->request == request; });
  return found == known().end() ? nullptr : *found;
}

bool any_persistent_on_copies() { return persistent_count.load(std::memory_order_acquire) != 0; }

}  // namespace crossrail::mpi
