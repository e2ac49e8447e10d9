#include "beside.h"

#include <cstdio>

#include "device_driver.h"

namespace bench {
namespace {

using device::insist;
using device::loaded_driver;

// The driver compiles this text for its device, because benches are also built where there is no compiler for devices.
// Each block multiplies and adds for about ten microseconds. Then its first thread checks whether it should stop or
// the time is over, so that a call in which the driver waits for the device does not wait for ever. It reads the
// device's memory: if 66 blocks of an H100 read the host's, the start of any other kernel takes 130 us instead of 8.
constexpr const char* kKernel = R"(
.version 7.0
.target sm_60
.address_size 64
.visible .entry beside(.param .u64 stop_address, .param .u64 begun_address, .param .u64 most_ns)
{
  .reg .pred %first, %stop, %late, %more, %odd;
  .reg .b32 %thread, %flag, %round;
  .reg .b64 %flags, %begun, %most, %began, %now;
  .reg .f32 %value, %factor;
  ld.param.u64 %flags, [stop_address];
  ld.param.u64 %begun, [begun_address];
  ld.param.u64 %most, [most_ns];
  mov.u32 %thread, %tid.x;
  setp.eq.u32 %first, %thread, 0;
  cvt.rn.f32.u32 %value, %thread;
  mov.f32 %factor, 0f3F7FBE77;
  mov.u64 %began, %globaltimer;
  mov.u32 %flag, 1;
  @%first st.volatile.u32 [%begun], %flag;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %began;
  setp.gt.u64 %late, %now, %most;
  mov.u32 %flag, 0;
  @%first ld.volatile.u32 %flag, [%flags];
  setp.ne.u32 %stop, %flag, 0;
  or.pred %stop, %stop, %late;
  and.pred %stop, %stop, %first;
  barrier.red.or.pred %stop, 0, %stop;
  @%stop bra over;
  mov.u32 %round, 0;
compute:
  fma.rn.f32 %value, %value, %factor, %factor;
  fma.rn.f32 %value, %value, %factor, %factor;
  fma.rn.f32 %value, %value, %factor, %factor;
  fma.rn.f32 %value, %value, %factor, %factor;
  fma.rn.f32 %value, %value, %factor, %factor;
  fma.rn.f32 %value, %value, %factor, %factor;
  fma.rn.f32 %value, %value, %factor, %factor;
  fma.rn.f32 %value, %value, %factor, %factor;
  add.u32 %round, %round, 1;
  setp.lt.u32 %more, %round, 256;
  @%more bra compute;
  bra again;
over:
  setp.eq.f32 %odd, %value, 0f3FC00000;
  @%odd st.volatile.f32 [%flags+4], %value;
  ret;
}
)";

constexpr std::size_t kStopBytes = 2 * sizeof(unsigned);
constexpr unsigned kThreads = 1024;
constexpr unsigned long long kMostNs = 500'000'000;
constexpr int kMultiprocessors = 16;     // It is CUDA's number for that attribute of a device.
constexpr unsigned kWaitsForNobody = 1;  // The default stream does not wait for such a stream.
constexpr device::Result kNotReady = 600;

struct Prepared {
  void* kernel = nullptr;
  void* stream = nullptr;
  void* stop = nullptr;                // It is on the device and is followed by a word that is never written.
  volatile unsigned* begun = nullptr;  // It is on the host.
  unsigned blocks = 1;
};
Prepared prepared;

void launch() {
  void* begun = const_cast<unsigned*>(prepared.begun);
  unsigned long long most = kMostNs;
  void* parameters[] = {&prepared.stop, &begun, &most};
  insist(loaded_driver().launch(prepared.kernel, prepared.blocks, 1, 1, kThreads, 1, 1, 0, prepared.stream, parameters, nullptr), "launch a kernel");
}

// Returns false if the kernel has ended.
bool under_way() {
  const device::Result result = loaded_driver().ask(prepared.stream);
  if (result != kNotReady) insist(result, "run a kernel");
  return result == kNotReady;
}

}  // namespace

std::string prepare_beside() {
  const device::Driver& driver = loaded_driver();
  if (driver.load == nullptr || driver.find == nullptr || driver.launch == nullptr || driver.open_stream == nullptr || driver.ask == nullptr ||
      driver.attribute == nullptr || driver.current == nullptr || driver.allocate_pinned == nullptr) {
    return "the driver lacks functions that run kernels";
  }
  int device = 0, multiprocessors = 0;
  void *module = nullptr, *begun = nullptr;
  device::Result result = driver.current(&device);
  if (result == 0) result = driver.attribute(&multiprocessors, kMultiprocessors, device);
  if (result == 0) result = driver.load(&module, kKernel);
  if (result == 0) result = driver.find(&prepared.kernel, module, "beside");
  if (result == 0) result = driver.open_stream(&prepared.stream, kWaitsForNobody);
  if (result == 0) result = driver.allocate_pinned(&begun, sizeof(unsigned), 0);
  if (result != 0) return "the GPU cannot run a kernel beside the calls: " + device::text_of(result);
  prepared.begun = static_cast<unsigned*>(begun);
  prepared.stop = device::allocate(kStopBytes);
  if (prepared.stop == nullptr) return "the GPU has no memory left";
  prepared.blocks = static_cast<unsigned>(multiprocessors > 1 ? multiprocessors / 2 : 1);
  return "";
}

WorkBeside::WorkBeside(const Calls& calls) : running_(calls.beside()) {
  if (!running_) return;
  device::set(prepared.stop, 0, kStopBytes);
  *prepared.begun = 0;
  launch();
  while (*prepared.begun == 0 && under_way()) continue;
}

WorkBeside::~WorkBeside() {
  if (!running_) return;
  static bool said = false;
  if (!under_way() && !said) {
    std::fprintf(stderr, "bench: calls took longer than the kernel beside them, %llu ms: the last ones had the device for themselves\n", kMostNs / 1'000'000);
    said = true;
  }
  device::set(prepared.stop, 1, kStopBytes);
  insist(loaded_driver().wait(prepared.stream), "wait for a kernel");
}

}  // namespace bench
