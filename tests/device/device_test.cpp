// Drivers show up in a process. There is one process, in this order: what has been loaded stays.

#include "device/device.h"
#include "device/loader_mark.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "virtual_world/host_device.h"

namespace crossrail::tests {
namespace {

void load(const char* name) { EXPECT_NE(dlopen((std::string(DEVICE_TEST_FOLDER "/") + name).c_str(), RTLD_NOW), nullptr) << dlerror(); }

TEST(LoaderMark, tells_that_something_has_been_loaded) {
  device::LoaderMark mark;
  EXPECT_FALSE(mark.nothing_loaded_since()) << "nobody has marked a moment";
  mark.renew();
  if (!mark.nothing_loaded_since()) GTEST_SKIP() << "no libBrokenLocale here";
  load("libze_loader.so.1");
  EXPECT_FALSE(mark.nothing_loaded_since());
  mark.renew();
  EXPECT_TRUE(mark.nothing_loaded_since());
  void* const others = dlopen("libBrokenLocale.so.1", RTLD_NOW);
  EXPECT_TRUE(mark.nothing_loaded_since());
  mark.renew();
  EXPECT_FALSE(mark.nothing_loaded_since()) << "a mark that stays where it is tells nothing";
  dlclose(others);
  mark.drop();
}

// It asks often enough for the moment to be marked.
void ask_often(bool present) {
  for (int again = 0; again < 100; ++again) EXPECT_EQ(device::driver_present(), present);
}

TEST(Drivers, one_that_we_have_no_module_for_at_all_changes_nothing) {
  ask_often(false);
  load("libze_loader.so.1");
  EXPECT_FALSE(device::driver_without_module());
  EXPECT_FALSE(device::driver_present());
  EXPECT_EQ(device::module(), nullptr);
}

// There is no module beside this program. It matters where the machine has such devices.
TEST(Drivers, one_without_its_module_matters_where_it_has_devices) {
  ask_often(false);
  load("libamdhip64.so.1");
  EXPECT_EQ(device::driver_without_module(), access("/dev/kfd", F_OK) == 0 || access("/dev/dxg", F_OK) == 0);
  EXPECT_TRUE(device::driver_present());
  EXPECT_EQ(device::module(), nullptr);
  int here = 0;
  EXPECT_FALSE(device::is_device_memory(&here));
}

TEST(Modules, tell_and_copy_their_memory) {
  device::use_module(host_device_module());
  void* const memory = host_device_alloc(64, HOST_DEVICE_PLAIN);
  const char sent[64] = "to a device and back";
  char got[64] = {};
  EXPECT_TRUE(device::is_device_memory(memory));
  EXPECT_FALSE(device::is_device_memory(sent));
  EXPECT_TRUE(device::copy(memory, sent, sizeof sent).ok());
  EXPECT_TRUE(device::copy(got, memory, sizeof got).ok());
  EXPECT_STREQ(got, sent);
  EXPECT_STREQ(device::answered("no").what, "host module: no");
  host_device_free(memory);
  device::use_module(nullptr);
}

// Modules and libraries of different versions may meet.
TEST(Modules, refuse_work_of_a_kind_that_they_do_not_know) {
  const crossrail_device_module& module = *host_device_module();
  EXPECT_EQ(module.size, sizeof module);
  void* const memory = host_device_alloc(64, HOST_DEVICE_PLAIN);
  crossrail_memory facts{};
  module.describe(memory, 64, &facts);
  crossrail_queue* queue = nullptr;
  crossrail_queue_facts found{};
  ASSERT_EQ(module.open_queue(&facts, 0, &queue, &found), nullptr);
  crossrail_work work{};
  std::uint64_t flag = 0;
  work.flag = &flag;
  work.value = 1;
  for (const std::uint32_t kind : {0u, 1000u}) {
    work.kind = kind;
    EXPECT_NE(module.supports(queue, &work, nullptr), nullptr) << kind;
    EXPECT_NE(module.enqueue(queue, &work), nullptr) << kind;
  }
  work.kind = CROSSRAIL_WORK_BARRIER;
  EXPECT_EQ(module.supports(queue, &work, nullptr), nullptr);
  EXPECT_EQ(module.enqueue(queue, &work), nullptr);
  EXPECT_EQ(module.sync(queue, CROSSRAIL_SYNC_DRAIN), nullptr);
  EXPECT_EQ(flag, 1u) << "what is known is done";
  module.close_queue(queue);
  host_device_free(memory);
}

}  // namespace
}  // namespace crossrail::tests
