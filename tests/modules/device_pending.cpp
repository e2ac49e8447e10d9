// The program makes nonblocking and persistent calls on memory of all kinds: many are outstanding on several communicators, blocking calls come
// between them, and each rank completes them in an order of its own.
//
//   device_pending [ROUNDS]

#include <unistd.h>

#include <memory>

#include "device_exchange.h"

namespace {

using namespace device_test;

constexpr std::size_t kBlockBytes[] = {16, 5000, 1000, 40000, 64, 300000, 8, 200, 70000, 0, 3 << 20, 16};
constexpr Kind kOften[] = {Kind::device, Kind::device, Kind::pool_shared, Kind::device, Kind::chunks, Kind::inside, Kind::pinned, Kind::host};
constexpr int kOutstanding = 12, kPersistent = 4, kTag = 5;

Kind often(std::uint64_t number) { return kOften[mix(number) % std::size(kOften)]; }

struct Request {
  std::unique_ptr<Exchange> exchange;
  MPI_Request request = MPI_REQUEST_NULL;
};

// The exchange is the same on all ranks except where their buffers lie, now and then.
std::unique_ptr<Exchange> make_exchange(std::uint64_t number, MPI_Comm comm) {
  const std::uint64_t own = number % 4 == 0 ? static_cast<unsigned>(rank) * 7919u : 0;
  Call call{kBlockBytes[mix(number) % std::size(kBlockBytes)], often(2 * number + own), often(2 * number + 1 + own), number % 5 == 0};
  call.comm = comm;
  return std::make_unique<Exchange>(call);
}

void must(int code, const char* what) {
  if (code != MPI_SUCCESS) complain("%s: error %d", what, code);
}

// Completes all requests, one after the other in an order of this rank's.
void complete(std::vector<Request>& all, std::uint64_t round, const char* what) {
  std::vector<MPI_Request> requests;
  for (Request& one : all) requests.push_back(one.request);
  for (std::size_t left = all.size(); left > 0; --left) {
    int which = MPI_UNDEFINED;
    if (mix(round + left + static_cast<unsigned>(rank)) % 3 == 0) usleep(200);
    must(MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &which, MPI_STATUS_IGNORE), what);
    if (which == MPI_UNDEFINED) return complain("%s: round %lu: nothing to wait for", what, static_cast<unsigned long>(round));
    all[static_cast<std::size_t>(which)].exchange->check(what);
  }
}

void nonblocking_round(std::uint64_t round, const std::vector<MPI_Comm>& comms) {
  std::vector<Request> all(1 + mix(round) % kOutstanding);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].exchange = make_exchange(round * 100 + i, comms[mix(round + i) % comms.size()]);
    all[i].exchange->fill(round * 100 + i);
    if (mix(round + 3 * i + static_cast<unsigned>(rank)) % 8 == 0) usleep(300);
    must(all[i].exchange->start(&all[i].request), "MPI_Ialltoall");
    if (mix(round + 7 * i) % 10 == 0) (void)make_exchange(round * 100 + 50 + i, comms[0])->once(round * 100 + 50 + i, "blocking, between");
  }
  complete(all, round, "nonblocking");
}

#if HAVE_PERSISTENT
void persistent_rounds(MPI_Comm comm, std::uint64_t rounds) {
  std::vector<Request> all(kPersistent);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].exchange = make_exchange(i, comm);
    must(all[i].exchange->init(&all[i].request), "MPI_Alltoall_init");
  }
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].exchange->fill(1'000'000 + round * 100 + i);
      must(MPI_Start(&all[i].request), "MPI_Start");
    }
    complete(all, round, "persistent");
  }
  for (Request& one : all) must(MPI_Request_free(&one.request), "MPI_Request_free");
}
#else
void persistent_rounds(MPI_Comm, std::uint64_t) {
  if (rank == 0) std::printf("this MPI library has no persistent collectives: those are left out\n");
}
#endif

// Rank 0 waits for a message that the others send when they have what they need of rank 0.
void progress(std::uint64_t round, MPI_Comm comm) {
  Request one;
  one.exchange = make_exchange(round, comm);
  one.exchange->fill(round);
  int token = 0;
  must(one.exchange->start(&one.request), "MPI_Ialltoall");
  for (int from = 1; rank == 0 && from < size; ++from) {
    must(MPI_Recv(&token, 1, MPI_INT, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
  }
  must(MPI_Wait(&one.request, MPI_STATUS_IGNORE), "MPI_Wait");
  if (rank != 0) must(MPI_Send(&token, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD), "MPI_Send");
  one.exchange->check("while rank 0 is in MPI_Recv");
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  const auto rounds = static_cast<std::uint64_t>(argc > 1 ? std::atol(argv[1]) : 200);
  std::vector<MPI_Comm> comms(3);
  for (MPI_Comm& comm : comms) must(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    nonblocking_round(round, comms);
    if (round % 4 == 0) progress(2'000'000 + round, comms[round % comms.size()]);
  }
  persistent_rounds(comms[1], rounds / 4);
  for (MPI_Comm& comm : comms) must(MPI_Comm_free(&comm), "MPI_Comm_free");
  return finish("device_pending");
}
