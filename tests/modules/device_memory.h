// The tests on device memory share this: memory of every kind that a program may hand to MPI, written from the host and read back to it.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <mpi.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace device_test {

inline int rank = -1, size = 0, devices = 0, own_device = 0, wrong = 0;

// Counts a check that is not met, and says so for the first ones.
[[gnu::format(printf, 1, 2)]] inline void complain(const char* format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (++wrong <= 8) std::fprintf(stderr, "rank %d: WRONG: %s\n", rank, text);
}

// A test cannot go on without this.
inline void require(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "rank %d: WRONG: %s: %s\n", rank, what, cudaGetErrorString(result));
  MPI_Abort(MPI_COMM_WORLD, 2);
}

inline void require(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "rank %d: WRONG: %s: error %d of the driver\n", rank, what, static_cast<int>(result));
  MPI_Abort(MPI_COMM_WORLD, 2);
}

// These are the driver's functions for memory of one's own making. They are found at run time: nothing is linked with the driver.
struct Driver {
  decltype(&cuMemGetAllocationGranularity) granularity;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) give_back;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;
};

template <class Entry>
void find_entry(Entry& entry, const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer;
#if CUDART_VERSION >= 12050
  require(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &answer), name);
#else
  require(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &answer), name);
#endif
  if (found == nullptr) require(cudaErrorSymbolNotFound, name);
  entry = reinterpret_cast<Entry>(found);
}

inline const Driver& driver() {
  static const Driver opened = [] {
    Driver d{};
    find_entry(d.granularity, "cuMemGetAllocationGranularity");
    find_entry(d.create, "cuMemCreate");
    find_entry(d.release, "cuMemRelease");
    find_entry(d.reserve, "cuMemAddressReserve");
    find_entry(d.give_back, "cuMemAddressFree");
    find_entry(d.map, "cuMemMap");
    find_entry(d.unmap, "cuMemUnmap");
    find_entry(d.set_access, "cuMemSetAccess");
    return d;
  }();
  return opened;
}

enum class Kind {
  host,
  device,
  inside,          // It is at an odd offset of a large allocation.
  chunks,          // It is an own mapping of several chunks, which can be shared by descriptors.
  chunks_private,  // It is the same, but cannot be shared.
  pool_default,    // It is by cudaMallocAsync.
  pool_shared,     // It is of a pool that can be shared by descriptors.
  pool_elsewhere,  // It is of a pool on the next device, which this process may not use otherwise.
  managed,
  pinned,
  registered,
  numa  // It is an own mapping of memory of the host that only the device may touch.
};
constexpr Kind kKinds[] = {Kind::host,         Kind::device,      Kind::inside,  Kind::chunks, Kind::chunks_private,
                           Kind::pool_default, Kind::pool_shared, Kind::pool_elsewhere, Kind::managed, Kind::pinned, Kind::registered,
                           Kind::numa};
constexpr int kKindCount = static_cast<int>(std::size(kKinds));

inline const char* name_of(Kind kind) {
  static const char* const names[kKindCount] = {"host",         "device",      "inside",  "chunks", "chunks_private",
                                                "pool_default", "pool_shared", "pool_elsewhere", "managed", "pinned", "registered",
                                                "numa"};
  return names[static_cast<int>(kind)];
}

// This is one range of addresses, backed by at least three pieces of memory. The middle of what is handed out lies on the border of two.
class Chunks {
 public:
  Chunks(std::size_t bytes, bool shareable, CUmemLocationType where = CU_MEM_LOCATION_TYPE_DEVICE) {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {where, {where == CU_MEM_LOCATION_TYPE_DEVICE ? own_device : 0}};
    if (shareable) wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    require(driver().granularity(&chunk_bytes_, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM), "granularity");
    chunk_count_ = std::max<std::size_t>(3, bytes / chunk_bytes_ + 2);
    require(driver().reserve(&start_, chunk_bytes_ * chunk_count_, 0, 0, 0), "cuMemAddressReserve");
    for (std::size_t i = 0; i < chunk_count_; ++i) {
      CUmemGenericAllocationHandle handle;
      require(driver().create(&handle, chunk_bytes_, &wanted, 0), "cuMemCreate");
      require(driver().map(start_ + i * chunk_bytes_, chunk_bytes_, 0, handle, 0), "cuMemMap");
      require(driver().release(handle), "cuMemRelease");
    }
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, {own_device}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    require(driver().set_access(start_, chunk_bytes_ * chunk_count_, &access, 1), "cuMemSetAccess");
    address = reinterpret_cast<void*>(start_ + ((chunk_bytes_ - std::min(bytes, chunk_bytes_) / 2) & ~std::size_t{15}));
  }
  ~Chunks() {
    for (std::size_t i = 0; i < chunk_count_; ++i) {
      require(driver().unmap(start_ + i * chunk_bytes_, chunk_bytes_), "cuMemUnmap");
    }
    require(driver().give_back(start_, chunk_bytes_ * chunk_count_), "cuMemAddressFree");
  }
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;
  void* address;

 private:
  CUdeviceptr start_ = 0;
  std::size_t chunk_bytes_ = 0, chunk_count_ = 0;
};

