// A program may expect this of its memory: freed memory is free, memory of several chunks and many buffers are mapped once, stream calls may have
// many buffers, vectors go by the MPI library where nothing else is left, and programs that allocate, call and free again and again do not grow.
//
//   device_owners free      more than half of the device, twice
//   device_owners arena     most of the device as one allocation, of which calls use parts; freed and had again
//   device_owners chunks    memory of several chunks, used again and again
//   device_owners many      many receive buffers in turn, in calls that wait and in streams
//   device_owners copies    pageable memory copied to memory that cannot be told to wait for that
//   device_owners native    MPI_Alltoallv and w that crossrail leaves to an MPI library without CUDA
//   device_owners growth    allocate, call, free: 2000 rounds, or DEVICE_GROWTH_ROUNDS

#include <fstream>
#include <memory>

#include "device_exchange.h"

#include "crossrail/crossrail.h"

namespace {

using namespace device_test;

constexpr std::size_t kMiB = 1 << 20;
std::uint64_t rounds;

double us_of(Exchange& exchange, int calls) {
  const double began = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    if (exchange.run() != MPI_SUCCESS) complain("an error");
  }
  return (MPI_Wtime() - began) * 1e6 / calls;
}

std::size_t free_bytes() {
  std::size_t now = 0, all = 0;
  require(cudaMemGetInfo(&now, &all), "cudaMemGetInfo");
  return now;
}

// The second time there is only room if nobody holds what was freed.
void freed_memory_is_free() {
  if (size > devices) return;
  const std::size_t bytes = free_bytes() / 10 * 6 / static_cast<std::size_t>(size) / kMiB * kMiB;
  const int count = static_cast<int>(bytes / kMiB);
  MPI_Datatype mib = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(kMiB), MPI_BYTE, &mib);
  MPI_Type_commit(&mib);
  void* send = nullptr;
  require(cudaMalloc(&send, kMiB), "cudaMalloc");
  for (int again = 0; again < 3; ++again) {
    void* recv = nullptr;
    const cudaError_t made = cudaMalloc(&recv, bytes * static_cast<std::size_t>(size));
    if (made != cudaSuccess) complain("time %d: %s, %zu MiB free", again, cudaGetErrorString(made), free_bytes() / kMiB);
    if (made != cudaSuccess) MPI_Abort(MPI_COMM_WORLD, 4);
    // This makes as many calls as it takes until it is mapped, of a little of it.
    for (int call = 0; call < 6; ++call) {
      char* const end = static_cast<char*>(recv) + bytes * static_cast<std::size_t>(size - 1);
      if (MPI_Alltoall(send, 4096, MPI_BYTE, end, 4096, MPI_BYTE, MPI_COMM_WORLD) != MPI_SUCCESS) complain("an error");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(5000);
    require(cudaFree(recv), "cudaFree");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) std::printf("%d MiB a block\n", count);
  MPI_Type_free(&mib);
  require(cudaFree(send), "cudaFree");
}

// Programs with a pool of their own have most of the device as one allocation. Calls on parts of it must be as quick as calls on small allocations, and
// once the program has freed it and the ranks have met, there is room for the next one.
constexpr std::size_t kArenaBlock = 65536;

double us_of_calls(const void* send, void* recv) {
  constexpr int kCalls = 200, kBytes = static_cast<int>(kArenaBlock);
  const double began = MPI_Wtime();
  for (int call = 0; call < kCalls; ++call) {
    if (MPI_Alltoall(send, kBytes, MPI_BYTE, recv, kBytes, MPI_BYTE, MPI_COMM_WORLD) != MPI_SUCCESS) complain("an error");
  }
  return (MPI_Wtime() - began) * 1e6 / kCalls;
}

// One call with fresh data, compared with the definition.
void call_in_arena(char* send, char* recv) {
  const std::size_t part = kArenaBlock * static_cast<std::size_t>(size);
  std::vector<unsigned char> content(part), got(part), right(part);
  ++rounds;
  for (int peer = 0; peer < size; ++peer) {
    const std::size_t at = static_cast<std::size_t>(peer) * kArenaBlock;
    fill_random(content.data() + at, kArenaBlock, block_key(rounds, rank, peer));
    fill_random(right.data() + at, kArenaBlock, block_key(rounds, peer, rank));
  }
  require(cudaMemcpy(send, content.data(), part, cudaMemcpyHostToDevice), "to the device");
  require(cudaMemset(recv, 0xC3, part), "poison");
  require(cudaDeviceSynchronize(), "device");
  if (MPI_Alltoall(send, static_cast<int>(kArenaBlock), MPI_BYTE, recv, static_cast<int>(kArenaBlock), MPI_BYTE, MPI_COMM_WORLD) != MPI_SUCCESS) complain("an error");
  require(cudaMemcpy(got.data(), recv, part, cudaMemcpyDeviceToHost), "to the host");
  if (got != right) complain("a call in an arena, round %lu", static_cast<unsigned long>(rounds));
}

