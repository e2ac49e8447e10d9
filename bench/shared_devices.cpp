// This bench measures crossrail_shared_allreduce for each number of processes per GPU, form and size, beside MPI_Allreduce of the leaders: handled by
// crossrail on device memory, and native on host memory. With crossrail preloaded:
//
//   mpirun -n 16 shared_devices_openmpi --per-gpu 8 [--processes 1,2,4,8] [--bytes 1M,16M,64M] [--calls 20] [--driver libcuda.so.1]
//
// Ranks are ordered by GPU, and --per-gpu of them have one. Of these, 1, 2, 4 ... take part, and the others sleep. --driver names that of a device
// made of host memory (virtual_world/host_device.h), to try the program itself; its times mean nothing.

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "../include/crossrail/crossrail.h"
#include "device_memory.h"

namespace {

void give_up(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

template <class Function>
Function* find(const char* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  if (found == nullptr) give_up((std::string(name) + " is not there: preload crossrail").c_str());
  return found;
}

std::size_t size_from(const std::string& text) {
  char* end = nullptr;
  const std::size_t number = std::strtoull(text.c_str(), &end, 10);
  const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  return number << shift;
}

struct Options {
  int per_gpu = 1, calls = 20;
  std::vector<std::size_t> processes = {1, 2, 4, 8}, bytes = {1u << 20, 4u << 20, 16u << 20, 64u << 20};
  std::string driver;
};

std::vector<std::size_t> list_from(const char* text) {
  std::vector<std::size_t> numbers;
  std::stringstream words(text);
  for (std::string word; std::getline(words, word, ',');) numbers.push_back(size_from(word));
  return numbers;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int at = 1; at + 1 < argc; at += 2) {
    const std::string name = argv[at];
    if (name == "--per-gpu") options.per_gpu = std::atoi(argv[at + 1]);
    else if (name == "--processes") options.processes = list_from(argv[at + 1]);
    else if (name == "--bytes") options.bytes = list_from(argv[at + 1]);
    else if (name == "--calls") options.calls = std::atoi(argv[at + 1]);
    else if (name == "--driver") options.driver = argv[at + 1];
    else std::fprintf(stderr, "%s is no option\n", argv[at]);
  }
  return options;
}

// A Device has memory of CUDA's driver, or of a device that is made of host memory.
class Device {
 public:
  Device(const Options& options, int number) : pretended_(!options.driver.empty()) {
    const std::string wrong = pretended_ ? load(options.driver) : bench::device::open(number);
    if (wrong.empty()) return;
    std::fprintf(stderr, "%s\n", wrong.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  void* allocate(std::size_t bytes) const { return pretended_ ? allocate_(bytes, 0) : bench::device::allocate(bytes); }
  void release(void* memory) const { pretended_ ? release_(memory) : bench::device::release(memory); }
  void to_device(void* memory, const std::vector<float>& from) const {
    const std::size_t bytes = from.size() * sizeof(float);
    if (pretended_) std::memcpy(touchable_(memory), from.data(), bytes);
    else bench::device::copy(memory, from.data(), bytes);
  }
  void from_device(std::vector<float>& to, const void* memory) const {
    const std::size_t bytes = to.size() * sizeof(float);
    if (pretended_) std::memcpy(to.data(), touchable_(memory), bytes);
    else bench::device::copy(to.data(), memory, bytes);
  }

 private:
  std::string load(const std::string& path) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) return dlerror();
    allocate_ = reinterpret_cast<void* (*)(std::size_t, int)>(dlsym(library, "host_device_alloc"));
    release_ = reinterpret_cast<void (*)(void*)>(dlsym(library, "host_device_free"));
    touchable_ = reinterpret_cast<void* (*)(const void*)>(dlsym(library, "host_device_touchable"));
    return touchable_ == nullptr ? path + " is not the library of a device made of host memory" : "";
  }
  bool pretended_;
  void* (*allocate_)(std::size_t, int) = nullptr;
  void (*release_)(void*) = nullptr;
  void* (*touchable_)(const void*) = nullptr;
};

// Returns the median over so many calls of the slowest rank's time, in microseconds.
template <class Call>
double median_us(MPI_Comm comm, int calls, Call call) {
  std::vector<double> all;
  for (int number = -3; number < calls; ++number) {
    PMPI_Barrier(comm);
    const double began = PMPI_Wtime();
    call();
    double took = PMPI_Wtime() - began, slowest = 0;
    PMPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
    if (number >= 0) all.push_back(slowest * 1e6);
  }
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

struct Team {
  MPI_Comm comm;  // It contains the ranks that take part.
  int rank, leaders, processes;
  bool leads;
  const Device* device;
};

void print(const Team& team, const char* what, std::size_t bytes, double us) {
  if (team.rank != 0) return;
  std::printf("%12zu %10d  %-24s %12.1f us %8.2f GB/s\n", bytes, team.processes, what, us, static_cast<double>(bytes) / us * 1e-3);
  std::fflush(stdout);
}

std::vector<float> filled(const Team& team, std::size_t count) {
  std::vector<float> numbers(count);
  const auto leader = static_cast<std::size_t>(team.rank / team.processes);
  for (std::size_t at = 0; at < count; ++at) numbers[at] = static_cast<float>((at + leader) % 1000);
  return numbers;
}

void check(const Team& team, const std::vector<float>& got) {
  for (std::size_t at = 0; at < got.size(); ++at) {
    float wanted = 0;
    for (int leader = 0; leader < team.leaders; ++leader) wanted += static_cast<float>((at + static_cast<std::size_t>(leader)) % 1000);
    if (got[at] == wanted) continue;
    std::fprintf(stderr, "WRONG: %g at %zu, not %g\n", static_cast<double>(got[at]), at, static_cast<double>(wanted));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

void shared(const Team& team, const Options& options, const char* lanes) {
  // The setting holds for a communicator that has not been opened.
  (void)find<decltype(crossrail_set)>("crossrail_set")("CROSSRAIL_SHARED_LANES", lanes);
  MPI_Comm comm;
  MPI_Comm_dup(team.comm, &comm);
  crossrail_shared_device* device = nullptr;
  auto* const create = find<decltype(crossrail_shared_device_create)>("crossrail_shared_device_create");
  if (create(comm, team.rank / team.processes, &device) != MPI_SUCCESS) return;
  for (const std::size_t bytes : options.bytes) {
    const std::size_t count = bytes / sizeof(float);
    void* const memory = team.leads ? team.device->allocate(bytes) : nullptr;
    crossrail_shared_buffer* buffer = nullptr;
    if (find<decltype(crossrail_shared_buffer_open)>("crossrail_shared_buffer_open")(device, memory, bytes, &buffer) != MPI_SUCCESS) break;
    auto* const reduce = find<decltype(crossrail_shared_allreduce)>("crossrail_shared_allreduce");
    std::vector<float> numbers = filled(team, count);
    if (team.leads) team.device->to_device(memory, numbers);
    (void)reduce(buffer, 0, count, MPI_FLOAT, MPI_SUM);
    if (team.leads) team.device->from_device(numbers, memory);
    if (team.leads) check(team, numbers);
    const std::string form = find<decltype(crossrail_last_algorithm)>("crossrail_last_algorithm")();
    const double us = median_us(team.comm, options.calls, [&] { (void)reduce(buffer, 0, count, MPI_FLOAT, MPI_MAX); });
    print(team, form.c_str(), bytes, us);
    (void)find<decltype(crossrail_shared_buffer_close)>("crossrail_shared_buffer_close")(&buffer);
    if (memory != nullptr) team.device->release(memory);
  }
  (void)find<decltype(crossrail_shared_device_free)>("crossrail_shared_device_free")(&device);
  MPI_Comm_free(&comm);
}

// A program with one process per GPU does this.
void leaders_alone(const Team& team, const Options& options) {
  for (const std::size_t bytes : options.bytes) {
    const int count = static_cast<int>(bytes / sizeof(float));
    void* const memory = team.device->allocate(bytes);
    team.device->to_device(memory, filled(team, static_cast<std::size_t>(count)));
    const auto on_device = [&] { MPI_Allreduce(MPI_IN_PLACE, memory, count, MPI_FLOAT, MPI_MAX, team.comm); };
    for (int call = 0; call < 10; ++call) on_device();  // From the ninth on, crossrail handles the call.
    print(team, "MPI_Allreduce", bytes, median_us(team.comm, options.calls, on_device));
    team.device->release(memory);
    std::vector<float> numbers = filled(team, static_cast<std::size_t>(count));
    const auto natively = [&] { PMPI_Allreduce(MPI_IN_PLACE, numbers.data(), count, MPI_FLOAT, MPI_MAX, team.comm); };
    print(team, "native, host memory", bytes, median_us(team.comm, options.calls, natively));
  }
}

// The ranks wait without using a core until all are there.
void meet_asleep() {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int there = 0; there == 0; usleep(2000)) MPI_Test(&request, &there, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Options options = parse(argc, argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int place = rank % options.per_gpu;
  // Calls under such names must go to the MPI library.
  if (find<decltype(crossrail_set)>("crossrail_set")("CROSSRAIL_PMPI", "0") != 0) give_up("crossrail refuses CROSSRAIL_PMPI=0");
  const Device device(options, rank / options.per_gpu);
  if (rank == 0) {
    std::printf("# allreduce of floats, %d GPUs, up to %d processes each\n", size / options.per_gpu, options.per_gpu);
    std::printf("%12s %10s\n", "bytes", "processes");
  }
  for (const std::size_t processes : options.processes) {
    if (processes < 1 || processes > static_cast<std::size_t>(options.per_gpu)) continue;
    const bool takes_part = place < static_cast<int>(processes);
    Team team{MPI_COMM_NULL, 0, size / options.per_gpu, static_cast<int>(processes), place == 0, &device};
    MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, rank, &team.comm);
    if (takes_part) {
      MPI_Comm_rank(team.comm, &team.rank);
      if (processes == 1) leaders_alone(team, options);
      for (const char* lanes : {"0", "1"}) shared(team, options, lanes);
      MPI_Comm_free(&team.comm);
    }
    meet_asleep();
  }
  MPI_Finalize();
  return 0;
}
