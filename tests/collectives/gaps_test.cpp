// Every algorithm gets blocks with gaps, and v-collectives in place. Algorithms that take blocks as they lie get them so, others get rows, as
// PackedBuffers and PackedVectors do it.

#include <list>
#include <random>
#include <thread>

#include "comm/user_buffers.h"
#include "tests/collectives/alltoallv_case.h"

namespace crossrail::tests {
namespace {

// Makes a layout of `bytes` in a few pieces and lines with gaps between them, as one element of all of them or elements of a quarter.
std::shared_ptr<Layout> layout_for(std::size_t bytes, std::mt19937_64& random) {
  auto layout = std::make_shared<Layout>();
  layout->element_bytes = bytes % 4 == 0 && random() % 2 == 0 ? bytes / 4 : bytes;
  std::int64_t at = static_cast<std::int64_t>(random() % 4);
  for (std::size_t left = layout->element_bytes; left > 0;) {
    const std::uint64_t piece = std::min<std::uint64_t>(1 + random() % 2000, left);
    const std::uint64_t count = std::min<std::uint64_t>(1 + random() % 4, left / piece);
    const auto stride = static_cast<std::int64_t>(piece + 1 + random() % 9);
    layout->pieces.push_back({at, piece, count, stride});
    at += stride * static_cast<std::int64_t>(count);
    left -= piece * count;
  }
  join(layout->pieces);
  layout->extent = at + static_cast<std::int64_t>(random() % 3);
  return layout;
}

// These are blocks of one rank, with a layout of its own for each peer.
struct GappedBlocks {
  std::vector<std::shared_ptr<Layout>> layouts;
  std::vector<Block> blocks;
  std::size_t span = 0;
  std::unique_ptr<Guarded> memory;

  GappedBlocks(const std::vector<std::size_t>& bytes, std::mt19937_64& random) {
    for (const std::size_t one : bytes) {
      const auto layout = one == 0 || random() % 4 == 0 ? nullptr : layout_for(one, random);
      blocks.push_back({static_cast<std::ptrdiff_t>(span), one, layout.get()});
      span += 3 + (layout == nullptr ? one : static_cast<std::size_t>(layout->extent) * (one / layout->element_bytes));
      layouts.push_back(layout);
    }
    memory = std::make_unique<Guarded>(span, random() % 3);
    std::memset(memory->data(), 0xEE, span);
  }
  Part part(std::size_t peer) { return {memory->data() + blocks[peer].offset, layouts[peer].get(), 0, blocks[peer].bytes}; }
};

class GappedCall final : public UserBuffers {
 public:
  GappedCall(const Topology& topology, Counts counts, std::uint64_t call, bool in_place)
      : rank_(topology.rank), size_(topology.size), counts_(counts), call_(call), in_place_(in_place), random_(call * 31 + static_cast<std::uint64_t>(rank_)) {
    std::vector<std::size_t> out, in;
    for (int peer = 0; peer < size_; ++peer) {
      out.push_back(bytes(rank_, peer));
      in.push_back(bytes(peer, rank_));
    }
    recv_ = std::make_unique<GappedBlocks>(in, random_);
    if (!in_place) send_ = std::make_unique<GappedBlocks>(out, random_);
    for (int peer = 0; peer < size_; ++peer) {
      std::vector<std::byte> block(bytes(rank_, peer));
      fill_block(block.data(), block.size(), call, rank_, peer);
      sent().part(static_cast<std::size_t>(peer)).put(block.data(), 0, block.size());
    }
  }
  bool in_place() const override { return in_place_; }

  Status open(Buffers& buffers, const Plan* plan) override {
    taken_ = plan->as_they_lie;
    node_ = plan->topology->node_of;
    out_ = sent().blocks;
    in_ = recv_->blocks;
    for (int peer = 0; peer < size_; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      if (as_it_lies(peer)) continue;
      rows_.emplace_back(out_[at].bytes);
      sent().part(at).take(rows_.back().data(), 0, out_[at].bytes);
      out_[at] = {rows_.back().data() - sent().memory->data(), out_[at].bytes};
      rows_.emplace_back(in_[at].bytes);
      in_[at] = {rows_.back().data() - recv_->memory->data(), in_[at].bytes};
    }
    buffers = {sent().memory->data(), recv_->memory->data(), out_.data(), in_.data(), in_place_};
    return {};
  }
  Status close() override {
    for (int peer = 0; peer < size_; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      if (!as_it_lies(peer)) recv_->part(at).put(recv_->memory->data() + in_[at].offset, 0, in_[at].bytes);
    }
    return {};
  }

