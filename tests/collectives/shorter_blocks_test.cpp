// Receivers expect more than is sent, as MPI allows. What comes is there, and the rest of their blocks is as it was. The tests use every row of
// alltoallv's catalogue, on one node and on several, with lengths around all limits, so that both ends take a block for another kind of message.

#include "selection/parameters.h"
#include "tests/collectives/alltoallv_case.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kCalls = 16;
#else
constexpr std::uint64_t kCalls = 60;
#endif
const Nodes kShorterWorlds[] = {{0, 0, 0}, {0, 1}, {0, 0, 1, 1}, {0, 1, 2, 0, 1, 2}, {0, 1, 1, 2, 1, 0, 3}};

struct Lengths {
  std::size_t sent, expected;
};

// Returns the lengths of the block from one rank to another. In some calls all agree, in some one block does not, in others many do not.
Lengths lengths_of(std::uint64_t call, int source, int destination) {
  constexpr std::size_t kLimits[] = {1, 55, 56, 57, 400, 1024, 4095, 4096, 4097, 8192, 8193, 20'000, 65'535, 65'536, 65'537, 131'072, 200'000};
  std::mt19937_64 random(call * 1'000'003 + static_cast<std::uint64_t>(source * 1009 + destination));
  random.discard(3);
  const std::size_t most = call % 3 == 0 ? std::size(kLimits) : 9;
  if (random() % 5 == 0) return {0, 0};
  const std::size_t sent = call % 5 == 4 ? 1 + random() % 300 : kLimits[random() % most];
  const bool shorter = call % 4 != 0 && (call % 4 == 1 ? source == static_cast<int>(call % 2) && destination == source + 1 : random() % 3 == 0);
  if (!shorter || source == destination) return {sent, sent};
  return {sent, sent + (random() % 2 == 0 ? 1 + random() % 5000 : kLimits[random() % most])};
}

struct Side {
  std::vector<Block> blocks;
  std::unique_ptr<Guarded> memory;
  std::size_t bytes = 0;

  void add(std::size_t length) {
    blocks.push_back({static_cast<std::ptrdiff_t>(bytes), length});
    bytes += length + blocks.size() % 3;
  }
  void make(std::size_t skip) {
    memory = std::make_unique<Guarded>(bytes, skip);
    std::memset(memory->data(), 0xEE, bytes);
  }
};

bool right_call(Communicator& communicator, std::uint64_t call) {
  const int rank = communicator.topology.rank, size = communicator.topology.size;
  Side send, recv;
  for (int peer = 0; peer < size; ++peer) {
    send.add(lengths_of(call, rank, peer).sent);
    recv.add(lengths_of(call, peer, rank).expected);
  }
  send.make(call % 3);
  recv.make(call % 5);
  for (int peer = 0; peer < size; ++peer) fill_block(send.memory->data() + send.blocks[peer].offset, send.blocks[peer].bytes, call, rank, peer);
  Buffers buffers{send.memory->data(), recv.memory->data(), send.blocks.data(), recv.blocks.data()};
  std::vector<ShortBlock> shorter;
  buffers.shorter = &shorter;
  const Outcome outcome = run_collective(communicator, kVectorShape, buffers);
  const std::string where = communicator.settings.alltoallv + ", " + communicator.topology.text() + ", rank " + std::to_string(rank) + ", call " + std::to_string(call);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.what << ": " << where;
  if (!outcome.status.ok() || outcome.plan->native()) return outcome.status.ok();
  std::vector<std::byte> expected(recv.bytes, std::byte{0xEE});
  std::size_t told = 0;
  for (int peer = 0; peer < size; ++peer) {
    const Lengths lengths = lengths_of(call, peer, rank);
    fill_block(expected.data() + recv.blocks[peer].offset, lengths.sent, call, peer, rank);
    const auto found = std::find_if(shorter.begin(), shorter.end(), [peer](const ShortBlock& block) { return block.rank == peer; });
    EXPECT_EQ(found != shorter.end(), lengths.sent < lengths.expected) << "from " << peer << ": " << where;
    if (found == shorter.end()) continue;
    EXPECT_EQ(found->bytes, lengths.sent) << where;
    ++told;
  }
  EXPECT_EQ(told, shorter.size()) << where;
  EXPECT_TRUE(same_bytes(expected.data(), recv.memory->data(), recv.bytes)) << "wrong bytes: " << where;
  EXPECT_TRUE(send.memory->intact() && recv.memory->intact()) << where;
  return !testing::Test::HasFailure();
}

