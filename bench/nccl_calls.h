// The ranks, the libraries and the calls of nccl_calls.
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace nccl_calls {

constexpr int kCalls = 20, kMostRanks = 16, kContenders = 2;
const char* const kNames[kContenders] = {"nccl", "crossrail"};

struct Options {
  const char* libraries[kContenders] = {nullptr, nullptr};
  int ranks = 0, turns = 15;
  std::string only;
  std::size_t from = 1024, to = std::size_t{64} << 20;
};

// The ranks share this.
struct Shared {
  ncclUniqueId ids[kContenders];
  std::atomic<int> come[2];
  std::atomic<unsigned> round;
  double times[kMostRanks];
};
inline Shared* shared;
inline int rank, ranks;

inline void require(bool right, const char* what, const char* why = "") {
  if (right) return;
  std::fprintf(stderr, "rank %d: %s %s\n", rank, what, why);
  std::_Exit(1);
}
inline void require(cudaError_t result, const char* what) { require(result == cudaSuccess, what, cudaGetErrorString(result)); }
inline void require(ncclResult_t result, const char* what) { require(result == ncclSuccess, what, result == ncclSuccess ? "" : "NCCL's call has failed"); }

inline void barrier() {
  const unsigned round = shared->round.load();
  std::atomic<int>& come = shared->come[round % 2];
  if (come.fetch_add(1) + 1 == ranks) {
    come = 0;
    shared->round.fetch_add(1);
    return;
  }
  while (shared->round.load() == round) {}
}

inline double slowest(double mine) {
  shared->times[rank] = mine;
  barrier();
  const double most = *std::max_element(shared->times, shared->times + ranks);
  barrier();
  return most;
}

struct Library {
  decltype(&ncclGetUniqueId) make_id;
  decltype(&ncclCommInitRank) init;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclAllGather) all_gather;
  decltype(&ncclReduceScatter) reduce_scatter;
  decltype(&ncclAlltoAll) all_to_all;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) recv;
  decltype(&ncclGroupStart) begin;
  decltype(&ncclGroupEnd) end;
  ncclComm_t comm = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  require(function != nullptr, "the library lacks", name);
}

inline Library load(const char* path) {
  void* const opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  require(opened != nullptr, "cannot load", path);
  Library library;
  find(opened, "ncclGetUniqueId", library.make_id);
  find(opened, "ncclCommInitRank", library.init);
  find(opened, "ncclAllReduce", library.all_reduce);
  find(opened, "ncclAllGather", library.all_gather);
  find(opened, "ncclReduceScatter", library.reduce_scatter);
  find(opened, "ncclAlltoAll", library.all_to_all);
  find(opened, "ncclSend", library.send);
  find(opened, "ncclRecv", library.recv);
  find(opened, "ncclGroupStart", library.begin);
  find(opened, "ncclGroupEnd", library.end);
  return library;
}

// One call: `send` and `recv` have room for a block for each rank, or for one vector; `count` is in elements of 32 bits.
struct Buffers {
  int *send, *recv;
  std::size_t count;
};
using Call = std::function<void(const Library& library, const Buffers& at, cudaStream_t stream)>;

// A rank's counts differ from peer to peer: half as much again, or half as much.
inline std::size_t uneven(std::size_t count, int from, int to) { return (from + to) % 2 == 0 ? count + count / 2 : count - count / 2; }

inline void exchange(const Library& library, const Buffers& at, cudaStream_t stream, bool even) {
  require(library.begin(), "ncclGroupStart");
  std::size_t from = 0, to = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    const std::size_t sent = even ? at.count : uneven(at.count, rank, peer), received = even ? at.count : uneven(at.count, peer, rank);
    require(library.send(at.send + from, sent, ncclInt32, peer, library.comm, stream), "ncclSend");
    require(library.recv(at.recv + to, received, ncclInt32, peer, library.comm, stream), "ncclRecv");
    from += sent;
    to += received;
  }
  require(library.end(), "ncclGroupEnd");
}

// Each rank sends to the next one.
inline void shift(const Library& library, const Buffers& at, cudaStream_t stream) {
  require(library.begin(), "ncclGroupStart");
  require(library.send(at.send, at.count, ncclInt32, (rank + 1) % ranks, library.comm, stream), "ncclSend");
  require(library.recv(at.recv, at.count, ncclInt32, (rank + ranks - 1) % ranks, library.comm, stream), "ncclRecv");
  require(library.end(), "ncclGroupEnd");
}

struct Collective {
  const char* name;
  Call call;
  bool of_floats = false;
};
inline const Collective kCollectives[] = {
    {"all_reduce", [](const Library& l, const Buffers& b, cudaStream_t s) { require(l.all_reduce(b.send, b.recv, b.count, ncclInt32, ncclSum, l.comm, s), "ncclAllReduce"); }},
    {"all_reduce_bf16", [](const Library& l, const Buffers& b, cudaStream_t s) { require(l.all_reduce(b.send, b.recv, 2 * b.count, ncclBfloat16, ncclSum, l.comm, s), "ncclAllReduce"); }, true},
    {"all_reduce_avg", [](const Library& l, const Buffers& b, cudaStream_t s) { require(l.all_reduce(b.send, b.recv, b.count, ncclFloat32, ncclAvg, l.comm, s), "ncclAllReduce"); }, true},
    {"all_gather", [](const Library& l, const Buffers& b, cudaStream_t s) { require(l.all_gather(b.send, b.recv, b.count, ncclInt32, l.comm, s), "ncclAllGather"); }},
    {"reduce_scatter", [](const Library& l, const Buffers& b, cudaStream_t s) { require(l.reduce_scatter(b.send, b.recv, b.count, ncclInt32, ncclSum, l.comm, s), "ncclReduceScatter"); }},
    {"all_to_all", [](const Library& l, const Buffers& b, cudaStream_t s) { require(l.all_to_all(b.send, b.recv, b.count, ncclInt32, l.comm, s), "ncclAlltoAll"); }},
    {"send_recv", [](const Library& l, const Buffers& b, cudaStream_t s) { exchange(l, b, s, true); }},
    {"send_recv_uneven", [](const Library& l, const Buffers& b, cudaStream_t s) { exchange(l, b, s, false); }},
    {"shift", shift},
};

}  // namespace nccl_calls
