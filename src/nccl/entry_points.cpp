#include "nccl/entry_points.h"

#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "nccl/groups.h"
#include "nccl/real.h"

namespace crossrail::nccl {
namespace {

Result all_reduce(const void* send, void* recv, std::size_t count, Type type, Operation operation, Comm comm, Stream stream) {
  return make_or_keep({Collective::allreduce, send, recv, count, type, operation, comm, stream});
}
Result all_gather(const void* send, void* recv, std::size_t count, Type type, Comm comm, Stream stream) {
  return make_or_keep({Collective::allgather, send, recv, count, type, Operation::sum, comm, stream});
}
Result reduce_scatter(const void* send, void* recv, std::size_t count, Type type, Operation operation, Comm comm, Stream stream) {
  return make_or_keep({Collective::reduce_scatter_block, send, recv, count, type, operation, comm, stream});
}
Result all_to_all(const void* send, void* recv, std::size_t count, Type type, Comm comm, Stream stream) {
  return make_or_keep({Collective::alltoall, send, recv, count, type, Operation::sum, comm, stream});
}

Result group_end() { return nccl::group_end(real().ncclGroupEnd); }
Result group_simulate_end(void* facts) {
  return nccl::group_end([facts] { return real().ncclGroupSimulateEnd(facts); });
}

// The rank comes to the gathering before NCCL is called, in which it waits for the others.
Making making(Comm* comm, const Key& key, int rank, int size) { return {comm, key, rank, size, Gathering::come(key, size)}; }

Result init_rank(Comm* comm, int size, UniqueId id, int rank) {
  Making one = making(comm, key_of(&id, sizeof id), rank, size);
  return made_or_keep(std::move(one), real().ncclCommInitRank(comm, size, id, rank));
}
Result init_rank_config(Comm* comm, int size, UniqueId id, int rank, void* config) {
  Making one = making(comm, key_of(&id, sizeof id), rank, size);
  return made_or_keep(std::move(one), real().ncclCommInitRankConfig(comm, size, id, rank, config));
}
Result init_rank_scalable(Comm* comm, int size, int rank, int id_count, UniqueId* ids, void* config) {
  const bool usable = ids != nullptr && id_count > 0;
  if (!usable) return real().ncclCommInitRankScalable(comm, size, rank, id_count, ids, config);
  Making one = making(comm, key_of(ids, sizeof *ids * static_cast<std::size_t>(id_count)), rank, size);
  return made_or_keep(std::move(one), real().ncclCommInitRankScalable(comm, size, rank, id_count, ids, config));
}

// Returns the key of a communicator that all ranks of `parent` make next, or those of one colour. All of them count alike.
bool next_child(Comm parent, std::uint64_t colour, Key& key, int& most_ranks) {
  Record* const record = find(parent);
  if (record == nullptr) return false;
  if (record->size == 0 && real().ncclCommCount(parent, &record->size) != Result::success) return false;
  if (record->rank < 0 && real().ncclCommUserRank(parent, &record->rank) != Result::success) return false;
  key = record->key.child(++record->children, colour);
  most_ranks = record->size;
  return true;
}

Making child(Comm* comm, const Key& key, int most_ranks) { return {comm, key, -1, 0, Gathering::come(key, most_ranks)}; }

Result split(Comm parent, int colour, int order, Comm* comm, void* config) {
  Key key;
  int most_ranks = 0;
  const bool known = next_child(parent, static_cast<std::uint64_t>(colour), key, most_ranks);
  if (!known || colour == kNoColour) return real().ncclCommSplit(parent, colour, order, comm, config);
  Making one = child(comm, key, most_ranks);
  return made_or_keep(std::move(one), real().ncclCommSplit(parent, colour, order, comm, config));
}

// Those who are left out do not call.
Result shrink(Comm parent, int* left_out, int count, Comm* comm, void* config, int flags) {
  constexpr std::uint64_t kShrunk = ~std::uint64_t{0};
  constexpr int kAbort = 1;
  Key key;
  int most_ranks = 0;
  const bool known = next_child(parent, kShrunk, key, most_ranks);
  if ((flags & kAbort) != 0) remove(parent, true);
  if (!known) return real().ncclCommShrink(parent, left_out, count, comm, config, flags);
  Making one = child(comm, key, most_ranks);
  return made_or_keep(std::move(one), real().ncclCommShrink(parent, left_out, count, comm, config, flags));
}

Result destroy(Comm comm) {
  remove(comm, false);
  return real().ncclCommDestroy(comm);
}
Result abort(Comm comm) {
  remove(comm, true);
  return real().ncclCommAbort(comm);
}
Result revoke(Comm comm, int flags) {
  remove(comm, true);
  return real().ncclCommRevoke(comm, flags);
}

Result async_error(Comm comm, Result* error) {
  const Result result = real().ncclCommGetAsyncError(comm, error);
  Record* const record = find(comm);
  if (result != Result::success || record == nullptr || error == nullptr || *error != Result::success) return result;
  const std::unique_lock lock(record->mutex, std::try_to_lock);  // A program's watchdog asks while another thread may be in a call.
  if (!lock.owns_lock()) return result;
  const bool lost = record->open && !record->communicator->slot().devices->streams().check_peers().ok();
  *error = lost ? Result::remote_error : record->error;
  return result;
}

struct Named {
  const char* name;
  void* function;
};
template <class Function>
Named named(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

const std::vector<Named>& functions() {
  static const std::vector<Named> all = {
      named("ncclAllReduce", all_reduce),
      named("ncclAllGather", all_gather),
      named("ncclReduceScatter", reduce_scatter),
      named("ncclAlltoAll", all_to_all),
      named("ncclGroupStart", group_start),
      named("ncclGroupEnd", static_cast<Result (*)()>(group_end)),
      named("ncclGroupSimulateEnd", group_simulate_end),
      named("ncclCommInitRank", init_rank),
      named("ncclCommInitRankConfig", init_rank_config),
      named("ncclCommInitRankScalable", init_rank_scalable),
      named("ncclCommSplit", split),
      named("ncclCommShrink", shrink),
      named("ncclCommDestroy", destroy),
      named("ncclCommAbort", static_cast<Result (*)(Comm)>(abort)),
      named("ncclCommRevoke", revoke),
      named("ncclCommGetAsyncError", async_error),
  };
  return all;
}

}  // namespace

void* own_function(const char* name) {
  const char* const plain = name[0] == 'p' ? name + 1 : name;  // Tools that wrap NCCL's functions call the others.
  for (const Named& one : functions()) {
    if (std::strcmp(one.name, plain) == 0) return one.function;
  }
  return nullptr;
}

}  // namespace crossrail::nccl
