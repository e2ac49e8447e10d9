// These contenders are NCCL (../peer.h), with data usable on return, as in MPI:
//   nccl_send_recv            grouped ncclSend and ncclRecv, which NCCL's users wrote before ncclAlltoAll existed
//   nccl_send_recv_vector     the same for MPI_Alltoallv
//   nccl_alltoall             ncclAlltoAll (2.28) on memory that NCCL does not know
//   nccl_symmetric            the same on memory of its own in symmetric windows, with copy engines (NCCL_CTA_POLICY_ZERO)
//   nccl_allreduce            ncclAllReduce of floats or bytes, on memory that NCCL does not know
//   nccl_symmetric_allreduce  the same in symmetric windows
//   nccl_alltoall_in_a_row, nccl_allreduce_in_a_row, nccl_send_recv_vector_in_a_row
//                             20 calls, then the stream is waited for; the time is that of one call

#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "in_a_row.h"
#include "nccl_library.h"

#define PEER extern "C" __attribute__((visibility("default")))

namespace {

using nccl_library::nccl;

bool went_wrong(const std::string& what) {
  std::fprintf(stderr, "nccl_peers: %s\n", what.c_str());
  return false;
}

bool fine(ncclResult_t result, const char* what) {
  return result == ncclSuccess || went_wrong(std::string(what) + ": " + nccl().text(result));
}

bool fine(cudaError_t result, const char* what) {
  return result == cudaSuccess || went_wrong(std::string(what) + ": " + cudaGetErrorString(result));
}

// A Record belongs to an MPI communicator.
struct Record {
  int rank = 0, ranks = 1;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  bool works = false;
};

bool everyone(bool mine, MPI_Comm comm) {
  int all = mine;
  PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
  return all != 0;
}

bool open(Record& record, MPI_Comm comm, bool copy_engines) {
  PMPI_Comm_rank(comm, &record.rank);
  PMPI_Comm_size(comm, &record.ranks);
  const bool loaded = nccl().problem.empty();
  if (!loaded && record.rank == 0) went_wrong(nccl().problem);
  if (!everyone(loaded, comm)) return false;
  ncclUniqueId id{};
  bool known = record.rank != 0 || fine(nccl().make_id(&id), "ncclGetUniqueId");
  if (!everyone(known, comm)) return false;
  PMPI_Bcast(&id, sizeof id, MPI_BYTE, 0, comm);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (copy_engines) config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
  const bool opened = fine(nccl().open(&record.comm, record.ranks, id, record.rank, &config), "ncclCommInitRankConfig") &&
                      fine(cudaStreamCreateWithFlags(&record.stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return everyone(opened, comm);
}

// It is made at the first call on a communicator.
Record& record_of(MPI_Comm comm, bool copy_engines) {
  static std::map<MPI_Comm, Record> records;
  const auto [at, fresh] = records.try_emplace(comm);
  if (fresh) at->second.works = open(at->second, comm, copy_engines);
  return at->second;
}

std::size_t bytes_of(int count, MPI_Datatype type) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes);
}

bool wait(const Record& record) { return fine(cudaStreamSynchronize(record.stream), "cudaStreamSynchronize"); }

int finish(const Record& record, ncclResult_t result, const char* what) {
  const bool done = fine(result, what) && wait(record);
  return done ? MPI_SUCCESS : MPI_ERR_OTHER;
}

const char* version() {
  static std::string text;
  int number = 0;
  if (nccl().problem.empty() && nccl().version(&number) == ncclSuccess) {
    text = "NCCL " + std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
  }
  return text.c_str();
}

struct Block {
  char* at;
  std::size_t bytes;
};

// For a peer, each function returns the block that is sent to it or received from it; empty blocks are left out.
template <typename Out, typename In>
ncclResult_t enqueue_send_recv(const Record& record, Out out, In in) {
  ncclResult_t result = nccl().begin();
  for (int peer = 0; peer < record.ranks && result == ncclSuccess; ++peer) {
    const Block sent = out(peer), received = in(peer);
    if (sent.bytes > 0) result = nccl().send(sent.at, sent.bytes, ncclInt8, peer, record.comm, record.stream);
    if (result == ncclSuccess && received.bytes > 0) result = nccl().receive(received.at, received.bytes, ncclInt8, peer, record.comm, record.stream);
  }
  const ncclResult_t ended = nccl().end();
  return result == ncclSuccess ? ended : result;
}

template <typename Out, typename In>
int call_send_recv(MPI_Comm comm, Out out, In in) {
  const Record& record = record_of(comm, false);
  return record.works ? finish(record, enqueue_send_recv(record, out, in), "ncclSend and ncclRecv") : MPI_ERR_OTHER;
}

auto blocks_of(const void* buffer, const int* lengths, const int* starts, MPI_Datatype of) {
  return [=](int peer) { return Block{const_cast<char*>(static_cast<const char*>(buffer)) + bytes_of(starts[peer], of), bytes_of(lengths[peer], of)}; };
}

ncclResult_t enqueue_alltoall(const Record& record, const void* send, void* recv, std::size_t bytes) {
  return nccl().alltoall(send, recv, bytes, ncclInt8, record.comm, record.stream);
}

// The bench makes sums of floats and of bytes.
ncclResult_t enqueue_allreduce(const Record& record, const void* send, void* recv, int count, MPI_Datatype type) {
  const bool floats = type == MPI_FLOAT;
  if (!floats && type != MPI_UNSIGNED_CHAR) {
    went_wrong("sums of floats and of unsigned bytes only");
    return ncclInvalidArgument;
  }
  return nccl().allreduce(send, recv, static_cast<std::size_t>(count), floats ? ncclFloat32 : ncclUint8, ncclSum, record.comm, record.stream);
}

int call_allreduce(const Record& record, const void* send, void* recv, int count, MPI_Datatype type) {
  return finish(record, enqueue_allreduce(record, send, recv, count, type), "ncclAllReduce");
}

int call_alltoall(const Record& record, const void* send, void* recv, std::size_t bytes) {
  return finish(record, enqueue_alltoall(record, send, recv, bytes), "ncclAlltoAll");
}

bool has_alltoall() { return nccl().alltoall != nullptr || went_wrong("ncclAlltoAll needs NCCL 2.28"); }

double seconds_of_alltoall, seconds_of_allreduce, seconds_of_send_recv;

// It is memory of nccl_symmetric_alloc.
struct Allocation {
  std::size_t bytes;
  std::vector<std::pair<ncclComm_t, ncclWindow_t>> windows;
};
std::map<void*, Allocation> allocations;

bool has_windows() {
  const bool there = nccl().problem.empty() && nccl().alltoall != nullptr && nccl().allocate != nullptr && nccl().release != nullptr &&
                     nccl().add_window != nullptr && nccl().remove_window != nullptr;
  return there || went_wrong(nccl().problem.empty() ? "symmetric windows need NCCL 2.28" : nccl().problem);
}

// All ranks register the same allocations in the same order, since they get them in that order. A buffer may be a slice of one.
bool in_window(const Record& record, void* memory) {
  auto at = allocations.upper_bound(memory);
  if (at == allocations.begin() || static_cast<char*>((--at)->first) + at->second.bytes <= static_cast<char*>(memory)) return went_wrong("symmetric windows need memory of nccl_symmetric_alloc");
  for (const auto& [comm, window] : at->second.windows) {
    if (comm == record.comm) return true;
  }
  ncclWindow_t window = nullptr;
  const ncclResult_t result = nccl().add_window(record.comm, at->first, at->second.bytes, &window, NCCL_WIN_COLL_SYMMETRIC);
  if (!fine(result, "ncclCommWindowRegister")) return false;
  if (window == nullptr) return went_wrong("symmetric windows are not supported here");
  at->second.windows.emplace_back(record.comm, window);
  return true;
}

}  // namespace

