// This program compares a device module's table with plain host loops.
//   module_test LIBRARY            all tests; exits 77 (skipped) where there is no GPU
//   module_test LIBRARY --time     medians, for choosing defaults

#include "module_test.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace module_test {

void require(cudaError_t result, const char* what) { require(result == cudaSuccess ? nullptr : cudaGetErrorString(result), what); }

void require(const char* error, const char* what) {
  if (error == nullptr) return;
  std::fprintf(stderr, "%s: %s\n", what, error);
  std::exit(2);
}

bool expect(bool right, const char* format, ...) {
  if (right) return true;
  if (++wrong <= 40) {
    std::va_list arguments;
    va_start(arguments, format);
    std::fputs("WRONG: ", stderr);
    std::vfprintf(stderr, format, arguments);
    std::fputc('\n', stderr);
    va_end(arguments);
  }
  return false;
}

Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes made(bytes);
  unsigned state = seed * 2654435761u + 12345;
  for (unsigned char& byte : made) byte = static_cast<unsigned char>((state = state * 1664525u + 1013904223u) >> 24);
  return made;
}

Memory::Memory(int device, std::size_t wanted) : bytes(wanted) {
  require(cudaSetDevice(device), "cudaSetDevice");
  void* made = nullptr;
  require(cudaMalloc(&made, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
  at = static_cast<char*>(made);
  require(cudaSetDevice(0), "cudaSetDevice");
}
Memory::~Memory() { (void)cudaFree(at); }
void Memory::fill(const Bytes& from) {
  require(cudaMemcpy(at, from.data(), bytes, cudaMemcpyHostToDevice), "fill");
  // A copy from pageable memory may still be on its way, and our streams do not wait for it.
  require(cudaDeviceSynchronize(), "fill");
}
void Memory::fill(unsigned char value) { fill(Bytes(bytes, value)); }
Bytes Memory::read() const {
  Bytes to(bytes);
  require(cudaMemcpy(to.data(), at, bytes, cudaMemcpyDeviceToHost), "read");
  return to;
}

crossrail_memory facts_of(const void* pointer, std::size_t bytes) {
  crossrail_memory memory{};
  module->describe(pointer, bytes, &memory);
  return memory;
}

crossrail_memory_kind kind_of(const void* pointer) { return facts_of(pointer, 0).kind; }

const char* copy(void* to, const void* from, std::size_t bytes) {
  const crossrail_rows row{to, from, bytes, 1, bytes};
  return module->copy(&row, 1);
}

crossrail_work work_of(crossrail_work_kind kind, std::uint64_t* flag, std::uint64_t value, void* stream) {
  crossrail_work work{};
  work.kind = kind;
  work.flag = flag;
  work.value = value;
  work.stream = stream;
  return work;
}

namespace {

bool has_packets(crossrail_queue* queue, crossrail_packet_form form) {
  crossrail_packets packets{};
  packets.work.kind = CROSSRAIL_WORK_PACKETS;
  packets.form = form;
  return module->supports(queue, &packets.work, nullptr) == nullptr;
}

}  // namespace

std::size_t packets_bytes(crossrail_queue* queue, crossrail_packet_form form, int ranks, std::size_t block_bytes) {
  crossrail_packets packets{};
  packets.work.kind = CROSSRAIL_WORK_PACKETS;
  packets.form = form;
  packets.ranks = ranks;
  packets.block_bytes = block_bytes;
  std::size_t bytes = 0;
  require(module->supports(queue, &packets.work, &bytes), "supports");
  return bytes;
}

std::vector<crossrail_packet_form> forms() {
  std::vector<crossrail_packet_form> all{CROSSRAIL_PACKETS_LL};
  Queue first(0), last(devices - 1);
  const bool whole = has_packets(first, CROSSRAIL_PACKETS_LL128) && has_packets(last, CROSSRAIL_PACKETS_LL128);
  if (whole) all.push_back(CROSSRAIL_PACKETS_LL128);
  if (!whole) std::puts("packets of 128 bytes not tested: the devices' links may break them");
  return all;
}

Queue::Queue(int device, bool timed) : near(device, 256) {
  const crossrail_memory facts = facts_of(near.at, 256);
  crossrail_queue_facts found{};
  require(module->open_queue(&facts, timed ? 1 : 0, &queue, &found), "open_queue");
  flags = static_cast<std::uint64_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  void* mapped = nullptr;
  require(module->open_pages(queue, flags, 4096, &mapped), "open_pages");
}
Queue::~Queue() {
  module->close_pages(queue, flags);
  module->close_queue(queue);
  munmap(flags, 4096);
}

bool Queue::await(std::uint64_t wanted, int word) {
  const double began = now_us();
  while (__atomic_load_n(flag(word), __ATOMIC_ACQUIRE) != wanted) {
    if (now_us() - began < 1e7) continue;
    const char* state = module->sync(queue, CROSSRAIL_SYNC_ERRORS);
    return expect(false, "flag %d is %llu and not %llu; the queue: %s", word, static_cast<unsigned long long>(*flag(word)),
                  static_cast<unsigned long long>(wanted), state == nullptr ? "no error" : state);
  }
  return true;
}

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

namespace {

void open_module(const char* library) {
  void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  require(opened == nullptr ? dlerror() : nullptr, "dlopen");
  const auto entry = reinterpret_cast<crossrail_device_module_entry>(dlsym(opened, CROSSRAIL_DEVICE_MODULE_ENTRY));
  require(entry == nullptr ? "no " CROSSRAIL_DEVICE_MODULE_ENTRY : nullptr, library);
  module = entry();
  require(module == nullptr ? "says it cannot work here" : nullptr, library);
  expect(module->size == sizeof(crossrail_device_module), "a table of %zu bytes", module->size);
}

bool has_kernels() {
  Queue queue(0);
  const crossrail_work unknown = work_of(static_cast<crossrail_work_kind>(1000)), move = work_of(CROSSRAIL_WORK_MOVE);
  expect(module->supports(queue, &unknown, nullptr) != nullptr && module->enqueue(queue, &unknown) != nullptr, "a kind that nobody knows is refused");
  return module->supports(queue, &move, nullptr) == nullptr;
}

void enable_peers() {
  for (int from = 0; from < devices; ++from) {
    require(cudaSetDevice(from), "cudaSetDevice");
    require(cudaFree(nullptr), "cudaFree");
    for (int to = 0; to < devices; ++to) {
      if (to != from) require(cudaDeviceEnablePeerAccess(to, 0), "cudaDeviceEnablePeerAccess");
    }
  }
  require(cudaSetDevice(0), "cudaSetDevice");
}

void run_step(const char* name, void (*test)()) {
  const int before = wrong;
  const double began = now_us();
  test();
  std::printf("%-10s %s (%.1f s)\n", name, wrong == before ? "right" : "WRONG", (now_us() - began) / 1e6);
  std::fflush(stdout);
}

void test_all(const char* program, const char* library) {
  for (const char* way : {"kernel", "update", "graph"}) {
    setenv("CROSSRAIL_LAUNCH", way, 1);
    std::printf("CROSSRAIL_LAUNCH=%s\n", way);
    run_step("exchange", test_exchange);
    run_step("buffers", test_receive_buffers);
  }
  unsetenv("CROSSRAIL_LAUNCH");
  run_step("messages", test_messages);
  run_step("streams", test_streams);
  run_step("persistent", test_persistent);
  run_step("movement", test_movement);
  run_step("combining", test_combining);
  run_step("times", test_device_times);
  run_step("ids", test_ids);
  const int before = wrong;
  test_sharing(program, library);
  std::printf("%-10s %s\n", "sharing", wrong == before ? "right" : "WRONG");
}

}  // namespace
}  // namespace module_test

int main(int argc, char** argv) {
  using namespace module_test;
  if (argc < 2) return std::fprintf(stderr, "module_test LIBRARY [--time]\n"), 2;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: no GPU");
    return 77;
  }
  devices = std::min(devices, 2);
  enable_peers();
  open_module(argv[1]);
  if (argc > 3 && std::strcmp(argv[2], "--child") == 0) return run_child(std::atoi(argv[3]));
  if (!has_kernels()) return std::puts("skipped: a module without kernels"), 77;
  if (argc > 2 && std::strcmp(argv[2], "--time") == 0) {
    measure();
  } else {
    test_all(argv[0], argv[1]);
  }
  std::printf("%d devices, %d wrong\n", devices, wrong);
  return wrong == 0 ? 0 : 1;
}