  std::string wrong() {
    if (!recv_->memory->intact()) return "written outside the buffer";
    std::mt19937_64 unused(0);
    std::vector<std::byte> expected(recv_->span, std::byte{0xEE});
    for (int peer = 0; peer < size_; ++peer) {
      std::vector<std::byte> block(bytes(peer, rank_));
      fill_block(block.data(), block.size(), call_, peer, rank_);
      Part part = recv_->part(static_cast<std::size_t>(peer));
      part.base = expected.data() + recv_->blocks[static_cast<std::size_t>(peer)].offset;
      part.put(block.data(), 0, block.size());
    }
    return same_bytes(expected.data(), recv_->memory->data(), expected.size()) ? "" : "rank " + std::to_string(rank_) + " has wrong bytes";
  }

 private:
  // In place, a block and the one that takes its place are of one length.
  std::size_t bytes(int source, int destination) const {
    if (in_place_ && source > destination) std::swap(source, destination);
    return block_bytes(counts_, call_, source, destination);
  }
  GappedBlocks& sent() { return in_place_ ? *recv_ : *send_; }
  bool as_it_lies(int peer) const {
    return taken_ == Plan::AsTheyLie::all ||
           (taken_ == Plan::AsTheyLie::in_node && node_[static_cast<std::size_t>(peer)] == node_[static_cast<std::size_t>(rank_)]);
  }

  int rank_, size_;
  Counts counts_;
  std::uint64_t call_;
  bool in_place_;
  std::mt19937_64 random_;
  std::unique_ptr<GappedBlocks> send_, recv_;
  Plan::AsTheyLie taken_ = Plan::AsTheyLie::none;
  std::vector<int> node_;
  std::vector<Block> out_, in_;
  std::list<std::vector<std::byte>> rows_;
};

void gapped_calls(Communicator& communicator, int rounds) {
  std::mt19937 late(static_cast<unsigned>(communicator.topology.rank));
  for (int round = 0; round < rounds; ++round) {
    for (const Counts counts : kCounts) {
      const auto call = static_cast<std::uint64_t>(round * 8 + static_cast<int>(counts));
      GappedCall one(communicator.topology, counts, call, round % 3 == 2);
      if (late() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(late() % 500));
      const Outcome outcome = run_collective(communicator.slot(), kVectorShape, one);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.what;
      if (outcome.plan->native()) return;
      ASSERT_EQ(one.wrong(), "") << outcome.plan->algorithm << ", " << communicator.topology.text() << ", counts "
                                 << static_cast<int>(counts) << ", call " << call << (one.in_place() ? ", in place" : "");
    }
  }
}

const std::vector<Nodes> kWorlds = {{0}, {0, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 2}, {0, 0, 0, 0, 0, 0, 0, 0}};

TEST(Gaps, vectors_by_every_algorithm) {
  for (const Algorithm& row : catalogue(Collective::alltoallv)) {
    for (const bool single_copy : {true, false}) {
      for (const char* parameters : {"", " direct=100", " direct=0"}) {
        if (!std::any_of(row.parameters.begin(), row.parameters.end(), [](const Parameter* one) { return std::string(one->name) == "direct"; }) && *parameters != 0) continue;
        virtual_world::WorldOptions options;
        options.settings.alltoallv = row.name + std::string(parameters);
        options.single_copy = single_copy;
        for (const Nodes& nodes : kWorlds) virtual_world::world(nodes, options, [](Communicator& mine) { gapped_calls(mine, 4); });
      }
    }
  }
}

TEST(Gaps, chunks_of_any_length) {
  for (const std::uint64_t scratch : {40'000u, 300'000u, 1'000'000u}) {
    virtual_world::WorldOptions options;
    options.settings.alltoallv = "node_shared";
    options.settings.scratch_bytes = scratch;
    for (const Nodes& nodes : kWorlds) virtual_world::world(nodes, options, [](Communicator& mine) { gapped_calls(mine, 3); });
  }
}

// The blocks are equal: a side has as many elements as there are ranks.
class GappedRow final : public UserBuffers {
 public:
  GappedRow(const Topology& topology, const Shape& shape, std::uint64_t call)
      : rank_(topology.rank), size_(topology.size), shape_(shape), call_(call), random_(call * 17 + static_cast<std::uint64_t>(rank_)) {
    send_ = side(random_() % 3 == 0);
    recv_ = side(random_() % 3 == 0);
    std::vector<std::byte> row(row_bytes());
    for (int peer = 0; peer < size_; ++peer) fill_block(row.data() + static_cast<std::size_t>(peer) * shape.block_bytes, shape.block_bytes, call, rank_, peer);
    part(sent()).put(row.data(), 0, row.size());
  }
  bool in_place() const override { return shape_.in_place; }
  Status open(Buffers& buffers, const Plan* plan) override {
    taken_ = plan->as_they_lie == Plan::AsTheyLie::all;
    if (taken_) {
      buffers = {sent().memory->data(), recv_.memory->data()};
      buffers.send_gaps = sent().layout.get();
      buffers.recv_gaps = recv_.layout.get();
      return {};
    }
    row_.resize(2 * row_bytes());
    std::byte* const out = shape_.in_place ? row_.data() : row_.data() + row_bytes();
    part(sent()).take(out, 0, row_bytes());
    buffers = {out, row_.data()};
    return {};
  }
  Status close() override {
    if (!taken_) part(recv_).put(row_.data(), 0, row_bytes());
    return {};
  }
  std::string wrong() {
    if (!recv_.memory->intact() || !send_.memory->intact()) return "written outside the buffer";
    std::vector<std::byte> row(row_bytes()), expected(recv_.span, std::byte{0xEE});
    for (int peer = 0; peer < size_; ++peer) fill_block(row.data() + static_cast<std::size_t>(peer) * shape_.block_bytes, shape_.block_bytes, call_, peer, rank_);
    Part(expected.data(), recv_.layout.get(), 0, row.size()).put(row.data(), 0, row.size());
    return same_bytes(expected.data(), recv_.memory->data(), expected.size()) ? "" : "rank " + std::to_string(rank_) + " has wrong bytes";
  }