PEER const char* nccl_send_recv_version() { return version(); }
PEER const char* nccl_send_recv_vector_version() { return version(); }
PEER const char* nccl_alltoall_version() { return version(); }
PEER const char* nccl_symmetric_version() { return version(); }
PEER const char* nccl_allreduce_version() { return version(); }
PEER const char* nccl_symmetric_allreduce_version() { return version(); }
PEER const char* nccl_alltoall_in_a_row_version() { return version(); }
PEER const char* nccl_allreduce_in_a_row_version() { return version(); }
PEER const char* nccl_send_recv_vector_in_a_row_version() { return version(); }

PEER int nccl_send_recv(const void* send, int count, MPI_Datatype type, void* recv, int, MPI_Datatype, MPI_Comm comm) {
  const std::size_t bytes = bytes_of(count, type);
  const auto block = [&](const void* buffer) { return [=](int peer) { return Block{const_cast<char*>(static_cast<const char*>(buffer)) + peer * bytes, bytes}; }; };
  return call_send_recv(comm, block(send), block(recv));
}

PEER int nccl_send_recv_vector(const void* send, const int* counts, const int* places, MPI_Datatype type, void* recv, const int* recv_counts,
                               const int* recv_places, MPI_Datatype recv_type, MPI_Comm comm) {
  return call_send_recv(comm, blocks_of(send, counts, places, type), blocks_of(recv, recv_counts, recv_places, recv_type));
}

