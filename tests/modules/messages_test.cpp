// These tests run the kernels of messages, and what tells them, on a device that is none: ranks have streams, whose kernels go on in any order.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "gpu/queue.h"
#include "kernels/messages.h"
#include "pretended_warps/pretended_warps.h"

namespace gpu {
namespace {

pretended::Device* device = nullptr;
int current_rank = 0;

template <class Task, class Text>
std::function<void()> text_of(const void* task, Text text) {
  return [copy = *static_cast<const Task*>(task), text] { text(copy); };
}

}  // namespace

At::At(const Place&) : gone_(false), current_(nullptr) {}
const char* translate(const crossrail_queue&, const uint64_t* word, uint64_t** mapped) {
  *mapped = const_cast<uint64_t*>(word);
  return nullptr;
}
const char* launch_work(crossrail_queue&, const Work& work, void*) {
  const bool lists = work.kernel == Kernel::keep_list;
  device->launch(current_rank, {work.grid, work.threads, lists ? text_of<kernels::ListTask>(work.task, kernels::keep_list)
                                                                 : text_of<kernels::MessagesTask>(work.task, kernels::pass_messages)});
  return nullptr;
}

}  // namespace gpu

namespace {

using Bytes = std::vector<unsigned char>;
constexpr unsigned char kPoison = 0xEE;
constexpr std::size_t kGuard = 48;

struct Block {
  Bytes memory;
  std::size_t begin, bytes;
  Block(std::size_t length, std::size_t shift) : memory(length + shift + 2 * kGuard + 16, kPoison), bytes(length) {
    begin = kGuard + shift + (16 - reinterpret_cast<std::uintptr_t>(memory.data() + kGuard) % 16) % 16;
  }
  unsigned char* at() { return memory.data() + begin; }
  Bytes content() const { return {memory.begin() + static_cast<std::ptrdiff_t>(begin), memory.begin() + static_cast<std::ptrdiff_t>(begin + bytes)}; }
  bool guards_are_whole() const {
    for (std::size_t at = 0; at < memory.size(); ++at) {
      if ((at < begin || at >= begin + bytes) && memory[at] != kPoison) return false;
    }
    return true;
  }
};

class World {
 public:
  World(int ranks, unsigned seed, int most_ctas = 1) : ranks_(ranks), most_ctas_(most_ctas), device_(ranks, seed), random_(seed) {
    place_.whole_lines = true;
    std::size_t bytes = 0;
    crossrail_queue queue;
    queue.place = &place_;
    EXPECT_EQ(gpu::supports_messages(queue, ranks, &bytes), nullptr);
    EXPECT_LE(bytes, (std::size_t{9} << 20) + (std::size_t{1} << 17));
    for (int rank = 0; rank < ranks; ++rank) {
      memory_.emplace_back(static_cast<gpu::Pair*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)), std::free);
      std::memset(memory_.back().get(), 0, bytes);
      buffers_.push_back(memory_.back().get());
    }
    buffer_bytes_ = bytes;
    asked_.resize(static_cast<std::size_t>(ranks));
  }
  ~World() { gpu::device = nullptr; }

  // Both ends are asked for now, and enqueued by `flush` of their ranks.
  void message(int from, int to, std::size_t bytes) {
    const auto sent = std::make_shared<Block>(bytes, random_() % 16), received = std::make_shared<Block>(bytes, random_() % 16);
    for (std::size_t at = 0; at < bytes; ++at) sent->at()[at] = static_cast<unsigned char>(random_());
    send_only(from, to, sent);
    receive_only(from, to, received);
    pairs_.push_back({sent, received});
  }
  void send_only(int from, int to, const std::shared_ptr<Block>& block) { of(from).sends.push_back({block->at(), block->bytes, to}); }
  void receive_only(int from, int to, const std::shared_ptr<Block>& block) { of(to).recvs.push_back({block->at(), block->bytes, from}); }
  const char* flush(int rank) {
    crossrail_queue queue;
    queue.place = &place_;
    gpu::device = &device_;
    gpu::current_rank = rank;
    crossrail_messages work{};
    work.work.multiprocessors = most_ctas_;
    work.rank = rank;
    work.ranks = ranks_;
    work.buffers = buffers_.data();
    work.buffer_bytes = buffer_bytes_;
    work.abort = &abort_;
    work.sends = of(rank).sends.data();
    work.send_count = static_cast<int>(of(rank).sends.size());
    work.recvs = of(rank).recvs.data();
    work.recv_count = static_cast<int>(of(rank).recvs.size());
    const char* const wrong = gpu::messages(queue, work);
    of(rank) = {};
    return wrong;
  }
  void flush_all() {
    for (int rank = 0; rank < ranks_; ++rank) ASSERT_EQ(flush(rank), nullptr);
  }
  void run() {
    ASSERT_EQ(device_.run(), "");
    for (const Pair& pair : pairs_) {
      ASSERT_EQ(pair.received->content(), pair.sent->content()) << pair.sent->bytes;
      ASSERT_TRUE(pair.received->guards_are_whole()) << pair.sent->bytes;
    }
    pairs_.clear();
  }
  pretended::Device& device() { return device_; }
  void abort() { abort_ = 1; }
  std::size_t any(std::size_t most) { return random_() % (most + 1); }

 private:
  struct Asked {
    std::vector<crossrail_message> sends, recvs;
  };
  struct Pair {
    std::shared_ptr<Block> sent, received;
  };
  Asked& of(int rank) { return asked_[static_cast<std::size_t>(rank)]; }

  int ranks_, most_ctas_;
  pretended::Device device_;
  std::mt19937 random_;
  gpu::Place place_;
  std::vector<std::unique_ptr<gpu::Pair, void (*)(void*)>> memory_;
  std::vector<void*> buffers_;
  std::size_t buffer_bytes_ = 0;
  std::uint64_t abort_ = 0;
  std::vector<Asked> asked_;
  std::vector<Pair> pairs_;
};

