#include "nccl/rendezvous.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "topology/topology.h"
#include "transport/process_memory.h"

namespace crossrail::nccl {
namespace {

// The memory is as long whoever comes first, and zero. All its pages are there afterwards, so that a full file system is no SIGBUS later.
std::byte* map(const char* name, std::size_t bytes) {
  const int descriptor = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return nullptr;
  struct stat facts {};
  const bool ours = fstat(descriptor, &facts) == 0 && facts.st_uid == geteuid() && posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) == 0;
  void* const mapped = ours ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  ::close(descriptor);
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

}  // namespace

Key key_of(const void* bytes, std::size_t count) {
  const std::uint64_t first = hash_bytes(bytes, count);
  std::uint64_t second = kHashSeed;
  for (std::size_t at = 0; at < count; ++at) second = mix_word(second, static_cast<std::uint64_t>(static_cast<const unsigned char*>(bytes)[at]));
  return {{first, second}};
}

Key Key::child(std::uint64_t number, std::uint64_t colour) const {
  const std::uint64_t all[] = {words[0], words[1], number, colour};
  return key_of(all, sizeof all);
}

std::unique_ptr<Rendezvous> Rendezvous::come(const Key& key, int most_ranks) {
  char name[64];
  std::snprintf(name, sizeof name, "/crossrail.nccl.%016llx%016llx", static_cast<unsigned long long>(key.words[0]), static_cast<unsigned long long>(key.words[1]));
  std::byte* const memory = map(name, bytes(most_ranks));
  if (memory == nullptr) return nullptr;
  std::unique_ptr<Rendezvous> rendezvous(new Rendezvous(memory, most_ranks, name));
  const std::uint32_t number = rendezvous->head().come.fetch_add(1);
  if (number >= static_cast<std::uint32_t>(most_ranks)) return nullptr;  // Others use the same name, so that nobody handles the communicator.
  rendezvous->head().processes[number].pid_space = own_pid_space();
  rendezvous->head().processes[number].pid = getpid();
  return rendezvous;
}

bool Rendezvous::some_ended() const {
  for (int number = 0; number < most_; ++number) {
    const Process& one = head().processes[number];
    const auto pid = static_cast<int>(one.pid.load());
    if (pid != 0 && one.pid_space == own_pid_space() && !process_alive(pid)) return true;
  }
  return false;
}

Rendezvous::~Rendezvous() {
  (void)shm_unlink(name_.c_str());  // Another rank may have removed it.
  (void)munmap(memory_, bytes(most_));
}

}  // namespace crossrail::nccl