PEER int nccl_send_recv_vector_in_a_row(const void* send, const int* counts, const int* places, MPI_Datatype type, void* recv, const int* recv_counts,
                                        const int* recv_places, MPI_Datatype recv_type, MPI_Comm comm) {
  const Record& record = record_of(comm, false);
  if (!record.works) return MPI_ERR_OTHER;
  const auto out = blocks_of(send, counts, places, type), in = blocks_of(recv, recv_counts, recv_places, recv_type);
  const auto enqueue = [&] { return fine(enqueue_send_recv(record, out, in), "ncclSend and ncclRecv"); };
  return in_a_row::measure(seconds_of_send_recv, enqueue, [&] { return wait(record); }) ? MPI_SUCCESS : MPI_ERR_OTHER;
}
PEER double nccl_send_recv_vector_in_a_row_seconds() { return seconds_of_send_recv; }

PEER int nccl_alltoall(const void* send, int count, MPI_Datatype type, void* recv, int, MPI_Datatype, MPI_Comm comm) {
  Record& record = record_of(comm, false);
  if (!record.works || !has_alltoall()) return MPI_ERR_OTHER;
  return call_alltoall(record, send, recv, bytes_of(count, type));
}

PEER int nccl_symmetric(const void* send, int count, MPI_Datatype type, void* recv, int, MPI_Datatype, MPI_Comm comm) {
  Record& record = record_of(comm, true);
  if (!record.works || !in_window(record, const_cast<void*>(send)) || !in_window(record, recv)) return MPI_ERR_OTHER;
  return call_alltoall(record, send, recv, bytes_of(count, type));
}

PEER int nccl_allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  Record& record = record_of(comm, false);
  return record.works ? call_allreduce(record, send, recv, count, type) : MPI_ERR_OTHER;
}

PEER int nccl_symmetric_allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  Record& record = record_of(comm, false);
  if (!record.works || !in_window(record, const_cast<void*>(send)) || !in_window(record, recv)) return MPI_ERR_OTHER;
  return call_allreduce(record, send, recv, count, type);
}

PEER int nccl_alltoall_in_a_row(const void* send, int count, MPI_Datatype type, void* recv, int, MPI_Datatype, MPI_Comm comm) {
  const Record& record = record_of(comm, false);
  if (!record.works || !has_alltoall()) return MPI_ERR_OTHER;
  const auto enqueue = [&] { return fine(enqueue_alltoall(record, send, recv, bytes_of(count, type)), "ncclAlltoAll"); };
  return in_a_row::measure(seconds_of_alltoall, enqueue, [&] { return wait(record); }) ? MPI_SUCCESS : MPI_ERR_OTHER;
}
PEER double nccl_alltoall_in_a_row_seconds() { return seconds_of_alltoall; }

PEER int nccl_allreduce_in_a_row(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  const Record& record = record_of(comm, false);
  if (!record.works) return MPI_ERR_OTHER;
  const auto enqueue = [&] { return fine(enqueue_allreduce(record, send, recv, count, type), "ncclAllReduce"); };
  return in_a_row::measure(seconds_of_allreduce, enqueue, [&] { return wait(record); }) ? MPI_SUCCESS : MPI_ERR_OTHER;
}
PEER double nccl_allreduce_in_a_row_seconds() { return seconds_of_allreduce; }

PEER void* nccl_symmetric_alloc(std::size_t bytes) {
  void* memory = nullptr;
  if (!has_windows() || !fine(nccl().allocate(&memory, bytes), "ncclMemAlloc")) return nullptr;
  allocations[memory] = {bytes, {}};
  return memory;
}

PEER void nccl_symmetric_free(void* memory) {
  // Copy engines of other ranks may still be writing to it.
  PMPI_Barrier(MPI_COMM_WORLD);
  const auto at = allocations.find(memory);
  if (at == allocations.end()) return;
  for (const auto& [comm, window] : at->second.windows) fine(nccl().remove_window(comm, window), "ncclCommWindowDeregister");
  fine(nccl().release(memory), "ncclMemFree");
  allocations.erase(at);
}

PEER void* nccl_symmetric_allreduce_alloc(std::size_t bytes) { return nccl_symmetric_alloc(bytes); }
PEER void nccl_symmetric_allreduce_free(void* memory) { nccl_symmetric_free(memory); }