void arenas_are_mapped_once() {
  const int sharing = (size + devices - 1) / devices;
  Exchange small({kArenaBlock, Kind::device, Kind::device});
  us_of(small, 50);
  const std::size_t bytes = free_bytes() / 100 * 85 / static_cast<std::size_t>(sharing);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int again = 0; again < 3; ++again) {
    char* arena = nullptr;
    const cudaError_t made = cudaMalloc(reinterpret_cast<void**>(&arena), bytes);
    if (made != cudaSuccess) complain("time %d: %s, %zu MiB free", again, cudaGetErrorString(made), free_bytes() / kMiB);
    if (made != cudaSuccess) MPI_Abort(MPI_COMM_WORLD, 4);
    char* const send = arena + bytes / 7 / 256 * 256;
    char* const recv = arena + bytes / 2 / 256 * 256;
    for (std::size_t call = 0; call < 20; ++call) call_in_arena(send + call * 3'000'016, recv + call * 3'000'016);
    us_of_calls(send, recv);  // What was staged in the first calls is given back some calls later.
    const double in_arena = us_of_calls(send, recv), apart = us_of(small, 200);
    if (rank == 0) std::printf("an arena of %zu MiB: %.1f us a call, small allocations %.1f us\n", bytes / kMiB, in_arena, apart);
    if (size <= devices && in_arena > 2 * apart + 20) complain("an arena: %.0f us a call, small allocations %.0f", in_arena, apart);
    require(cudaFree(arena), "cudaFree");
    const double began = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::printf("the peers have unmapped it %.1f ms later\n", (MPI_Wtime() - began) * 1e3);
  }
}

void chunks_stay_mapped() {
  Exchange plain({64 * 1024, Kind::device, Kind::device}), chunks({3 * kMiB, Kind::chunks, Kind::chunks}), small({64 * 1024, Kind::chunks, Kind::chunks});
  for (Exchange* one : {&plain, &chunks, &small}) {
    for (int i = 0; i < 5; ++i) one->once(++rounds, "chunks");
  }
  us_of(plain, 50);
  us_of(small, 50);
  const double of_plain = us_of(plain, 200), of_chunks = us_of(small, 200);
  for (int i = 0; i < 40; ++i) chunks.once(++rounds, "chunks again");
  if (rank == 0) std::printf("64 KiB: %.1f us, of several chunks %.1f us\n", of_plain, of_chunks);
  if (size <= devices && of_chunks > 10 * of_plain + 100) complain("memory of several chunks: %.0f us a call, plain memory %.0f", of_chunks, of_plain);
}

using OnStream = decltype(&crossrail_alltoall_on_stream);

void many_buffers() {
  constexpr int kCount = 100;
  std::vector<std::unique_ptr<Exchange>> all;
  for (int i = 0; i < kCount; ++i) all.push_back(std::make_unique<Exchange>(Call{2 * kMiB / 100, Kind::device, Kind::device}));
  for (int again = 0; again < 5; ++again) {
    for (const auto& one : all) one->once(++rounds, "many buffers");
  }
  const double began = MPI_Wtime();
  for (const auto& one : all) one->run();
  const double each = (MPI_Wtime() - began) * 1e6 / kCount, same = us_of(*all.front(), 100);
  if (rank == 0) std::printf("%d buffers in turn: %.1f us, the same always: %.1f us\n", kCount, each, same);
  if (size <= devices && each > 5 * same + 50) complain("many buffers: %.0f us a call, one buffer %.0f", each, same);
}

