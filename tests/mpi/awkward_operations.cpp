// The program's operations do more than combine. It runs on 2 ranks.
//
//   awkward_operations WAY FORM [devices]
//     WAY   slow, calls (local MPI functions), nested (collective calls on MPI_COMM_SELF), throws (an exception, caught around the MPI
//           call), jumps (longjmp out of it)
//     FORM  allreduce, iallreduce, scatter (MPI_Reduce_scatter_block)
//
// Once both ranks have left a call alike, the MPI library decides what still works. The lines "result ..." tell what does, and must be the same
// without crossrail. With "devices" the buffers are in the memory of a device of which the MPI library knows nothing (HOST_DEVICE is the path of its
// driver).
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <string>

extern "C" {
#include <unistd.h>
}
#include "check.h"
#include "device_memory_of_tests.h"

namespace {

struct TooLarge {
  int value;
};

std::string way;
int leaves = 0;  // It counts the calls of the operation that are left.
int called = 0;
std::jmp_buf before_call;
bool on_devices = false;
constexpr int kMost = 3 * 20000, kSecondsOfAStep = 20;

void nested_calls() {
  int one = 7, sum = 0, all = 0, back = 0;
  MPI_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
  MPI_OK(MPI_Alltoall(&one, 1, MPI_INT, &all, 1, MPI_INT, MPI_COMM_SELF));
  MPI_Request request;
  MPI_OK(MPI_Iallreduce(&one, &back, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &request));
  MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(sum == 7 && all == 7 && back == 7, "nested calls: %d, %d, %d", sum, all, back);
}

void local_calls(void* in, void* inout, int* length, MPI_Datatype* type) {
  int bytes = 0, initialized = 0;
  MPI_Aint at = 0, lower = 0, extent = 0;
  MPI_OK(MPI_Type_size(*type, &bytes));
  MPI_OK(MPI_Type_get_extent(*type, &lower, &extent));
  MPI_OK(MPI_Get_address(in, &at));
  MPI_OK(MPI_Initialized(&initialized));
  CHECK(bytes > 0 && extent >= bytes && at != 0 && initialized != 0, "local calls: %d bytes", bytes);
  MPI_OK(MPI_Reduce_local(in, inout, *length * (bytes / static_cast<int>(sizeof(int))), MPI_INT, MPI_SUM));
}

void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  ++called;
  if (way == "calls") return local_calls(in, inout, length, type);
  if (way == "slow") usleep(20000);
  if (way == "nested") nested_calls();
  if (leaves > 0 && way == "throws") throw TooLarge{*static_cast<int*>(in)};
  if (leaves > 0 && way == "jumps") std::longjmp(before_call, 1);
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  const int ints = *length * (bytes / static_cast<int>(sizeof(int)));
  for (int one = 0; one < ints; ++one) static_cast<int*>(inout)[one] += static_cast<int*>(in)[one];
}

struct Memory {
  Memory() : memory(on_devices ? device_alloc(kBytes, 0) : std::malloc(kBytes)) {}
  int* ints() const { return static_cast<int*>(on_devices ? touchable(memory) : memory); }
  static constexpr std::size_t kBytes = sizeof(int) * 2 * kMost;
  void* memory;
};

struct Call {
  std::string form;
  MPI_Comm comm;
  MPI_Op op;
  MPI_Datatype type;
  int count, ints;  // An element has `ints` ints.
  Memory *send, *recv;
};

