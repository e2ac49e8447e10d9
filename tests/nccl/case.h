// One call of one of NCCL's collectives of 32-bit integers, on memory of its own, with data that differ from call to call.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <vector>

#include "tests/nccl/scenarios.h"
#include "virtual_world/host_device.h"

namespace nccl_tests {

enum class Kind { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast };
constexpr Kind kKinds[] = {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter, Kind::all_to_all};  // These are handled.

inline void check(Rank& rank, bool right, const char* what, long about = 0) {
  if (right) return;
  std::printf("rank %d: WRONG: %s (%ld)\n", rank.rank, what, about);
  ++rank.wrong;
}

// `members` are the world's ranks of the communicator, in its order.
struct Team {
  ncclComm_t comm = nullptr;
  std::vector<int> members;
  int rank = 0;
  int size() const { return static_cast<int>(members.size()); }
};

class Case {
 public:
  // Memory begins `shift` elements behind a multiple of 16 bytes.
  int shift = 0;
  Case(Kind kind, int count, bool in_place, std::uint32_t number) : kind_(kind), count_(static_cast<std::size_t>(count)), in_place_(in_place) { renew(number); }
  ~Case() {
    host_device_free(recv_ - shift);
    host_device_free(send_ - shift);
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  ncclResult_t call(const Team& team, void* stream, ncclRedOp_t operation = ncclSum) {
    open(team);
    fill(team, stream);
    return enqueue(team, stream, operation);
  }
  // These are the parts of a call. What is enqueued once may be captured, and then be filled and fetched for every launch, with new data.
  void open(const Team& team) {
    const std::size_t most = count_ * static_cast<std::size_t>(team.size()) + static_cast<std::size_t>(shift);
    send_ = static_cast<std::uint32_t*>(host_device_alloc(most * sizeof *send_, HOST_DEVICE_PLAIN)) + shift;
    recv_ = static_cast<std::uint32_t*>(host_device_alloc(most * sizeof *recv_, HOST_DEVICE_PLAIN)) + shift;
  }
  void renew(std::uint32_t number) { rounds_.push_back({number, {}, {}, {}}); }
  void fill(const Team& team, void* stream) {
    const std::size_t most = count_ * static_cast<std::size_t>(team.size());
    Round& round = rounds_.back();
    round.filled.resize(most);
    round.poison.assign(most, 0xEEEEEEEEu);
    for (std::size_t at = 0; at < sent(team); ++at) round.filled[at] = value(round, team.members[static_cast<std::size_t>(team.rank)], at);
    const crossrail_block poisoned{recv_, round.poison.data(), most * sizeof *recv_};
    const crossrail_block in{in_place_ ? recv_ + place_in_place(team) : send_, round.filled.data(), sent(team) * sizeof *send_};
    host_device_copy(stream, &poisoned);
    host_device_copy(stream, &in);
  }
  ncclResult_t enqueue(const Team& team, void* stream, ncclRedOp_t operation = ncclSum) {
    std::uint32_t *const send = in_place_ ? recv_ + place_in_place(team) : send_, *const recv = recv_ + place_of_result(team);
    switch (kind_) {
      case Kind::all_reduce: return ncclAllReduce(send, recv, count_, ncclInt32, operation, team.comm, stream);
      case Kind::all_gather: return ncclAllGather(send, recv, count_, ncclInt32, team.comm, stream);
      case Kind::reduce_scatter: return ncclReduceScatter(send, recv, count_, ncclInt32, operation, team.comm, stream);
      case Kind::broadcast: return ncclBroadcast(send, recv, count_, ncclInt32, 0, team.comm, stream);
      default: return ncclAlltoAll(send, recv, count_, ncclInt32, team.comm, stream);
    }
  }
  // Copies the result out in the stream.
  void fetch(const Team& team, void* stream) {
    std::vector<std::uint32_t>& got = rounds_.back().got;
    got.assign(results(team), 0);
    const crossrail_block out{got.data(), recv_ + place_of_result(team), got.size() * sizeof(std::uint32_t)};
    host_device_copy(stream, &out);
  }
  // The stream is done.
  int wrong(const Team& team, ncclRedOp_t operation = ncclSum) const {
    int count = 0;
    for (const Round& round : rounds_) {
      for (std::size_t at = 0; at < round.got.size(); ++at) count += round.got[at] == expected(round, team, at, operation) ? 0 : 1;
    }
    return count;
  }

 private:
  // Copies in a stream use its memory until they have been done.
  struct Round {
    std::uint32_t number;
    std::vector<std::uint32_t> filled, poison, got;
  };
  bool gathers() const { return kind_ == Kind::all_gather; }
  bool scatters() const { return kind_ == Kind::reduce_scatter; }
  std::size_t blocks(const Team& team) const { return kind_ == Kind::all_reduce || kind_ == Kind::broadcast ? 1 : static_cast<std::size_t>(team.size()); }
  std::size_t sent(const Team& team) const { return gathers() ? count_ : count_ * blocks(team); }
  std::size_t results(const Team& team) const { return scatters() ? count_ : count_ * blocks(team); }
  std::size_t own(const Team& team) const { return count_ * static_cast<std::size_t>(team.rank); }
  std::size_t place_in_place(const Team& team) const { return gathers() ? own(team) : 0; }
  std::size_t place_of_result(const Team& team) const { return in_place_ && scatters() ? own(team) : 0; }

  static std::uint32_t value(const Round& round, int world_rank, std::size_t at) {
    return static_cast<std::uint32_t>(world_rank) * 1000003u + static_cast<std::uint32_t>(at) * 31u + round.number * 7919u;
  }

  // The elements are 32-bit integers with a sign.
  static std::uint32_t combined(ncclRedOp_t operation, std::uint32_t one, std::uint32_t other) {
    const bool less = static_cast<std::int32_t>(one) < static_cast<std::int32_t>(other);
    switch (operation) {
      case ncclProd: return one * other;
      case ncclMax: return less ? other : one;
      case ncclMin: return less ? one : other;
      default: return one + other;
    }
  }
  std::uint32_t expected(const Round& round, const Team& team, std::size_t at, ncclRedOp_t operation) const {
    if (gathers()) return value(round, team.members[at / count_], at % count_);
    if (kind_ == Kind::broadcast) return value(round, team.members[0], at);
    if (kind_ == Kind::all_to_all) return value(round, team.members[at / count_], own(team) + at % count_);
    const std::size_t element = scatters() ? own(team) + at : at;
    std::uint32_t sum = value(round, team.members[0], element);
    for (std::size_t other = 1; other < team.members.size(); ++other) sum = combined(operation, sum, value(round, team.members[other], element));
    return operation == ncclAvg ? static_cast<std::uint32_t>(static_cast<std::int32_t>(sum) / team.size()) : sum;
  }

  Kind kind_;
  std::size_t count_;
  bool in_place_;
  std::uint32_t *send_ = nullptr, *recv_ = nullptr;
  std::deque<Round> rounds_;
};

// Makes a call, waits for the stream, and compares.
inline void check_call(Rank& rank, const Team& team, Case& one, void* stream, ncclRedOp_t operation = ncclSum) {
  check(rank, one.call(team, stream, operation) == ncclSuccess, "a call has failed");
  one.fetch(team, stream);
  host_device_wait(stream);
  const int wrong = one.wrong(team, operation);
  check(rank, wrong == 0, "elements", wrong);
}

}  // namespace nccl_tests
