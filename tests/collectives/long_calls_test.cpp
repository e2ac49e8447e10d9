// Calls move more than 4 GiB a rank in little memory. A rank's buffers are the same few pages again and again, whose number does not divide 2^32, so
// that what comes from the right place but for a multiple of that is not what belongs there.

#include <sys/mman.h>
#include <unistd.h>

#include "collectives/allreduce/node_part.h"
#include "tests/collectives/allreduce_case.h"

namespace crossrail::tests {
namespace {

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kPeriod = std::size_t{12} << 20;
constexpr std::size_t kHalf = 2 * 86 * kPeriod;  // It is half a buffer, more than 2 GiB, and even: of two ranks, both have one.
static_assert(kHalf > std::size_t{1} << 31 && (std::size_t{1} << 32) % kPeriod != 0);

class Repeated {
 public:
  explicit Repeated(std::size_t bytes) : bytes_(bytes) {
    const int pages = memfd_create("crossrail_long_calls", 0);
    EXPECT_EQ(ftruncate(pages, kPeriod), 0);
    memory_ = static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (std::size_t at = 0; at < bytes_; at += kPeriod) {
      EXPECT_NE(mmap(memory_ + at, kPeriod, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, pages, 0), MAP_FAILED);
    }
    close(pages);
  }
  ~Repeated() { munmap(memory_, bytes_); }
  Repeated(const Repeated&) = delete;
  std::byte* data() const { return memory_; }

 private:
  std::size_t bytes_;
  std::byte* memory_;
};

// The values have no shorter period.
std::uint8_t value_at(std::size_t at) { return static_cast<std::uint8_t>((at * 2654435761U >> 24) % 60); }

// fill() writes the bytes as they are sent, and wrong_bytes() expects `times` times as much.
void fill(std::byte* memory) {
  for (std::size_t at = 0; at < kPeriod; ++at) memory[at] = std::byte{value_at(at)};
}
std::size_t wrong_bytes(const std::byte* memory, int times) {
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < kPeriod; ++at) wrong += memory[at] != static_cast<std::byte>(times * value_at(at)) ? 1U : 0U;
  return wrong;
}

void long_call(Communicator& communicator, const Shape& shape, int times) {
  const Repeated send(2 * kHalf), recv(2 * kHalf);
  fill(send.data());
  const Outcome outcome = run_collective(communicator, shape, Buffers{send.data(), recv.data()});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.what;
  EXPECT_FALSE(outcome.plan->native());
  EXPECT_EQ(wrong_bytes(recv.data(), times), 0U) << outcome.plan->algorithm << " on " << communicator.topology.text();
  EXPECT_EQ(wrong_bytes(send.data(), 1), 0U);
}

virtual_world::WorldOptions by(const std::string& allreduce, const std::string& alltoall) {
  virtual_world::WorldOptions options;
  options.settings.allreduce = allreduce;
  options.settings.alltoall = alltoall;
  return options;
}

TEST(LongCalls, allreduce_in_a_node) {
  virtual_world::world({0, 0}, by("node_shared part=8M", ""), [](Communicator& communicator) {
    long_call(communicator, allreduce_shape(2 * kHalf, {Operation::sum, Element::int8}), 2);
  });
}

TEST(LongCalls, allreduce_by_messages) {
  virtual_world::world({0, 1}, by("ring", ""), [](Communicator& communicator) {
    long_call(communicator, allreduce_shape(2 * kHalf, {Operation::sum, Element::int8}), 2);
  });
}

TEST(LongCalls, alltoall_in_a_node) {
  virtual_world::world({0, 0}, by("", "node_shared chunk=4M"), [](Communicator& communicator) { long_call(communicator, alltoall_shape(kHalf), 1); });
}
#endif

constexpr std::size_t kMany = (std::size_t{1} << 33) + 7;

TEST(LongCounts, are_dealt_without_gaps) {
  for (const std::size_t members : {std::size_t{1}, std::size_t{3}, std::size_t{7}, std::size_t{1000}}) {
    std::size_t next = 0;
    const allreduce::Deal deal{kMany, members};
    for (std::size_t member = 0; member < members; ++member) {
      EXPECT_EQ(deal.of(member).first, next);
      next += deal.of(member).count;
    }
    EXPECT_EQ(next, kMany);
    next = 0;
    const allreduce::Shares shares{kMany, 16, static_cast<int>(members)};
    for (int rank = 0; rank < static_cast<int>(members); ++rank) {
      const allreduce::Stretch its = shares.of(rank);
      EXPECT_TRUE(its.count == 0 || its.first == next);
      next += its.count;
    }
    EXPECT_EQ(next, kMany);
  }
}

TEST(LongCounts, go_in_parts_without_gaps) {
  constexpr std::size_t kBytes = 16, kPart = std::size_t{512} << 20;
  std::size_t done = 0;
  std::byte none{};  // Nothing is read or written there.
  const auto begin = reinterpret_cast<std::uintptr_t>(&none);
  const Status status = allreduce::in_parts({&none, &none, kMany}, kBytes, kPart, [&](const allreduce::Elements& part) -> Status {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part.recv), begin + done * kBytes);
    done += part.count;
    return {};
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(done, kMany);
}

TEST(LongCounts, are_told_apart) {
  const Reduction sum{Operation::sum, Element::int8};
  EXPECT_EQ(allreduce_shape(kMany, {Operation::sum, Element::complex_float64}).block_bytes, 16 * kMany);
  EXPECT_NE(allreduce_shape(7, sum).hash(), allreduce_shape(kMany, sum).hash());
  EXPECT_NE(allreduce_shape(kMany, sum).hash(), allreduce_shape(kMany + (std::size_t{1} << 32), sum).hash());
}

}  // namespace
}  // namespace crossrail::tests