inline cudaMemPool_t make_pool(int device, cudaMemAllocationHandleType shared_by) {
  cudaMemPoolProps wanted{};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.handleTypes = shared_by;
  wanted.location.type = cudaMemLocationTypeDevice;
  wanted.location.id = device;
  cudaMemPool_t pool = nullptr;
  require(cudaMemPoolCreate(&pool, &wanted), "cudaMemPoolCreate");
  return pool;
}

// Returns the pool of this process that can be shared by descriptors.
inline cudaMemPool_t shared_pool() {
  static const cudaMemPool_t made = make_pool(own_device, cudaMemHandleTypePosixFileDescriptor);
  return made;
}

// Returns a pool on the next device that this one reaches, if there is such a device.
inline cudaMemPool_t pool_elsewhere() {
  static const cudaMemPool_t made = [] {
    int count = 0, reached = 0;
    require(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    const int next = (own_device + 1) % count;
    if (next != own_device) require(cudaDeviceCanAccessPeer(&reached, own_device, next), "cudaDeviceCanAccessPeer");
    const cudaMemPool_t pool = make_pool(reached != 0 ? next : own_device, cudaMemHandleTypeNone);
    const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, {own_device}}, cudaMemAccessFlagsProtReadWrite};
    if (reached != 0) require(cudaMemPoolSetAccess(pool, &access, 1), "cudaMemPoolSetAccess");
    return pool;
  }();
  return made;
}

// Returns a place at an odd offset of one large allocation. Old places are used again.
inline void* place_inside(std::size_t bytes) {
  constexpr std::size_t kArena = std::size_t{256} << 20;
  static char* const arena = [] {
    void* made = nullptr;
    require(cudaMalloc(&made, kArena), "cudaMalloc of 256 MiB");
    return static_cast<char*>(made);
  }();
  static std::size_t next = 1;
  if (bytes > kArena / 8) require(cudaErrorInvalidValue, "too much for a place inside");
  if (next + bytes > kArena) next = 1;
  return arena + std::exchange(next, (next + bytes + 4096) | 1);
}

class Memory {
 public:
  Memory(std::size_t byte_count, Kind kind_wanted) : bytes_(std::max<std::size_t>(byte_count, 1)), kind_(kind_wanted) {
    switch (kind_) {
      case Kind::host:
        address = std::malloc(bytes_);
        break;
      case Kind::device:
        require(cudaMalloc(&address, bytes_), "cudaMalloc");
        break;
      case Kind::inside:
        address = place_inside(bytes_);
        break;
      case Kind::chunks:
      case Kind::chunks_private:
        chunks_ = new Chunks(bytes_, kind_ == Kind::chunks);
        address = chunks_->address;
        break;
      case Kind::numa:
        chunks_ = new Chunks(bytes_, false, CU_MEM_LOCATION_TYPE_HOST_NUMA);
        address = chunks_->address;
        break;
      case Kind::pool_default:
        require(cudaMallocAsync(&address, bytes_, nullptr), "cudaMallocAsync");
        break;
      case Kind::pool_shared:
      case Kind::pool_elsewhere:
        require(cudaMallocFromPoolAsync(&address, bytes_, kind_ == Kind::pool_shared ? shared_pool() : pool_elsewhere(), nullptr), "cudaMallocFromPoolAsync");
        break;
      case Kind::managed:
        require(cudaMallocManaged(&address, bytes_, cudaMemAttachGlobal), "cudaMallocManaged");
        break;
      case Kind::pinned:
        require(cudaMallocHost(&address, bytes_), "cudaMallocHost");
        break;
      case Kind::registered:
        address = std::aligned_alloc(4096, (bytes_ + 4095) & ~std::size_t{4095});
        require(cudaHostRegister(address, bytes_, cudaHostRegisterDefault), "cudaHostRegister");
        break;
    }
    if (from_pool()) require(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }
  ~Memory() {
    if (kind_ == Kind::registered) require(cudaHostUnregister(address), "cudaHostUnregister");
    if (kind_ == Kind::host || kind_ == Kind::registered) std::free(address);
    if (kind_ == Kind::device || kind_ == Kind::managed) require(cudaFree(address), "cudaFree");
    if (kind_ == Kind::pinned) require(cudaFreeHost(address), "cudaFreeHost");
    if (from_pool()) {
      require(cudaFreeAsync(address, nullptr), "cudaFreeAsync");
      require(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    }
    delete chunks_;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // The bytes have arrived on return, as MPI wants it. Managed memory is written by the device and
  // read by the processor.
  void write(const std::vector<unsigned char>& from) {
    if (on_host()) {
      std::memcpy(address, from.data(), from.size());
      return;
    }
    require(cudaMemcpy(address, from.data(), from.size(), cudaMemcpyDefault), "to the device");
    require(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }
  std::vector<unsigned char> read() const {
    std::vector<unsigned char> to(bytes_);
    if (on_host() || kind_ == Kind::managed)
      std::memcpy(to.data(), address, bytes_);
    else
      require(cudaMemcpy(to.data(), address, bytes_, cudaMemcpyDefault), "to the host");
    return to;
  }
  void* address = nullptr;

 private:
  bool on_host() const { return kind_ == Kind::host || kind_ == Kind::pinned || kind_ == Kind::registered; }
  bool from_pool() const { return kind_ == Kind::pool_default || kind_ == Kind::pool_shared || kind_ == Kind::pool_elsewhere; }
  std::size_t bytes_;
  Kind kind_;
  Chunks* chunks_ = nullptr;
};

}  // namespace device_test
