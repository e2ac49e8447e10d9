#include "transport/helper_processes.h"

#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "base/settings.h"
#include "transport/helper_socket.h"

namespace crossrail {
namespace {

constexpr int kLooksBetweenChecks = 10'000;
// This limits the numbers of communicators. Together with the numbers of slots they form tags, which some MPI libraries limit.
constexpr std::uint32_t kNumbers = 1 << 14;

int connected(const char* name) {
  const int socket = helper_socket::make();
  if (socket < 0) return -1;
  const timeval patience{10, 0};
  (void)setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  (void)setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const helper_socket::Address address = helper_socket::address_of(name);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address.name), address.bytes) == 0 && helper_socket::same_user(socket)) return socket;
  close(socket);
  return -1;
}

// Returns a mapping that other processes may map as well. The caller closes `descriptor`.
std::byte* mapped_file(const char* name, std::size_t bytes, int& descriptor) {
  descriptor = memfd_create(name, MFD_CLOEXEC);
  void* memory = MAP_FAILED;
  if (descriptor >= 0 && ftruncate(descriptor, static_cast<off_t>(bytes)) == 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  if (memory != MAP_FAILED) return static_cast<std::byte*>(memory);
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
  return nullptr;
}

}  // namespace

HelperProcesses& HelperProcesses::of_process() {
  static HelperProcesses& helpers = *new HelperProcesses;  // It is never destroyed, because calls may come until the very end.
  return helpers;
}

// CROSSRAIL_HELPERS has the form KEY:COUNT.
HelperProcesses::HelperProcesses() {
  const std::string& wanted = process_settings().helpers;
  const std::size_t colon = wanted.find(':');
  if (wanted.empty() || colon == std::string::npos || colon > 32) return;
  const std::string key = wanted.substr(0, colon);
  const int count = std::min(std::atoi(wanted.c_str() + colon + 1), kMostHelpers);
  if (count < 1 || !take_first(key.c_str())) return;
  int number = -1;
  for (int job = 1; job < count; ++job) {
    if (!take(helper_name(key.c_str(), job, number_).c_str(), number)) break;
  }
  job_ = hash_bytes(key.data(), key.size());
  log_line(LogLevel::detail, "%d helper processes, with number %d in their jobs", this->count(), number_);
}

bool HelperProcesses::take_first(const char* key) {
  for (int place = 0; place < kMostFirstHelpers; ++place) {
    if (take(helper_name(key, 0, place).c_str(), number_)) return true;
  }
  return false;
}

bool HelperProcesses::take(const char* name, int& number) {
  const int socket = connected(name);
  if (socket < 0) return false;
  HelperGreeting greeting{};
  int descriptor = -1;
  std::byte* memory = nullptr;
  if (helper_socket::receive_packet(socket, greeting) && greeting.version == HelperDesk::kVersion) {
    memory = mapped_file("crossrail-desk", sizeof(HelperDesk), descriptor);
  }
  const bool taken = memory != nullptr && helper_socket::send_packet(socket, HelperPacket{HelperPacket::Kind::desk, 0, sizeof(HelperDesk)}, descriptor);
  if (descriptor >= 0) close(descriptor);
  if (taken) {
    number = greeting.number;
    taken_.push_back({socket, reinterpret_cast<HelperDesk*>(memory)});
    return true;
  }
  if (memory != nullptr) munmap(memory, sizeof(HelperDesk));
  close(socket);
  return false;
}

Status HelperProcesses::make_pages(std::size_t bytes, Pages& pages) {
  bytes = round_up(std::max<std::size_t>(bytes, 1), kPageBytes);
  int descriptor = -1;
  std::byte* const data = mapped_file("crossrail-pages", bytes, descriptor);
  if (data == nullptr) return failure(Code::no_memory, "cannot allocate %zu bytes that helper processes see", bytes);
  const std::lock_guard lock(mutex_);
  pages = {data, bytes, ++pages_made_};
  bool told = true;
  for (const Taken& helper : taken_) {
    told = helper_socket::send_packet(helper.socket, HelperPacket{HelperPacket::Kind::pages, pages.number, bytes}, descriptor) && told;
  }
  close(descriptor);
  if (told) pages_.push_back(pages);
  return {};
}

void HelperProcesses::give_back(Pages& pages) {
  if (pages.data == nullptr) return;
  for (int which = 0; which < count(); ++which) {
    std::uint64_t number = 0;
    (void)post(which, {HelperCommand::Kind::forget_pages, 0, 0, pages.number, 0, 0}, number);
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(pages_, [&](const Pages& one) { return one.number == pages.number; });
  munmap(pages.data, pages.bytes);
  pages = {};
}

bool HelperProcesses::find(const void* data, std::size_t bytes, Stretch& stretch) const {
  const auto* const first = static_cast<const std::byte*>(data);
  const std::lock_guard lock(mutex_);
  for (const Pages& one : pages_) {
    if (first < one.data || first + bytes > one.data + one.bytes) continue;
    stretch = {one.number, static_cast<std::uint64_t>(first - one.data)};
    return true;
  }
  return false;
}

void HelperProcesses::wake(const Taken& helper) const {
  if (helper.desk->asleep.load(std::memory_order_seq_cst) == 0) return;
  (void)helper_socket::send_packet(helper.socket, HelperPacket{HelperPacket::Kind::wake, 0, 0}, -1, MSG_DONTWAIT);
}

Status HelperProcesses::post(int which, const HelperCommand& command, std::uint64_t& number) {
  const std::lock_guard lock(mutex_);
  Taken& helper = taken_[static_cast<std::size_t>(which)];
  HelperDesk& desk = *helper.desk;
  number = helper.posted;
  const std::size_t place = number % HelperDesk::kCommands;
  for (int looks = 1; number >= HelperDesk::kCommands && desk.outcome(number - HelperDesk::kCommands) == HelperDesk::Outcome::none; ++looks) {
    sched_yield();
    if (looks % kLooksBetweenChecks == 0) CROSSRAIL_TRY(check_alive());
  }
  desk.commands[place] = command;
  helper.posted = number + 1;
  desk.posted.store(helper.posted, std::memory_order_seq_cst);
  wake(helper);
  return {};
}

Status HelperProcesses::check_alive() const {
  for (std::size_t which = 0; which < taken_.size(); ++which) {
    pollfd look{taken_[which].socket, POLLIN, 0};  // A helper process sends nothing after its greeting.
    if (poll(&look, 1, 0) > 0) return failure(Code::peer_lost, "helper process %zu of this rank has ended", which);
  }
  return {};
}

std::uint32_t HelperProcesses::next_free() {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t step = 1; step <= kNumbers; ++step) {
    const std::uint32_t number = (last_number_ + step) % kNumbers;
    if (std::find(numbers_.begin(), numbers_.end(), number) == numbers_.end()) return number;
  }
  return kNumbers;
}

bool HelperProcesses::take_number(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  if (number >= kNumbers || std::find(numbers_.begin(), numbers_.end(), number) != numbers_.end()) return false;
  numbers_.push_back(number);
  last_number_ = number;
  return true;
}

void HelperProcesses::free_number(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  std::erase(numbers_, number);
}

}  // namespace crossrail
