// Messages between pairs of ranks, with data that differ from message to message, and memory around them that nobody may touch.
#pragma once

#include <memory>
#include <vector>

#include "tests/nccl/team.h"

namespace nccl_tests {

// It is one end of a message, on memory of its own at any address.
class End {
 public:
  End(std::size_t bytes, std::size_t shift) : bytes_(bytes), begin_(kGuard + shift), all_(bytes + shift + 2 * kGuard) {
    memory_ = static_cast<std::byte*>(host_device_alloc(all_, HOST_DEVICE_PLAIN));
  }
  ~End() { host_device_free(memory_); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  void* at() const { return memory_ + begin_; }
  std::size_t bytes() const { return bytes_; }
  // These are done in the stream.
  void fill(std::uint64_t seed, void* stream) {
    image_ = expected(seed);
    copy({memory_, image_.data(), all_}, stream);
  }
  void poison(void* stream) {
    image_.assign(all_, kPoison);
    copy({memory_, image_.data(), all_}, stream);
  }
  void fetch(void* stream) {
    got_.assign(all_, 0);
    copy({got_.data(), memory_, all_}, stream);
  }
  // The stream is done.
  bool has(std::uint64_t seed) const { return got_ == expected(seed); }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr unsigned char kPoison = 0xEE;
  static void copy(const crossrail_block& block, void* stream) { host_device_copy(stream, &block); }
  std::vector<unsigned char> expected(std::uint64_t seed) const {
    std::vector<unsigned char> all(all_, kPoison);
    std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (std::size_t at = 0; at < bytes_; ++at) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      all[begin_ + at] = static_cast<unsigned char>(state >> 56);
    }
    return all;
  }

  std::size_t bytes_, begin_, all_;
  std::byte* memory_;
  std::vector<unsigned char> image_, got_;
};

inline ncclResult_t send(const End& end, int peer, ncclComm_t comm, void* stream) {
  const bool words = end.bytes() % 4 == 0;
  return ncclSend(end.at(), words ? end.bytes() / 4 : end.bytes(), words ? ncclInt32 : ncclUint8, peer, comm, stream);
}
inline ncclResult_t receive(const End& end, int peer, ncclComm_t comm, void* stream) {
  const bool words = end.bytes() % 4 == 0;
  return ncclRecv(end.at(), words ? end.bytes() / 4 : end.bytes(), words ? ncclInt32 : ncclUint8, peer, comm, stream);
}

// All ranks add the same messages, and each makes its own, in this order.
class Pairs {
 public:
  Pairs(Rank& rank, const Team& team, std::uint64_t number) : rank_(rank), team_(team), seed_(number * 1000003) {}

  // Messages of words lie at multiples of 4.
  void add(int from, int to, std::size_t bytes) {
    ++seed_;
    const std::size_t grain = bytes % 4 == 0 ? 4 : 1;
    if (from == team_.rank) all_.push_back({true, to, seed_, std::make_unique<End>(bytes, seed_ % 16 / grain * grain)});
    if (to == team_.rank) all_.push_back({false, from, seed_, std::make_unique<End>(bytes, seed_ / 3 % 16 / grain * grain)});
  }
  // They have other data from now on.
  void renew() {
    for (One& one : all_) one.seed += 7919;
  }
  void prepare(void* sends, void* receives) {
    for (One& one : all_) {
      if (one.sent) one.end->fill(one.seed, sends);
      else one.end->poison(receives);
    }
  }
  void call(void* sends, void* receives) {
    for (const One& one : all_) {
      const ncclResult_t result = one.sent ? send(*one.end, one.peer, team_.comm, sends) : receive(*one.end, one.peer, team_.comm, receives);
      check(rank_, result == ncclSuccess, "a message has failed", result);
    }
  }
  void fetch(void* stream) {
    for (One& one : all_) one.end->fetch(stream);
  }
  // The stream is done. What has been sent is still there.
  void compare(const char* what) {
    for (const One& one : all_) check(rank_, one.end->has(one.seed), what, static_cast<long>(one.end->bytes()));
  }
  // Makes all of them as one group, and waits for them.
  void exchange(void* stream, const char* what) {
    prepare(stream, stream);
    check(rank_, ncclGroupStart() == ncclSuccess, "ncclGroupStart");
    call(stream, stream);
    check(rank_, ncclGroupEnd() == ncclSuccess, "ncclGroupEnd");
    fetch(stream);
    host_device_wait(stream);
    compare(what);
  }
  std::uint64_t count() const { return all_.size(); }

 private:
  struct One {
    bool sent;
    int peer;
    std::uint64_t seed;
    std::unique_ptr<End> end;
  };
  Rank& rank_;
  const Team& team_;
  std::uint64_t seed_;
  std::vector<One> all_;
};

// Every rank sends to the next one, in one group.
inline void shift_round(Rank& rank, const Team& team, std::size_t bytes, std::uint64_t number) {
  Pairs shift(rank, team, number);
  for (int from = 0; from < team.size(); ++from) shift.add(from, (from + 1) % team.size(), bytes);
  shift.exchange(nullptr, "a message to the next rank");
}

}  // namespace nccl_tests
