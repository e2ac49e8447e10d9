#include "mpi/requests/copied_calls.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/growable_buffer.h"
#include "device/device.h"
#include "mpi/library/library.h"
#include "mpi/library/pmpi.h"
#include "mpi/library/progress_hook.h"
#include "mpi/requests/pending.h"

namespace crossrail::mpi {
namespace {

constexpr std::size_t kMostWords = 10, kApart = 64;

// One side, if it is in device memory.
struct Copy {
  std::byte* device = nullptr;
  std::size_t bytes = 0;
  std::byte* at = nullptr;  // the copy
  GrowableBuffer host;

  // What stands for the address of the side; gaps go back as they came. It is not that of the other side: data may begin behind their
  // address, and MPI libraries take two equal ones for a call in place.
  Status make(Word64& address, const Span& span, Word64 other) {
    std::byte* const first = moved(reinterpret_cast<void*>(address), span.lower);
    if (span.bytes == 0 || !device::is_device_memory(first)) return {};
    CROSSRAIL_TRY(host.reserve(span.bytes + kApart));
    device = first;
    bytes = span.bytes;
    at = host.memory.get();
    if (word_of(moved(at, -span.lower)) == other) at += kApart;
    address = word_of(moved(at, -span.lower));
    return device::copy(at, first, bytes);
  }
};

struct CopiedCall {
  Copy sent, received;
  MPI_Request native = handles().request_null;
  MPI_Request request = handles().request_null;
  int code = MPI_SUCCESS;

  // The words with the addresses of copies in them. False if there is nothing to copy, or no memory for it.
  bool copy(const Word64* words, const SidesOfCall& sides, std::array<Word64, kMostWords>& own) {
    std::copy_n(words, sides.last_word + 1, own.begin());
    Word64 &from = own[sides.send_word], &to = own[sides.receive_word];
    return sent.make(from, sides.sent, to).ok() && received.make(to, sides.received, from).ok() && sent.bytes + received.bytes > 0;
  }
  bool over() {
    int done = 0;
    MPI_Status status;
    if (!may_test_in_hook(&native, 1)) return false;
    code = pmpi().Testall(1, &native, &done, &status);
    return code != MPI_SUCCESS || done != 0;
  }
  void take_back() {
    const bool right = code == MPI_SUCCESS;
    if (right && received.bytes > 0 && !device::copy(received.device, received.at, received.bytes).ok()) code = MPI_ERR_OTHER;
  }
  void finish() {
    take_back();
    (void)pmpi().Grequest_complete(request);
  }
  static int query(void* call, MPI_Status* status) {
    fill_status(status, MPI_UNDEFINED, MPI_UNDEFINED);
    return static_cast<CopiedCall*>(call)->code;
  }
  static int free(void* call) {
    delete static_cast<CopiedCall*>(call);
    return MPI_SUCCESS;
  }
  static int cancel(void*, int) { return MPI_ERR_REQUEST; }
};

std::mutex mutex;  // of the list
std::vector<CopiedCall*>& under_way() {
  static std::vector<CopiedCall*>& all = *new std::vector<CopiedCall*>;
  return all;
}
std::atomic<int> count{0};
std::atomic_flag looking;  // one thread at a time; also when a test leads to the hook again

// A thread that looks may be about to complete one that is no longer in the list.
bool may_be_under_way(MPI_Request request) {
  const std::lock_guard lock(mutex);
  const auto is_its = [request](const CopiedCall* one) { return one->request == request; };
  return looking.test(std::memory_order_acquire) || std::any_of(under_way().begin(), under_way().end(), is_its);
}

// Words that the function does not have are registers, or places on the stack, that it does not read.
int call_with(void* function, const std::array<Word64, kMostWords>& words) {
  return std::apply([&](auto... word) { return static_cast<int>(reinterpret_cast<Word64 (*)(decltype(word)...)>(function)(word...)); }, words);
}

}  // namespace

bool mpi_takes_device_memory() {
  using Query = int (*)();
  static const auto query = reinterpret_cast<Query>(library_symbol("MPIX_Query_cuda_support"));
  static const bool takes = query != nullptr && query() != 0;
  return takes;
}

Carried call_on_copies(const char* function, const Word64* words, const SidesOfCall& sides) {
  CopiedCall call;
  std::array<Word64, kMostWords> own{};
  Carried carried;
  void* const next = library_symbol(function);
  if (next == nullptr || !call.copy(words, sides, own)) return carried;
  carried.done = true;
  call.code = call_with(next, own);
  call.take_back();
  carried.code = call.code;
  return carried;
}

Carried start_on_copies(const char* function, const Word64* words, const SidesOfCall& sides) {
  auto call = std::make_unique<CopiedCall>();
  std::array<Word64, kMostWords> own{};
  Carried carried;
  void* const next = library_symbol(function);
  if (next == nullptr || !call->copy(words, sides, own)) return carried;
  own[sides.last_word] = word_of(&call->native);
  carried.done = carried.on_copies = true;
  carried.code = call_with(next, own);
  if (carried.code != MPI_SUCCESS) return carried;
  auto& request = *reinterpret_cast<MPI_Request*>(words[sides.last_word]);
  carried.code = pmpi().Grequest_start(CopiedCall::query, CopiedCall::free, CopiedCall::cancel, call.get(), &call->request);
  request = call->request;
  hook_pending_calls();
  const std::lock_guard lock(mutex);
  under_way().push_back(call.release());
  count.fetch_add(1);
  return carried;
}

int advance_copied_calls() {
  if (!any_copied_calls() || looking.test_and_set(std::memory_order_acquire)) return 0;
  std::vector<CopiedCall*> over;
  {
    const std::lock_guard lock(mutex);
    over = under_way();
  }
  std::erase_if(over, [](CopiedCall* one) { return !one->over(); });
  for (CopiedCall* one : over) {
    {
      const std::lock_guard lock(mutex);
      std::erase(under_way(), one);
    }
    one->finish();
    count.fetch_sub(1);
  }
  looking.clear(std::memory_order_release);
  return static_cast<int>(over.size());
}

void await_copied_calls(const MPI_Request* requests, int count_of_all) {
  if (requests == nullptr || !hooked_into_mpich()) return;
  for (int one = 0; one < count_of_all; ++one) {
    int over = requests[one] == handles().request_null ? 1 : 0;
    while (over == 0 && may_be_under_way(requests[one])) {
      if (pmpi().Request_get_status(requests[one], &over, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
      if (over == 0) sched_yield();
    }
  }
}

bool any_copied_calls() { return count.load(std::memory_order_relaxed) != 0; }

}  // namespace crossrail::mpi