TEST(Messages, of_all_lengths_arrive) {
  World world(2, 1, 2);
  for (const std::size_t bytes : {1, 15, 16, 17, 119, 120, 240, 1919, 1920, 1921, 3840, 10000, 100001}) {
    world.message(0, 1, bytes);
    world.flush_all();
    world.run();
  }
}

// A sender waits where a receiver has not come.
TEST(Messages, go_both_ways_and_further_than_the_rings_hold) {
  for (unsigned seed = 0; seed < 2; ++seed) {
    World world(8, seed, seed == 0 ? 1 : 4);
    world.message(0, 1, 2300001);
    world.message(1, 0, 1700000);
    world.message(0, 0, 5003);
    ASSERT_EQ(world.flush(0), nullptr);
    EXPECT_EQ(world.device().run_until_done(0), "all warps wait");
    ASSERT_EQ(world.flush(1), nullptr);
    world.run();
  }
}

TEST(Messages, of_all_ranks_to_all_arrive) {
  for (const int ranks : {3, 5, 8}) {
    World world(ranks, static_cast<unsigned>(ranks), 2);
    for (int turn = 0; turn < 6; ++turn) {
      for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) world.message(from, to, world.any(turn == 5 ? 40000 : 3000));
      }
      world.flush_all();
      world.run();
    }
  }
}

TEST(Messages, of_long_lists_arrive) {
  World world(2, 3);
  for (const int count : {31, 33, 120, 400}) {
    for (int i = 0; i < count; ++i) {
      world.message(0, 1, world.any(300));
      world.message(1, 0, world.any(4000));
      world.message(1, 1, world.any(100));
    }
    world.flush_all();
    world.run();
  }
}

// One rank's group is several groups of the other's.
TEST(Messages, are_paired_across_kernels) {
  World world(2, 4);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<std::shared_ptr<Block>> sent, received;
    for (int i = 0; i < 5; ++i) {
      const std::size_t bytes = world.any(30000);
      for (const int from : {0, 1}) {
        sent.push_back(std::make_shared<Block>(bytes, 3));
        received.push_back(std::make_shared<Block>(bytes, 5));
        for (std::size_t at = 0; at < bytes; ++at) sent.back()->at()[at] = static_cast<unsigned char>(world.any(255));
        world.send_only(from, 1 - from, sent.back());
        world.receive_only(from, 1 - from, received.back());
      }
      ASSERT_EQ(world.flush(1), nullptr);
    }
    ASSERT_EQ(world.flush(0), nullptr);
    world.run();
    for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(received[i]->content(), sent[i]->content());
  }
}

TEST(Messages, that_fit_do_not_wait_for_the_receiver) {
  World world(2, 5, 48);
  for (int i = 0; i < 20; ++i) {
    world.message(0, 1, 2000);
    ASSERT_EQ(world.flush(0), nullptr);
  }
  ASSERT_EQ(world.device().run_until_done(0), "");
  ASSERT_EQ(world.flush(1), nullptr);
  world.run();
}

TEST(Messages, take_no_more_ctas_than_they_may) {
  for (const int most : {0, 1, 3}) {
    World world(2, 6, most);
    world.message(0, 1, 60000);
    world.message(0, 0, 60000);
    world.flush_all();
    world.run();
  }
}

TEST(Messages, give_up_when_told) {
  World world(2, 7);
  const auto block = std::make_shared<Block>(100, 0);
  world.receive_only(0, 1, block);
  ASSERT_EQ(world.flush(1), nullptr);
  EXPECT_EQ(world.device().run_until_done(1), "all warps wait");
  world.abort();
  EXPECT_EQ(world.device().run_until_done(1), "");
}

TEST(Messages, that_are_wrong_are_refused) {
  World world(2, 8);
  const auto block = std::make_shared<Block>(100, 0);
  world.send_only(0, 0, block);
  EXPECT_NE(world.flush(0), nullptr);
  world.send_only(0, 2, block);
  EXPECT_NE(world.flush(0), nullptr);
}

}  // namespace