void many_in_streams() {
  const auto on_stream = reinterpret_cast<OnStream>(dlsym(RTLD_DEFAULT, "crossrail_alltoall_on_stream"));
  if (on_stream == nullptr || !kernels_run_at_once()) return;
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  const std::size_t ints = 16384 * static_cast<std::size_t>(size);
  int* send = nullptr;
  require(cudaMalloc(reinterpret_cast<void**>(&send), ints * sizeof(int)), "cudaMalloc");
  std::vector<int> content(ints, 1000 + rank), got(ints);
  require(cudaMemcpy(send, content.data(), ints * sizeof(int), cudaMemcpyHostToDevice), "to the device");
  require(cudaDeviceSynchronize(), "device");
  std::vector<int*> all(1000);
  for (int*& recv : all) {
    require(cudaMalloc(reinterpret_cast<void**>(&recv), ints * sizeof(int)), "cudaMalloc");
    if (on_stream(send, 16384, MPI_INT, recv, 16384, MPI_INT, MPI_COMM_WORLD, stream) != MPI_SUCCESS) complain("a stream call is refused");
  }
  for (int* recv : all) {  // They are mapped by now.
    if (on_stream(send, 16384, MPI_INT, recv, 16384, MPI_INT, MPI_COMM_WORLD, stream) != MPI_SUCCESS) complain("a stream call is refused");
  }
  for (int* recv : all) {
    require(cudaMemcpyAsync(got.data(), recv, ints * sizeof(int), cudaMemcpyDeviceToHost, stream), "to the host");
    require(cudaStreamSynchronize(stream), "stream");
    for (std::size_t at = 0; at < ints; ++at) {
      if (got[at] != 1000 + static_cast<int>(at / 16384)) return complain("a stream call: wrong at %zu", at);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Exchange beside({65536, Kind::device, Kind::device});
  for (int i = 0; i < 4; ++i) beside.once(++rounds, "after stream calls");
  if (std::strncmp(last_algorithm(), "node", 4) == 0) complain("calls go by host memory after stream calls");
  for (int* recv : all) require(cudaFree(recv), "cudaFree");
  require(cudaFree(send), "cudaFree");
}

// cudaMemcpy from pageable memory returns before the copy has ended; a call begins at once.
void copies_are_not_overtaken() {
  for (const Kind kind : {Kind::device, Kind::chunks, Kind::pool_default}) {
    const std::size_t block = 16384, bytes = block * static_cast<std::size_t>(size);
    Memory send(bytes, kind), recv(bytes, Kind::device);
    std::vector<unsigned char> content(bytes), got(bytes);
    for (int round = 1; round <= 200; ++round) {
      std::fill(content.begin(), content.end(), static_cast<unsigned char>(round));
      require(cudaMemcpy(send.address, content.data(), bytes, cudaMemcpyHostToDevice), "to the device");
      if (MPI_Alltoall(send.address, static_cast<int>(block), MPI_BYTE, recv.address, static_cast<int>(block), MPI_BYTE, MPI_COMM_WORLD) != MPI_SUCCESS) complain("an error");
      got = recv.read();
      if (got != content) complain("%s: a copy in round %d was overtaken", name_of(kind), round);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
}

void vectors_on(MPI_Comm comm, std::size_t block) {
  const int ranks = static_cast<int>(members_of(comm).size()), each = static_cast<int>(block);
  const std::size_t bytes = block * static_cast<std::size_t>(ranks);
  Memory send(bytes, Kind::device), recv(bytes, Kind::device);
  send.write(std::vector<unsigned char>(bytes, 7));
  std::vector<int> counts(static_cast<std::size_t>(ranks), each), offsets;
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(ranks), MPI_BYTE);
  for (int i = 0; i < ranks; ++i) offsets.push_back(i * each);
  for (const bool w : {false, true}) {
    recv.write(std::vector<unsigned char>(bytes, 9));
    const int code = w ? MPI_Alltoallw(send.address, counts.data(), offsets.data(), types.data(), recv.address, counts.data(), offsets.data(), types.data(), comm)
                       : MPI_Alltoallv(send.address, counts.data(), offsets.data(), MPI_BYTE, recv.address, counts.data(), offsets.data(), MPI_BYTE, comm);
    if (code != MPI_SUCCESS || recv.read() != std::vector<unsigned char>(bytes, 7)) complain("a vector on %d ranks", ranks);
  }
}

void vectors_left_to_mpi() {
  const auto set = reinterpret_cast<int (*)(const char*, const char*)>(dlsym(RTLD_DEFAULT, "crossrail_set"));
  for (int again = 0; again < 3; ++again) vectors_on(MPI_COMM_SELF, 1000);
  if (set != nullptr) (void)set("CROSSRAIL_ALLTOALLV", "native");
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int again = 0; again < 3; ++again) vectors_on(comm, 5000);
  MPI_Comm_free(&comm);
}

long resident_kib() {
  std::ifstream file("/proc/self/statm");
  long all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4;
}

// Every other round the memory is used often enough to be mapped.
void grow_round(int round) {
  const std::size_t bytes = std::size_t{1} << (4 + round % 17);
  const Kind kinds[] = {Kind::device, Kind::device, Kind::pool_default, Kind::chunks};
  Exchange exchange({bytes, Kind::device, kinds[round / 2 % 4]});
  exchange.once(++rounds, "growth");
  for (int i = 0; i < round % 2 * 4; ++i) exchange.run();
  if (round % 50 != 0) return;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  Call call{bytes, Kind::device, Kind::device, round % 100 == 0};
  call.comm = comm;
  Exchange(call).once(++rounds, "growth");
  MPI_Comm_free(&comm);
}

void nothing_grows() {
  const char* wanted = std::getenv("DEVICE_GROWTH_ROUNDS");
  const int count = wanted == nullptr ? 2000 : std::atoi(wanted);
  Use before;
  long resident = 0;
  for (int round = 0; round < count; ++round) {
    if (round == count / 4) before = use_now(), resident = resident_kib();
    grow_round(round);
  }
  usleep(20000);
  check_use(before, use_now());
  const long more = resident_kib() - resident;
  if (rank == 0) std::printf("%d rounds: the process has %ld KiB more\n", count, more);
  if (more > 64 * 1024) complain("the process grows: %ld KiB", more);
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "free") freed_memory_is_free();
  if (mode == "arena") arenas_are_mapped_once();
  if (mode == "chunks") chunks_stay_mapped();
  if (mode == "many") many_buffers(), many_in_streams();
  if (mode == "copies") copies_are_not_overtaken();
  if (mode == "native") vectors_left_to_mpi();
  if (mode == "growth") nothing_grows();
  return finish(("device_owners " + mode).c_str());
}