class ShorterBlocks : public testing::TestWithParam<Algorithm> {};

INSTANTIATE_TEST_SUITE_P(alltoallv, ShorterBlocks,
                         testing::ValuesIn(catalogue(Collective::alltoallv).begin(), catalogue(Collective::alltoallv).end()),
                         [](const auto& row) { return std::string(row.param.name); });

void calls_in(const std::string& wanted, const virtual_world::WorldOptions& like) {
  virtual_world::WorldOptions options = like;
  options.settings.alltoallv = wanted;
  for (const Nodes& nodes : kShorterWorlds) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, options, [](Communicator& communicator) {
      for (std::uint64_t call = 0; call < kCalls; ++call) {
        if (!right_call(communicator, call)) return;
      }
    });
  }
}

TEST_P(ShorterBlocks, are_taken) {
  for (const std::size_t eager_bytes : {std::size_t{0}, std::size_t{512}, std::size_t{1} << 30}) {
    virtual_world::WorldOptions options;
    options.links.eager_bytes = eager_bytes;
    calls_in(GetParam().name, options);
  }
}

TEST_P(ShorterBlocks, are_taken_whatever_the_parameters) {
  for (const char* parameters : {" piece=64K", " direct=0", " coalesce=0", " coalesce=1M", " throttle=1", " leaders=2 ahead=1", " leaders=100", " leaders=100 split=1",
                                 " leaders=4 split=50", " leaders=4 split=5000 coalesce=20K"}) {
    if (makes_sense("CROSSRAIL_ALLTOALLV", GetParam().name + std::string(parameters))) calls_in(GetParam().name + std::string(parameters), {});
  }
}

TEST_P(ShorterBlocks, are_taken_with_little_memory) {
  virtual_world::WorldOptions options;
  options.settings.scratch_bytes = 100'000;
  options.single_copy = false;
  calls_in(GetParam().name, options);
}

// A block that is longer is an error still, of some rank, and nobody waits for ever.
TEST_P(ShorterBlocks, but_not_longer_ones) {
  for (const std::size_t bytes : {24u, 4096u, 4097u, 70'000u}) {
    for (const Nodes& nodes : {Nodes{0, 0, 1}, Nodes{0, 1, 1}, Nodes{0, 1, 2}}) {
      virtual_world::WorldOptions options;
      options.settings.alltoallv = GetParam().name;
      options.settings.patience_ms = 40;
      std::atomic<int> errors{0}, carried{0};
      std::vector<std::byte> sent(3 * 300'000), received(3 * 300'000);  // Ranks that have not noticed yet may still use them.
      virtual_world::world(nodes, options, [&](Communicator& communicator) {
        const auto rank = static_cast<std::size_t>(communicator.topology.rank);
        std::vector<Block> out(3), in(3);
        for (std::size_t peer = 0; peer < 3; ++peer) out[peer] = in[peer] = {static_cast<std::ptrdiff_t>(peer * 100'000), bytes};
        if (rank == 2) in[0].bytes -= 8;
        const Outcome outcome = run_collective(communicator, kVectorShape, {sent.data() + rank * 300'000, received.data() + rank * 300'000, out.data(), in.data()});
        errors += outcome.status.ok() ? 0 : 1;
        carried += outcome.plan->native() && outcome.status.ok() ? 0 : 1;
      });
      EXPECT_TRUE(errors >= 1 || carried == 0) << bytes << " bytes, " << text_of(nodes);
    }
  }
}

}  // namespace
}  // namespace crossrail::tests
