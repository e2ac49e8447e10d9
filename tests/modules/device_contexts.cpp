// Programs make, reset and destroy contexts.
//
//   device_contexts own        no primary context: the program's own one, with memory that it has mapped itself
//   device_contexts reset      cudaDeviceReset between calls
//   device_contexts finalize   cudaDeviceReset before MPI_Finalize
//   device_contexts gone       the program's own context destroyed before MPI_Finalize

#include "device_exchange.h"

namespace {

using namespace device_test;

std::uint64_t rounds;

void calls(int count, const char* what) {
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{5000}, std::size_t{1} << 20}) {
    Exchange exchange({bytes, Kind::device, Kind::device});
    for (int i = 0; i < count; ++i) exchange.once(++rounds, what);
  }
}

// It makes driver calls only, because the runtime would make a primary context.
struct Own {
  decltype(&cuInit) init;
  CUresult (*create)(CUcontext*, unsigned, CUdevice);
  decltype(&cuCtxDestroy) destroy;
  decltype(&cuMemAlloc) allocate;
  decltype(&cuMemcpyHtoD) up;
  decltype(&cuMemcpyDtoH) down;
  decltype(&cuCtxSynchronize) synchronize;
};

template <class Entry>
void find(Entry& entry, const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  entry = library == nullptr ? nullptr : reinterpret_cast<Entry>(dlsym(library, name));
}

Own open_own() {
  Own own{};
  find(own.init, "cuInit");
  find(own.create, "cuCtxCreate_v2");
  find(own.destroy, "cuCtxDestroy_v2");
  find(own.allocate, "cuMemAlloc_v2");
  find(own.up, "cuMemcpyHtoD_v2");
  find(own.down, "cuMemcpyDtoH_v2");
  find(own.synchronize, "cuCtxSynchronize");
  return own;
}

// Maps one granule of memory by the program itself. The memory names no context.
CUdeviceptr map_memory(std::size_t bytes) {
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  find(create, "cuMemCreate");
  find(reserve, "cuMemAddressReserve");
  find(map, "cuMemMap");
  find(set_access, "cuMemSetAccess");
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, {own_device}};
  wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle{};
  CUdeviceptr at = 0;
  require(create(&handle, bytes, &wanted, 0), "cuMemCreate");
  require(reserve(&at, bytes, 0, 0, 0), "cuMemAddressReserve");
  require(map(at, bytes, 0, handle, 0), "cuMemMap");
  const CUmemAccessDesc access{wanted.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  require(set_access(at, bytes, &access, 1), "cuMemSetAccess");
  return at;
}

void call_on(const Own& own, CUdeviceptr send, CUdeviceptr recv) {
  const int block = 10000;
  const std::size_t bytes = static_cast<std::size_t>(block) * static_cast<std::size_t>(size);
  std::vector<unsigned char> content(bytes), expected(bytes), got(bytes);
  for (int round = 1; round <= 6; ++round) {
    for (std::size_t at = 0; at < bytes; ++at) {
      const auto peer = static_cast<int>(at / static_cast<std::size_t>(block));
      content[at] = static_cast<unsigned char>(17 * rank + 3 * peer + round);
      expected[at] = static_cast<unsigned char>(17 * peer + 3 * rank + round);
    }
    require(own.up(send, content.data(), bytes), "to the device");
    require(own.synchronize(), "cuCtxSynchronize");
    const int code = MPI_Alltoall(reinterpret_cast<void*>(send), block, MPI_BYTE, reinterpret_cast<void*>(recv), block, MPI_BYTE, MPI_COMM_WORLD);
    if (code != MPI_SUCCESS) complain("round %d: error %d", round, code);
    require(own.down(got.data(), recv, bytes), "to the host");
    if (got != expected) complain("round %d: wrong data by %s", round, last_algorithm());
  }
}

int run_in_own_context(bool destroy) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const Own own = open_own();
  decltype(&cuDeviceGetCount) count = nullptr;
  find(count, "cuDeviceGetCount");
  if (own.init == nullptr || own.init(0) != CUDA_SUCCESS || count(&devices) != CUDA_SUCCESS || devices == 0) {
    if (rank == 0) std::printf("skipped: no GPU\n");
    MPI_Finalize();
    return kSkip;
  }
  own_device = rank % devices;
  CUcontext context = nullptr;
  require(own.create(&context, 0, own_device), "cuCtxCreate");
  constexpr std::size_t kBytes = 2 << 20;
  CUdeviceptr send = 0, recv = 0;
  require(own.allocate(&send, kBytes), "cuMemAlloc");
  require(own.allocate(&recv, kBytes), "cuMemAlloc");
  call_on(own, send, recv);
  call_on(own, map_memory(kBytes), map_memory(kBytes));
  call_on(own, send, map_memory(kBytes));
  MPI_Barrier(MPI_COMM_WORLD);
  if (destroy) require(own.destroy(context), "cuCtxDestroy");
  return finish(destroy ? "device_contexts gone" : "device_contexts own");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "reset";
  if (mode == "own" || mode == "gone") return run_in_own_context(mode == "gone");
  if (!start(&argc, &argv)) return kSkip;
  calls(4, "before the reset");
  MPI_Barrier(MPI_COMM_WORLD);
  require(cudaDeviceReset(), "cudaDeviceReset");
  MPI_Barrier(MPI_COMM_WORLD);
  if (mode == "reset") {
    require(cudaSetDevice(own_device), "cudaSetDevice");
    calls(4, "after the reset");
  }
  return finish(("device_contexts " + mode).c_str());
}
