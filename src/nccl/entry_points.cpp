#include "nccl/entry_points.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "nccl/groups.h"
#include "nccl/real.h"

namespace crossrail::nccl {
namespace {

Result all_reduce(const void* send, void* recv, std::size_t count, Type type, Operation operation, Comm comm, Stream stream) {
  return make_or_keep(Call{Collective::allreduce, send, recv, count, type, operation, comm, stream});
}
Result all_gather(const void* send, void* recv, std::size_t count, Type type, Comm comm, Stream stream) {
  return make_or_keep(Call{Collective::allgather, send, recv, count, type, Operation::sum, comm, stream});
}
Result reduce_scatter(const void* send, void* recv, std::size_t count, Type type, Operation operation, Comm comm, Stream stream) {
  return make_or_keep(Call{Collective::reduce_scatter_block, send, recv, count, type, operation, comm, stream});
}
Result all_to_all(const void* send, void* recv, std::size_t count, Type type, Comm comm, Stream stream) {
  return make_or_keep(Call{Collective::alltoall, send, recv, count, type, Operation::sum, comm, stream});
}

Result send(const void* address, std::size_t count, Type type, int peer, Comm comm, Stream stream) {
  return make_or_keep(Message{Message::Way::send, const_cast<void*>(address), count, type, peer, comm, stream});
}
Result receive(void* address, std::size_t count, Type type, int peer, Comm comm, Stream stream) {
  return make_or_keep(Message{Message::Way::receive, address, count, type, peer, comm, stream});
}

// A communicator may have most CTAs from its configuration, otherwise from its parent or the environment, as NCCL has it.
int most_ctas_of(const Config* config, int of_parent) {
  if (config != nullptr && config->size >= sizeof(Config) && config->most_ctas > 0) return config->most_ctas;
  if (of_parent > 0) return of_parent;
  const char* const given = std::getenv("NCCL_MAX_CTAS");
  return given == nullptr ? 0 : std::max(0, std::atoi(given));
}

Result group_end() { return nccl::group_end(real().ncclGroupEnd); }

// The rank comes to the rendezvous before NCCL is called, in which it waits for the others.
std::unique_ptr<Record> come(const Key& key, int most_ranks, int most_ctas) {
  auto record = std::make_unique<Record>();
  record->key = key;
  record->most_ctas = most_ctas;
  record->rendezvous = Rendezvous::come(key, most_ranks);
  return record;
}

struct Numbers {
  int rank, size;
};
Making making(Comm* comm, const Key& key, const Numbers& numbers, const Config* config) {
  Making one{comm, come(key, numbers.size, most_ctas_of(config, 0))};
  one.record->rank = numbers.rank;
  one.record->size = numbers.size;
  return one;
}

Result init_rank(Comm* comm, int size, UniqueId id, int rank) {
  Making one = making(comm, key_of(&id, sizeof id), {rank, size}, nullptr);
  return made_or_keep(std::move(one), real().ncclCommInitRank(comm, size, id, rank));
}
Result init_rank_config(Comm* comm, int size, UniqueId id, int rank, const Config* config) {
  Making one = making(comm, key_of(&id, sizeof id), {rank, size}, config);
  return made_or_keep(std::move(one), real().ncclCommInitRankConfig(comm, size, id, rank, config));
}
Result init_rank_scalable(Comm* comm, int size, int rank, int id_count, UniqueId* ids, const Config* config) {
  const bool usable = ids != nullptr && id_count > 0;
  if (!usable) return real().ncclCommInitRankScalable(comm, size, rank, id_count, ids, config);
  Making one = making(comm, key_of(ids, sizeof *ids * static_cast<std::size_t>(id_count)), {rank, size}, config);
  return made_or_keep(std::move(one), real().ncclCommInitRankScalable(comm, size, rank, id_count, ids, config));
}

// All ranks of `parent` make a communicator next, or those of one colour do, and count alike. This rank comes to its rendezvous unless it has no
// part in it. Returns null if it has none, or if crossrail does not know the parent. NCCL tells later which ranks there are.
std::unique_ptr<Record> come_as_child(Comm parent, std::uint64_t colour, const Config* config, bool takes_part) {
  Record* const record = find(parent);
  if (record == nullptr || !knows_its_place(*record)) return nullptr;
  const Key key = record->key.child(++record->children, colour);
  return takes_part ? come(key, record->size, most_ctas_of(config, record->most_ctas)) : nullptr;
}
Result made_child(Comm* comm, std::unique_ptr<Record> record, Result result) {
  return record == nullptr ? result : made_or_keep({comm, std::move(record)}, result);
}

Result split(Comm parent, int colour, int order, Comm* comm, const Config* config) {
  std::unique_ptr<Record> child = come_as_child(parent, static_cast<std::uint64_t>(colour), config, colour != kNoColour);
  return made_child(comm, std::move(child), real().ncclCommSplit(parent, colour, order, comm, config));
}

// The ranks that are left out do not call this.
Result shrink(Comm parent, int* left_out, int count, Comm* comm, const Config* config, int flags) {
  constexpr std::uint64_t kShrunk = ~std::uint64_t{0};
  constexpr int kAbort = 1;
  std::unique_ptr<Record> child = come_as_child(parent, kShrunk, config, true);
  if ((flags & kAbort) != 0) remove(parent, true);
  return made_child(comm, std::move(child), real().ncclCommShrink(parent, left_out, count, comm, config, flags));
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
      named("ncclSend", send),
      named("ncclRecv", receive),
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