int make(const Call& call) {
  if (call.form == "scatter") return MPI_Reduce_scatter_block(call.send->memory, call.recv->memory, call.count, call.type, call.op, call.comm);
  if (call.form == "allreduce") return MPI_Allreduce(call.send->memory, call.recv->memory, call.count, call.type, call.op, call.comm);
  MPI_Request request;
  const int code = MPI_Iallreduce(call.send->memory, call.recv->memory, call.count, call.type, call.op, call.comm, &request);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int sent(int rank, int at) { return 1000 * (rank + 1) + at % 977; }

void fill(const Call& call) {
  for (int at = 0; at < 2 * call.count * call.ints; ++at) {
    call.send->ints()[at] = sent(rank_in(call.comm), at);
    call.recv->ints()[at] = -1;
  }
}

bool right(const Call& call) {
  const int first = call.form == "scatter" ? rank_in(call.comm) * call.count * call.ints : 0;
  int wrong = 0;
  for (int at = 0; at < call.count * call.ints; ++at) wrong += call.recv->ints()[at] != sent(0, first + at) + sent(1, first + at);
  return wrong == 0 && call.recv->ints()[call.count * call.ints] == -1;
}

// Returns how the program came out of the call.
const char* come_out(const Call& call) {
  fill(call);
  if (way == "jumps" && setjmp(before_call) != 0) return "jumped";
  try {
    return make(call) == MPI_SUCCESS ? "returned" : "failed";
  } catch (const TooLarge& thrown) {
    return thrown.value > 0 ? "caught" : "caught something else";
  }
}

std::string step;
// Natively, a rank may wait for ever for one that has left. That is a result, too.
void hangs(int) {
  std::string text = "result rank " + std::to_string(rank_in(MPI_COMM_WORLD)) + ": " + step + " hangs\n";
  (void)!write(1, text.data(), text.size());
  _exit(0);
}

void tell(const Call& call, const char* name) {
  step = name;
  alarm(kSecondsOfAStep);
  const char* const came = come_out(call);
  const bool well = std::strcmp(came, "returned") == 0 && right(call);
  alarm(0);
  std::printf("result rank %d: %s %s%s\n", rank_in(call.comm), name, came, well ? ", right" : "");
  std::fflush(stdout);
}

// A call that was left must not look as if it were still there. Otherwise calls by these names would count as a part of it, and would be the MPI
// library's.
void call_by_other_name(const Call& native) {
  using LastAlgorithm = const char* (*)();
  const auto last = reinterpret_cast<LastAlgorithm>(dlsym(RTLD_DEFAULT, "crossrail_last_algorithm"));
  int one = 1, sum = 0;
  MPI_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, native.op, native.comm));
  MPI_OK(PMPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, native.comm));
  CHECK(sum == 2, "PMPI_Allreduce: %d", sum);
  CHECK(last == nullptr || std::strcmp(last(), "native") != 0, "PMPI_Allreduce is taken for a part of a call that has been left");
}

// MPI libraries no longer carry nonblocking collectives of their own once one has been left.
void leave(Call call, MPI_Comm other) {
  const bool blocking = call.form != "iallreduce";
  leaves = 1;
  tell(call, "left");
  if (blocking) tell(call, "left again");
  leaves = 0;
  Call sum = call;
  sum.op = MPI_SUM, sum.type = MPI_INT, sum.ints = 1;
  for (const MPI_Comm comm : {other, call.comm}) {
    const std::string where = comm == other ? " on another communicator" : " on the same communicator";
    call.comm = sum.comm = comm;
    if (!blocking) call.form = "allreduce";
    tell(call, ("the operation" + where).c_str());
    for (const char* form : {"allreduce", "scatter", "iallreduce"}) {
      sum.form = form;
      if (blocking || sum.form != "iallreduce") tell(sum, ("a sum" + where + ", " + form).c_str());
    }
    MPI_OK(checked_alltoall(comm, 30, 1));
    call_by_other_name(call);
  }
}

void goes_on(const Call& call) {
  for (int again = 0; again < 3; ++again) {
    fill(call);
    called = 0;
    MPI_OK(make(call));
    CHECK(right(call), "%s by %s: wrong for %d elements of %d ints", call.form.c_str(), way.c_str(), call.count, call.ints);
    int all = 0;
    MPI_OK(MPI_Allreduce(&called, &all, 1, MPI_INT, MPI_SUM, call.comm));
    CHECK(all > 0, "the operation has not been called");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  way = argc > 1 ? argv[1] : "slow";
  on_devices = argc > 3;
  if (on_devices) open_driver();
  signal(SIGALRM, hangs);
  MPI_Comm same, other;
  MPI_Op op;
  MPI_Datatype three;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &same));
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
  MPI_OK(MPI_Op_create(add, 1, &op));
  MPI_OK(MPI_Type_contiguous(3, MPI_INT, &three));
  MPI_OK(MPI_Type_commit(&three));
  MPI_OK(checked_alltoall(same, 3, 1));
  MPI_OK(checked_alltoall(other, 3, 1));
  Memory send, recv;
  for (const int count : {1, 20000 - 1}) {
    for (const bool derived : {false, true}) {
      const Call call{argc > 2 ? argv[2] : "allreduce", same, op, derived ? three : MPI_INT, count, derived ? 3 : 1, &send, &recv};
      if (way != "throws" && way != "jumps") goes_on(call);
      else if (call.form != "iallreduce" || (count > 1 && !derived)) leave(call, other);
    }
  }
  const int result = verdict();
  std::printf("result rank %d: ends\n", rank_in(MPI_COMM_WORLD));
  std::fflush(stdout);
  alarm(kSecondsOfAStep);
  step = "MPI_Finalize";
  MPI_Finalize();
  return result;
}
