// The network and its adapters charge what they say.
#include "simulated_world/adapter.h"
#include "tests/simulated_world/simulated_case.h"

namespace crossrail::tests {
namespace {

using simulated_world::Adapter;
using simulated_world::Cell;
using simulated_world::Job;
using simulated_world::LeastRecentlyUsed;
using simulated_world::Machine;

TEST(LeastRecentlyUsed, forgets_what_was_used_least_recently) {
  LeastRecentlyUsed cache(2);
  EXPECT_FALSE(cache.use(1));
  EXPECT_FALSE(cache.use(2));
  EXPECT_TRUE(cache.use(1));
  EXPECT_FALSE(cache.use(3));
  EXPECT_TRUE(cache.use(1));
  EXPECT_FALSE(cache.use(2));
  LeastRecentlyUsed none(0);
  EXPECT_FALSE(none.use(1));
  EXPECT_FALSE(none.use(1));
}

TEST(Adapter, sends_one_message_after_the_other) {
  Machine machine = some_machine();
  machine.miss = 0;
  Adapter adapter(machine);
  EXPECT_EQ(adapter.send({0, 1}, 8, 0), Machine::time(10));
  EXPECT_EQ(adapter.send({0, 1}, 1000, 0), Machine::time(110));
  EXPECT_EQ(adapter.send({0, 1}, 8, Machine::time(500)), Machine::time(510));
}

TEST(Adapter, is_held_up_by_queue_pairs_that_are_not_in_its_cache) {
  Machine machine = some_machine();
  machine.cached = 2;
  Adapter adapter(machine);
  for (int peer = 0; peer < 3; ++peer) (void)adapter.send({0, peer}, 8, 0);
  EXPECT_EQ(adapter.missed(), 3u);
  const auto before = adapter.send({0, 2}, 8, 0);
  EXPECT_EQ(adapter.send({0, 0}, 8, 0), before + Machine::time(10 + 400));
  machine.transport = 1;
  Adapter datagrams(machine);
  EXPECT_EQ(datagrams.send({0, 5}, 8, 0), Machine::time(10));
  EXPECT_EQ(datagrams.missed(), 0u);
}

TEST(Adapter, reconnects_when_the_peer_of_a_dynamic_context_changes) {
  Machine machine = some_machine();
  machine.transport = 2;
  machine.contexts = 1;
  Adapter adapter(machine);
  EXPECT_EQ(adapter.send({0, 1}, 8, 0), Machine::time(160));
  EXPECT_EQ(adapter.send({0, 1}, 8, 0), Machine::time(170));
  EXPECT_EQ(adapter.send({0, 2}, 8, 0), Machine::time(330));
  EXPECT_EQ(adapter.send({1, 9}, 8, 0), Machine::time(490));
}

// Two ranks on two nodes exchange a block: everything that happens can be added up by hand.
TEST(Network, takes_the_time_of_its_parts) {
  Job job = some_job({0, 1}, {"pairwise"}, {100});
  const Machine& machine = job.machine;
  const double own_block = machine.copy + 100 / machine.core_bandwidth;
  const double work = machine.send + 100 / machine.receive_bandwidth + machine.latency + machine.receive + 100 / machine.receive_bandwidth;
  const double expected = machine.enter + own_block + work + 100 / machine.adapter_bandwidth + machine.match;
  EXPECT_NEAR(cells_of(job)[0].time_us * 1000, expected, 0.01);
}

TEST(Network, announces_long_messages) {
  Job job = some_job({0, 1}, {"pairwise"}, {500, 600});
  const std::vector<Cell> cells = cells_of(job);
  const Machine& machine = job.machine;
  EXPECT_GT((cells[1].time_us - cells[0].time_us) * 1000, 2 * machine.latency);
  EXPECT_LT((cells[1].time_us - cells[0].time_us) * 1000, 4 * machine.latency);
}

TEST(Network, is_faster_with_two_adapters_where_they_are_busy) {
  Job job = some_job(nodes_of(2, 8), {"scatter_destination"}, {65536});
  job.check_up_to = 0;
  const double one = cells_of(job)[0].time_us;
  job.machine.adapters = 2;
  const double two = cells_of(job)[0].time_us;
  EXPECT_GT(one / two, 1.5);
  EXPECT_LT(one / two, 2.05);
}

}  // namespace
}  // namespace crossrail::tests