 private:
  struct OneSide {
    std::shared_ptr<Layout> layout;
    std::size_t span = 0;
    std::unique_ptr<Guarded> memory;
  };
  OneSide side(bool plain) {
    OneSide made;
    if (!plain && shape_.block_bytes > 0) made.layout = layout_for(shape_.block_bytes, random_);
    made.span = made.layout == nullptr ? row_bytes() : static_cast<std::size_t>(made.layout->extent) * (row_bytes() / made.layout->element_bytes);
    made.memory = std::make_unique<Guarded>(made.span, random_() % 3);
    std::memset(made.memory->data(), 0xEE, made.span);
    return made;
  }
  Part part(OneSide& one) { return {one.memory->data(), one.layout.get(), 0, row_bytes()}; }
  OneSide& sent() { return shape_.in_place ? recv_ : send_; }
  std::size_t row_bytes() const { return shape_.block_bytes * static_cast<std::size_t>(size_); }

  int rank_, size_;
  Shape shape_;
  std::uint64_t call_;
  std::mt19937_64 random_;
  OneSide send_, recv_;
  bool taken_ = false;
  std::vector<std::byte> row_;
};

TEST(Gaps, equal_blocks_by_every_algorithm) {
  for (const Algorithm& row : catalogue(Collective::alltoall)) {
    virtual_world::WorldOptions options;
    options.settings.alltoall = row.name;
    for (const Nodes& nodes : {Nodes{0, 0}, Nodes{0, 0, 0, 0, 0}, Nodes{0, 0, 0, 1, 1, 2}}) {
      virtual_world::world(nodes, options, [](Communicator& mine) {
        std::uint64_t call = 0;
        for (const std::size_t bytes : {0u, 1u, 60u, 500u, 4000u, 70'000u}) {
          for (const bool in_place : {false, true}) {
            GappedRow one(mine.topology, alltoall_shape(bytes, in_place), ++call);
            const Outcome outcome = run_collective(mine.slot(), alltoall_shape(bytes, in_place), one);
            ASSERT_TRUE(outcome.status.ok()) << outcome.status.what;
            if (outcome.plan->native()) continue;
            ASSERT_EQ(one.wrong(), "") << outcome.plan->algorithm << ", " << mine.topology.text() << ", " << bytes << (in_place ? ", in place" : "");
          }
        }
      });
    }
  }
}

}  // namespace
}  // namespace crossrail::tests
