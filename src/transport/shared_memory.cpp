#include "transport/shared_memory.h"

#include "base/random.h"
#include "topology/topology.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace crossrail {
namespace {

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

// If vm.memfd_noexec is 2, the system requires a flag that nothing will be executed; old systems do not know the flag.
int open_memfd() {
  const int descriptor = memfd_create("crossrail", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  return descriptor >= 0 || errno != EINVAL ? descriptor : memfd_create("crossrail", MFD_CLOEXEC);
}

// If a file exceeded the process's limit, the system would kill the process instead of refusing.
bool within_limit(std::size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

// /dev/shm may be tiny (64 MB in containers), so all its pages are reserved now. memfd has no such limit. Returns an errno.
int set_size(int descriptor, std::size_t bytes, bool memfd) {
  if (!within_limit(bytes)) return EFBIG;
  int error = EINTR;
  while (error == EINTR) {  // Profilers interrupt it.
    if (memfd) {
      error = ftruncate(descriptor, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
    } else {
      error = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
    }
  }
  return error;
}

}  // namespace

Status SharedMemory::create(const char* kind, std::size_t bytes) {
  close();
  address_ = SharedMemoryAddress{};
  address_.bytes = bytes;
  address_.nonce = random_word();
  address_.pid_space = own_pid_space();
  address_.pid = static_cast<std::int32_t>(getpid());
  const bool memfd = std::strcmp(kind, "memfd") == 0;
  if (!memfd && std::strcmp(kind, "shm") != 0) {
    return failure(Code::invalid, "'%s' is no kind of shared memory: memfd and shm are", kind);
  }
  if (memfd) {
    descriptor_ = open_memfd();
  } else {
    std::snprintf(address_.name, sizeof address_.name, "/crossrail.%016llx",
                  static_cast<unsigned long long>(random_word()));
    descriptor_ = shm_open(address_.name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  if (descriptor_ < 0) {
    address_.name[0] = '\0';
    return failure(Code::system, "%s: cannot create shared memory: %s", kind, std::strerror(errno));
  }
  address_.descriptor = descriptor_;
  if (const int error = set_size(descriptor_, bytes, memfd); error != 0) {
    close();
    return failure(Code::no_memory, "%s: no room for %zu bytes: %s", kind, bytes, std::strerror(error));
  }
  CROSSRAIL_TRY(map(descriptor_));
  std::memcpy(data_, &address_.nonce, sizeof address_.nonce);
  return {};
}

Status SharedMemory::attach(const SharedMemoryAddress& address) {
  close();
  address_ = address;
  int descriptor = -1;
  if (address.name[0] != '\0') {
    descriptor = shm_open(address.name, O_RDWR | O_CLOEXEC, 0);
  } else if (address.pid_space != own_pid_space()) {
    return failed(Code::system, "the node's shared memory is that of a process in another pid namespace");
  } else {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", address.pid, address.descriptor);
    descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);  // Another namespace's process may have anything there.
  }
  address_.name[0] = '\0';  // The creator removes the name.
  if (descriptor < 0) {
    return failure(Code::system, "cannot open the node's shared memory: %s", std::strerror(errno));
  }
  Status mapped;
  if (lseek(descriptor, 0, SEEK_END) != static_cast<off_t>(address.bytes)) {
    mapped = failed(Code::system, "the node's shared memory has a different size from what was announced");
  } else {
    mapped = map(descriptor);
  }
  ::close(descriptor);
  CROSSRAIL_TRY(mapped);
  if (std::memcmp(data_, &address.nonce, sizeof address.nonce) != 0) {
    close();
    return failed(Code::system, "what was opened is not the node's shared memory");
  }
  return {};
}

Status SharedMemory::map(int descriptor) {
  void* mapped = mmap(nullptr, address_.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    close();
    return failure(Code::no_memory, "cannot map %llu bytes: %s",
                   static_cast<unsigned long long>(address_.bytes), std::strerror(error));
  }
  data_ = static_cast<std::byte*>(mapped);
  return {};
}

void SharedMemory::seal() {
  if (address_.name[0] != '\0') shm_unlink(address_.name);
  address_.name[0] = '\0';
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void SharedMemory::close() {
  seal();
  if (data_ != nullptr) munmap(data_, address_.bytes);
  data_ = nullptr;
}

}  // namespace crossrail
