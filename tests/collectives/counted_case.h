// This is one rank's side of an alltoallv in a stream's order, whose counts and displacements are in device memory or in host memory.
#pragma once

#include <deque>

#include "comm/counted_buffers.h"
#include "tests/collectives/alltoallv_case.h"
#include "tests/collectives/device_case.h"

namespace crossrail::tests {

// This is an array of one entry for every rank.
class CountArray {
 public:
  CountArray(int ranks, bool on_device) : row_(static_cast<std::size_t>(ranks) * sizeof(std::int32_t), 0, HOST_DEVICE_PLAIN), host_(ranks), on_device_(on_device) {}
  const std::int32_t* data() { return on_device_ ? reinterpret_cast<const std::int32_t*>(row_.data()) : host_.data(); }
  // The stream brings the values to device memory. The next call reads host memory, which may be overwritten after it.
  void set(void* stream, const std::vector<std::int32_t>& values) {
    if (on_device_) {
      kept_.push_back(values);
      const crossrail_block copy{row_.data(), kept_.back().data(), values.size() * sizeof(std::int32_t)};
      host_device_copy(stream, &copy);
    } else {
      host_ = values;
    }
  }
  void spoil() { std::fill(host_.begin(), host_.end(), -77); }
  bool intact() { return row_.intact(); }

 private:
  DeviceRow row_;
  std::vector<std::int32_t> host_;
  bool on_device_;
  std::deque<std::vector<std::int32_t>> kept_;
};

struct CountedSideCase {
  CountedSideCase(std::size_t room, int ranks, int arrays)
      : row(room, 3, HOST_DEVICE_PLAIN), counts(ranks, (arrays & 1) != 0), displacements(ranks, (arrays & 2) != 0) {}
  DeviceRow row;
  CountArray counts, displacements;
  crossrail_counted_side side(std::int64_t element_bytes) { return {row.data(), counts.data(), displacements.data(), element_bytes, 0, 0}; }
  bool intact() { return row.intact() && counts.intact() && displacements.intact(); }
};

// These calls use the same buffers, with other data, lengths and places each, and nobody waits between them.
class CountedCalls {
 public:
  static constexpr std::size_t kRoom = 220'000;

  // `arrays` says which of the four are in device memory, a bit each.
  CountedCalls(Communicator& communicator, std::int64_t element_bytes, int arrays, void* stream)
      : communicator_(communicator),
        rank_(communicator.topology.rank),
        size_(communicator.topology.size),
        element_bytes_(element_bytes),
        send_(kRoom, size_, arrays),
        recv_(kRoom, size_, arrays >> 2),
        stream_(stream) {}

  CountedSideCase& send() { return send_; }
  CountedSideCase& recv() { return recv_; }
  // From this call on, senders send so many elements more than each receiver has room for.
  void send_more(std::int32_t elements) { more_ = elements; }

  Status call(Counts counts, std::uint64_t number) {
    const Laid out = lay_out(counts, number, true), in = lay_out(counts, number, false);
    Call& one = calls_.emplace_back();
    one.sent.resize(kRoom, std::byte{0x77});
    one.expected.resize(kRoom, std::byte{0xEE});
    one.poison = one.expected;
    one.got.resize(kRoom);
    for (int peer = 0; peer < size_; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      fill(one.sent, out, at, {number, rank_, peer});
      fill(one.expected, in, at, {number, peer, rank_});
    }
    copy({send_.row.data(), one.sent.data(), kRoom});
    copy({recv_.row.data(), one.poison.data(), kRoom});
    set(send_, out);
    set(recv_, in);
    const Status status = enqueue();
    for (CountedSideCase* side : {&send_, &recv_}) {
      side->counts.spoil();
      side->displacements.spoil();
    }
    copy({one.got.data(), recv_.row.data(), kRoom});
    return status;
  }
  Status enqueue() {
    CountedBuffers buffers(send_.side(element_bytes_), recv_.side(element_bytes_));
    return run_on_stream(communicator_, kVectorShape, buffers, stream_);
  }
  void set(CountedSideCase& side, const std::vector<std::int32_t>& counts, const std::vector<std::int32_t>& displacements) {
    side.counts.set(stream_, counts);
    side.displacements.set(stream_, displacements);
  }
  // Everything that was enqueued is done here.
  void check() {
    host_device_wait(stream_);
    for (const Call& one : calls_) EXPECT_TRUE(one.got == one.expected) << "rank " << rank_ << " of " << size_ << ", elements of " << element_bytes_;
    EXPECT_TRUE(send_.intact() && recv_.intact());
    calls_.clear();
  }

 private:
  struct Call {
    std::vector<std::byte> sent, poison, expected, got;
  };
  struct Laid {
    std::vector<std::int32_t> counts, displacements;
  };
  struct Which {
    std::uint64_t number;
    int from, to;
  };
  std::int32_t elements(Counts counts, const Which& which) const {
    return static_cast<std::int32_t>(block_bytes(counts, which.number, which.from, which.to) / static_cast<std::size_t>(element_bytes_));
  }
  // Blocks lie in an order of their own, with gaps between them.
  Laid lay_out(Counts counts, std::uint64_t number, bool sent) const {
    std::vector<int> order(static_cast<std::size_t>(size_));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(number * 31 + static_cast<std::uint64_t>(rank_) + (sent ? 17 : 0));
    std::shuffle(order.begin(), order.end(), random);
    Laid laid{std::vector<std::int32_t>(order.size()), std::vector<std::int32_t>(order.size())};
    std::int32_t at = 0;
    for (const int peer : order) {
      const auto entry = static_cast<std::size_t>(peer);
      at += static_cast<std::int32_t>(random() % 3);
      laid.displacements[entry] = at;
      laid.counts[entry] = elements(counts, sent ? Which{number, rank_, peer} : Which{number, peer, rank_}) + (sent ? more_ : 0);
      at += laid.counts[entry];
    }
    EXPECT_LE(static_cast<std::size_t>(at * element_bytes_), kRoom);
    return laid;
  }
  void fill(std::vector<std::byte>& row, const Laid& laid, std::size_t peer, const Which& which) const {
    fill_block(row.data() + laid.displacements[peer] * element_bytes_, static_cast<std::size_t>(laid.counts[peer] * element_bytes_), which.number,
               which.from, which.to);
  }
  void set(CountedSideCase& side, const Laid& laid) { set(side, laid.counts, laid.displacements); }
  void copy(const crossrail_block& block) { host_device_copy(stream_, &block); }

  Communicator& communicator_;
  int rank_, size_;
  std::int64_t element_bytes_;
  CountedSideCase send_, recv_;
  void* stream_;
  std::int32_t more_ = 0;
  std::deque<Call> calls_;
};

}  // namespace crossrail::tests
