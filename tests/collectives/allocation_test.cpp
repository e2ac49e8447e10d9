// run() allocates nothing. Every operator new of the calling threads is counted.

#include <cstdlib>
#include <new>

#include "tests/collectives/allreduce_case.h"
#include "tests/collectives/alltoallv_case.h"
#include "tests/collectives/device_case.h"

namespace {
thread_local std::uint64_t allocations = 0;
}

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t& never) noexcept { return operator new(bytes, never); }
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // GCC 12 sees the free, not the malloc.
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace crossrail::tests {
namespace {

class EveryRowRuns : public testing::TestWithParam<Algorithm> {};

INSTANTIATE_TEST_SUITE_P(alltoall, EveryRowRuns,
                         testing::ValuesIn(catalogue(Collective::alltoall).begin(), catalogue(Collective::alltoall).end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Counter, counts) {
  const std::uint64_t before = allocations;
  const auto memory = std::make_unique<std::byte[]>(100);
  EXPECT_EQ(allocations, before + 1);
  EXPECT_NE(memory, nullptr);
}

// The first calls make the plan. Then nothing more is allocated.
TEST_P(EveryRowRuns, without_allocating) {
  virtual_world::WorldOptions options;
  options.settings.alltoall = GetParam().name;
  const auto call = [](Communicator& communicator) {
    for (const std::size_t bytes : {0, 8, 300, 5000, 100'000}) {
      for (const bool in_place : {false, true}) {
        const Shape shape = alltoall_shape(bytes, in_place);
        AlltoallCase one(communicator.topology, shape, 1);
        for (int warm = 0; warm < 8; ++warm) EXPECT_TRUE(run_collective(communicator, shape, one.buffers()).status.ok());
        const std::uint64_t before = allocations;
        for (int again = 0; again < 5; ++again) (void)run_collective(communicator, shape, one.buffers());
        EXPECT_EQ(allocations, before) << GetParam().name << ", blocks of " << bytes;
      }
    }
  };
  for (const std::uint64_t scratch : {std::uint64_t{0}, std::uint64_t{300'000}}) {  // With 300,000 bytes, the longest blocks may go in slices.
    options.settings.scratch_bytes = scratch;
    for (const Nodes& nodes : {Nodes{0, 0, 0, 0}, Nodes{0, 1, 0, 1, 2}}) virtual_world::world(nodes, options, call);
  }
}

class EveryVectorRowRuns : public testing::TestWithParam<Algorithm> {};

INSTANTIATE_TEST_SUITE_P(alltoallv, EveryVectorRowRuns,
                         testing::ValuesIn(catalogue(Collective::alltoallv).begin(), catalogue(Collective::alltoallv).end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(EveryVectorRowRuns, without_allocating) {
  virtual_world::WorldOptions options;
  options.settings.alltoallv = GetParam().name;
  const auto call = [](Communicator& communicator) {
    for (const Counts counts : kCounts) {
      AlltoallvCase one(communicator.topology, counts, 1);
      std::uint64_t before = 0;
      for (int again = 0; again < 12; ++again) {
        if (again == 8) before = allocations;
        EXPECT_TRUE(run_collective(communicator, kVectorShape, one.buffers()).status.ok());
      }
      EXPECT_EQ(allocations, before) << GetParam().name << ", counts " << static_cast<int>(counts);
    }
  };
  for (const Nodes& nodes : {Nodes{0, 0, 0, 0}, Nodes{0, 1, 0, 1, 2}}) virtual_world::world(nodes, options, call);
}

class EveryReducingRowRuns : public testing::TestWithParam<Algorithm> {};

INSTANTIATE_TEST_SUITE_P(allreduce, EveryReducingRowRuns,
                         testing::ValuesIn(catalogue(Collective::allreduce).begin(), catalogue(Collective::allreduce).end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(EveryReducingRowRuns, without_allocating) {
  virtual_world::WorldOptions options;
  options.settings.allreduce = GetParam().name;
  const auto call = [](Communicator& communicator) {
    for (const std::size_t count : {0, 1, 300, 5000, 100'000}) {
      const Shape shape = allreduce_shape(count);
      AllreduceCase one(communicator.topology, shape, 1, Side::apart);
      for (int warm = 0; warm < 8; ++warm) EXPECT_TRUE(run_collective(communicator, shape, one.buffers()).status.ok());
      const std::uint64_t before = allocations;
      for (int again = 0; again < 5; ++again) (void)run_collective(communicator, shape, one.buffers());
      EXPECT_EQ(allocations, before) << GetParam().name << ", " << count << " elements";
    }
  };
  for (const Nodes& nodes : {Nodes{0, 0, 0, 0}, Nodes{0, 1, 0, 1, 2}}) virtual_world::world(nodes, options, call);
}

// What the simulated device allocates for itself does not count.
template <auto function, class... Arguments>
auto uncounted(Arguments... arguments) {
  const std::uint64_t before = allocations;
  const auto answer = (host_device_module()->*function)(arguments...);
  allocations = before;
  return answer;
}

const crossrail_device_module* quiet_device() {
  using Module = crossrail_device_module;
  static const Module module = [] {
    Module quiet = *host_device_module();
    quiet.enqueue = [](crossrail_queue* queue, const crossrail_work* work) { return uncounted<&Module::enqueue>(queue, work); };
    return quiet;
  }();
  return &module;
}

class EveryDeviceRowRuns : public testing::TestWithParam<Algorithm>, protected WithHostDevice {
 protected:
  EveryDeviceRowRuns() { device::use_module(quiet_device()); }
};

INSTANTIATE_TEST_SUITE_P(alltoall_device, EveryDeviceRowRuns, testing::ValuesIn(device_rows()),
                         [](const auto& row) { return std::string(row.param.name); });

void repeat(Communicator& communicator, const Shape& shape, Kinds kinds) {
  DeviceCase one(communicator, shape, kinds);
  PlainBuffers plain(one.buffers().device_buffers(), one.bytes());
  std::uint64_t before = 0;
  for (int again = 0; again < 12; ++again) {
    if (again == 8) before = allocations;
    const Outcome outcome = run_collective(communicator, shape, plain);
    EXPECT_TRUE(outcome.status.ok() && outcome.plan->shape.memory == Memory::device) << one.text(0);
  }
  EXPECT_EQ(allocations, before) << one.text(0);
}

// Memory is mapped by peers, and staged.
TEST_P(EveryDeviceRowRuns, without_allocating) {
  virtual_world::world({0, 0, 0}, forced_on_devices(GetParam()), [](Communicator& communicator) {
    for (const std::size_t bytes : {8, 5000, 20000}) {
      for (const bool in_place : {false, true}) {
        repeat(communicator, alltoall_shape(bytes, in_place), {});
        repeat(communicator, alltoall_shape(bytes, in_place), {HOST_DEVICE_UNSHAREABLE, HOST_DEVICE_UNSHAREABLE});
      }
    }
  });
}

TEST_P(EveryDeviceRowRuns, without_allocating_in_a_stream) {
  virtual_world::world({0, 0, 0}, forced_on_devices(GetParam()), [](Communicator& communicator) {
    for (const std::size_t bytes : {8, 5000, 20000}) {
      DeviceCase one(communicator, alltoall_shape(bytes), {});
      std::uint64_t before = 0;
      for (int again = 0; again < 12; ++again) {
        if (again == 8) before = allocations;
        EXPECT_TRUE(run_on_stream(communicator, alltoall_shape(bytes), one.buffers(), nullptr).ok());
      }
      EXPECT_EQ(allocations, before) << one.text(0);
      host_device_wait(nullptr);
      EXPECT_TRUE(communicator.slot().control->barrier().ok());
    }
  });
}

}  // namespace
}  // namespace crossrail::tests
