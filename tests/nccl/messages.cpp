// These scenarios are about sends and receives.

#include <unistd.h>

#include <cstring>
#include <memory>

#include "tests/nccl/pairs.h"

namespace nccl_tests {
namespace {

template <class Bytes>
void all_to_all(Rank& rank, const Team& team, std::uint64_t number, Bytes bytes) {
  Pairs pairs(rank, team, number);
  for (int from = 0; from < team.size(); ++from) {
    for (int to = 0; to < team.size(); ++to) pairs.add(from, to, bytes(from, to));
  }
  pairs.exchange(nullptr, "a message of all ranks to all");
}

// Many messages go between the same ranks, of which some are empty, and one is long.
void several_to_one(Rank& rank, const Team& team, std::uint64_t number, int each) {
  Pairs pairs(rank, team, number);
  for (int turn = 0; turn < each; ++turn) {
    for (int from = 0; from < team.size(); ++from) {
      const auto odd = static_cast<std::size_t>(turn) * 397 + static_cast<std::size_t>(from) * 31;
      pairs.add(from, (from + turn) % team.size(), turn == 3 ? 50001 : odd % 5000);
      pairs.add(from, (from + 1) % team.size(), odd % 777);
    }
  }
  pairs.exchange(nullptr, "one of several messages");
}

// What a rank receives it sends on. Nothing is in a group.
void pipeline(Rank& rank, const Team& team, std::uint64_t number, std::size_t bytes) {
  End end(bytes, 0);
  if (team.rank == 0) end.fill(number, nullptr);
  else end.poison(nullptr);
  if (team.rank > 0) check(rank, receive(end, team.rank - 1, team.comm, nullptr) == ncclSuccess, "ncclRecv");
  if (team.rank + 1 < team.size()) check(rank, send(end, team.rank + 1, team.comm, nullptr) == ncclSuccess, "ncclSend");
  end.fetch(nullptr);
  host_device_wait(nullptr);
  check(rank, end.has(number), "a message that was sent on", static_cast<long>(bytes));
}

// A rank that sends to itself must also receive that.
void wrong_use(Rank& rank, const Team& team) {
  End end(100, 0);
  check(rank, send(end, team.rank, team.comm, nullptr) == ncclInvalidUsage, "a message to oneself that nobody receives");
}

}  // namespace

void messages(Rank& rank) {
  const Team team = world(rank);
  std::uint64_t number = 0;
  for (const std::size_t bytes : {1, 7, 64, 1920, 1921, 5000, 100000, (1 << 20) + 3}) {
    all_to_all(rank, team, ++number, [bytes](int, int) { return bytes; });
    shift_round(rank, team, bytes, ++number);
    pipeline(rank, team, ++number, bytes);
  }
  for (const std::size_t most : {std::size_t{1} << 10, std::size_t{1} << 16, std::size_t{3} << 20}) {
    all_to_all(rank, team, ++number, [most](int from, int to) { return most * static_cast<std::size_t>((from * 3 + to * 5) % 7) / 7; });
  }
  several_to_one(rank, team, ++number, 6);
  several_to_one(rank, team, ++number, 40);
  several_to_one(rank, team, ++number, 150);
  for (int turn = 0; turn < 50; ++turn) shift_round(rank, team, static_cast<std::size_t>(turn) * 1000, ++number);
  check(rank, counts().left == 0 && counts().handled > 400, "messages left to NCCL", static_cast<long>(counts().left));
  wrong_use(rank, team);
  one_sum(rank, team, 1);
  end(rank, team);
}

// Rank 0 has sent all it has, and waited for that, before any other rank receives.
void messages_ahead(Rank& rank) {
  const Team team = world(rank);
  Pairs pairs(rank, team, 1);
  for (int turn = 0; turn < 8; ++turn) pairs.add(0, 1 + turn % (team.size() - 1), 100 + static_cast<std::size_t>(turn) * 50);
  if (rank.rank != 0) check(rank, await_sign(rank, "sent"), "rank 0 waits for the others");
  pairs.prepare(nullptr, nullptr);
  pairs.call(nullptr, nullptr);
  pairs.fetch(nullptr);
  host_device_wait(nullptr);
  pairs.compare("a message sent ahead");
  if (rank.rank == 0) give_sign(rank, "sent");
  one_sum(rank, team, 99);
  check(rank, counts().handled == pairs.count() + 1, "messages handled", static_cast<long>(counts().handled));
  (void)unlink(sign(rank, "sent").c_str());
  end(rank, team);
}

namespace {

// Ranks name two communicators in different orders, and a collective among them.
void mixed_group(Rank& rank, const Team& first, const Team& second, std::uint32_t round) {
  Pairs one(rank, first, 2 * round), other(rank, second, 2 * round + 1);
  for (int from = 0; from < first.size(); ++from) {
    one.add(from, (from + 1) % first.size(), 1000 + round);
    other.add(from, (from + 2) % first.size(), 3000 + 100 * static_cast<std::size_t>(round));
  }
  Case sum(Kind::all_reduce, 100, false, round);
  one.prepare(nullptr, nullptr);
  other.prepare(nullptr, nullptr);
  check(rank, ncclGroupStart() == ncclSuccess, "ncclGroupStart");
  for (const bool now : {rank.rank % 2 == 0, rank.rank % 2 != 0}) (now ? one : other).call(nullptr, nullptr);
  check(rank, sum.call(first, nullptr) == ncclSuccess, "a collective among messages");
  check(rank, ncclGroupEnd() == ncclSuccess, "ncclGroupEnd");
  one.fetch(nullptr);
  other.fetch(nullptr);
  sum.fetch(first, nullptr);
  host_device_wait(nullptr);
  one.compare("a message of the first communicator");
  other.compare("a message of the second communicator");
  check(rank, sum.wrong(first) == 0, "elements of a sum among messages");
}

// Sends and receives of one group are in two streams.
void two_streams(Rank& rank, const Team& team, std::uint64_t number) {
  void *const sends = host_device_open_stream(), *const receives = host_device_open_stream();
  Pairs pairs(rank, team, number);
  for (int from = 0; from < team.size(); ++from) pairs.add(from, (from + 1) % team.size(), 20000);
  pairs.prepare(sends, receives);
  check(rank, ncclGroupStart() == ncclSuccess, "ncclGroupStart");
  pairs.call(sends, receives);
  check(rank, ncclGroupEnd() == ncclSuccess, "ncclGroupEnd");
  pairs.fetch(number % 2 == 0 ? sends : receives);
  host_device_wait(sends);
  host_device_wait(receives);
  pairs.compare("a message of two streams");
  host_device_close_stream(sends);
  host_device_close_stream(receives);
}

}  // namespace

void messages_mixed(Rank& rank) {
  Team first = world(rank), second = first;
  check(rank, ncclCommSplit(first.comm, 0, 0, &second.comm, nullptr) == ncclSuccess, "ncclCommSplit");
  for (std::uint32_t round = 0; round < 10; ++round) mixed_group(rank, first, second, round);
  for (std::uint64_t number = 100; number < 106; ++number) two_streams(rank, first, number);
  all_to_all(rank, first, 200, [](int from, int to) { return (from ^ 1) == to ? std::size_t{16} << 20 : 0; });
  check(rank, counts().left == 0, "messages left to NCCL", static_cast<long>(counts().left));
  end(rank, second);
  end(rank, first);
}

// What is captured is sent anew at each launch, among eager messages. Sends and receives are in two streams of one capture.
void messages_graphs(Rank& rank) {
  const Team team = world(rank);
  void *const stream = host_device_open_stream(), *const other = host_device_open_stream();
  Pairs pairs(rank, team, 1);
  for (std::size_t turn = 0; turn < 40; ++turn) {
    for (int from = 0; from < team.size(); ++from) pairs.add(from, (from + static_cast<int>(turn % 3)) % team.size(), turn == 1 ? 300001 : turn * 97);
  }
  host_device_begin_capture(stream);
  host_device_follow(other, stream);
  check(rank, ncclGroupStart() == ncclSuccess, "ncclGroupStart");
  pairs.call(stream, other);
  check(rank, ncclGroupEnd() == ncclSuccess, "ncclGroupEnd");
  host_device_follow(stream, other);
  void* const graph = host_device_end_capture(stream);
  check(rank, graph != nullptr, "the capture has been spoilt");
  for (std::uint64_t number = 0; number < 5; ++number) {
    pairs.renew();
    pairs.prepare(stream, stream);
    host_device_launch(graph, stream);
    pairs.fetch(stream);
    shift_round(rank, team, 3000, number);
    host_device_wait(stream);
    pairs.compare("a message of a graph");
  }
  check(rank, counts().left == 0, "messages left to NCCL", static_cast<long>(counts().left));
  host_device_close_graph(graph);
  end(rank, team);
}

// Rank 0 does not send. The others abort the communicator, and their streams go on.
void messages_abort(Rank& rank) {
  const Team team = world(rank);
  shift_round(rank, team, 5000, 1);
  if (rank.rank == 0) {
    std::this_thread::sleep_for(500ms);
    check(rank, ncclCommAbort(team.comm) == ncclSuccess, "ncclCommAbort");
    return;
  }
  End end(100, 0);
  check(rank, receive(end, 0, team.comm, nullptr) == ncclSuccess, "ncclRecv");
  std::this_thread::sleep_for(200ms);
  check(rank, ncclCommAbort(team.comm) == ncclSuccess, "ncclCommAbort");
  host_device_wait(nullptr);
}

// These communicators do not block, so they are opened in a collective. Before that, two ranks have sent something on one of them, on which all messages
// are then left to NCCL. Only those two know of it.
void messages_early(Rank& rank) {
  Team team = world(rank);
  std::uint64_t handled = 0, left = 0;
  for (const bool early : {false, true}) {
    ncclUniqueId id = rank.id;
    std::strcat(id.internal, early ? ".early" : ".late");
    check(rank, ncclCommInitRankConfig(&team.comm, rank.size, id, rank.rank, nullptr) == ncclInProgress, "ncclCommInitRankConfig");
    Pairs first(rank, team, 1);
    if (early) first.add(0, 1, 300);
    first.exchange(nullptr, "an early message");
    one_sum(rank, team, 1);
    shift_round(rank, team, 2000, 2);
    handled += early ? 1 : 3;
    left += early ? first.count() + 2 : 0;
  }
  check(rank, counts().handled == handled, "calls handled", static_cast<long>(counts().handled));
  check(rank, counts().left == left, "calls left to NCCL", static_cast<long>(counts().left));
}

// Rank 0 has done its part and ends, while others still wait for what rank 1 will send on.
void messages_leave(Rank& rank) {
  const Team team = world(rank);
  shift_round(rank, team, 5000, 1);
  if (rank.rank == 1) std::this_thread::sleep_for(600ms);
  pipeline(rank, team, 2, 100000);
  ncclResult_t error = ncclSuccess;
  check(rank, ncclCommGetAsyncError(team.comm, &error) == ncclSuccess && error == ncclSuccess, "a rank that has left is missed", error);
}

// The last rank ends. Those that wait for its messages hear of it.
void messages_killed(Rank& rank) {
  const Team team = world(rank);
  shift_round(rank, team, 5000, 1);
  if (rank.rank == rank.size - 1) _exit(kKilled);
  End end(100, 0);
  (void)receive(end, rank.size - 1, team.comm, nullptr);  // It may be known already.
  hear_of_the_end(rank, team);
}

}  // namespace nccl_tests
