#include "mpi/helper_process/desk_side.h"

#include <poll.h>
#include <sys/mman.h>

#include <cerrno>

#include "transport/helper_socket.h"

namespace crossrail::helper_process {
namespace {

std::byte* map(int descriptor, std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace

bool DeskSide::listen_at(const Name& name) {
  listening_ = helper_socket::make();
  const int end = name.any_place ? kMostFirstHelpers : name.place + 1;
  for (int place = name.place; listening_ >= 0 && place < end; ++place) {
    const helper_socket::Address address = helper_socket::address_of(helper_name(name.key, name.job, place));
    if (bind(listening_, reinterpret_cast<const sockaddr*>(&address.name), address.bytes) == 0) return listen(listening_, 1) == 0;
  }
  return false;
}

bool DeskSide::accept_rank(std::int32_t number) {
  while (desk_ == nullptr) {
    socket_ = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket_ < 0 && errno == EINTR) continue;
    if (socket_ < 0) return false;
    HelperPacket packet{};
    int descriptor = -1;
    const bool greeted = helper_socket::same_user(socket_) && helper_socket::send_packet(socket_, HelperGreeting{HelperDesk::kVersion, number}) &&
                         helper_socket::receive_packet(socket_, packet, &descriptor);
    if (greeted && descriptor >= 0 && packet.kind == HelperPacket::Kind::desk && packet.bytes == sizeof(HelperDesk)) {
      desk_ = reinterpret_cast<HelperDesk*>(map(descriptor, sizeof(HelperDesk)));
    } else if (descriptor >= 0) {
      close(descriptor);
    }
    if (desk_ == nullptr) close(socket_);
  }
  close(listening_);  // A rank that has connected meanwhile looks further.
  return true;
}

void DeskSide::leave_rank() {
  for (const auto& [number, mapping] : pages_) munmap(mapping.data, mapping.bytes);
  pages_.clear();
  munmap(desk_, sizeof *desk_);
  desk_ = nullptr;
  taken_ = 0;
  close(socket_);
}

bool DeskSide::next(HelperCommand& command, std::uint64_t& number) {
  if (taken_ == desk_->posted.load(std::memory_order_acquire)) return false;
  number = taken_++;
  command = desk_->commands[number % HelperDesk::kCommands];
  return true;
}

void DeskSide::say(std::uint64_t number, HelperDesk::Outcome outcome) {
  if (outcome != HelperDesk::Outcome::done) desk_->failures.fetch_add(1, std::memory_order_relaxed);
  desk_->ended[number % HelperDesk::kCommands].store(HelperDesk::ending(number, outcome), std::memory_order_release);
}

bool DeskSide::take_packet(int flags) {
  HelperPacket packet{};
  int descriptor = -1;
  if (!helper_socket::receive_packet(socket_, packet, &descriptor, flags)) return false;
  if (packet.kind == HelperPacket::Kind::pages && descriptor >= 0) {
    std::byte* const data = map(descriptor, packet.bytes);
    if (data != nullptr) pages_[packet.pages] = {data, packet.bytes};
  } else if (descriptor >= 0) {
    close(descriptor);
  }
  return true;
}

// The rank announces memory before it posts a command that names it.
std::byte* DeskSide::memory(const HelperCommand& command) {
  auto found = pages_.find(command.pages);
  while (found == pages_.end() && take_packet(MSG_DONTWAIT)) found = pages_.find(command.pages);
  if (found == pages_.end() || command.bytes > found->second.bytes || command.offset > found->second.bytes - command.bytes) return nullptr;
  return found->second.data + command.offset;
}

void DeskSide::forget(std::uint32_t pages) {
  while (take_packet(MSG_DONTWAIT)) {
  }
  const auto found = pages_.find(pages);
  if (found == pages_.end()) return;
  munmap(found->second.data, found->second.bytes);
  pages_.erase(found);
}

bool DeskSide::sleep(int milliseconds) {
  desk_->asleep.store(1, std::memory_order_seq_cst);
  pollfd look{socket_, POLLIN, 0};
  const bool nothing = taken_ == desk_->posted.load(std::memory_order_seq_cst);
  const int events = poll(&look, 1, nothing ? milliseconds : 0);
  desk_->asleep.store(0, std::memory_order_relaxed);
  if (events > 0 && (look.revents & POLLIN) != 0) {
    while (take_packet(MSG_DONTWAIT)) {
    }
  }
  return events <= 0 || (look.revents & (POLLHUP | POLLERR)) == 0;
}

bool DeskSide::rank_lives() const {
  pollfd look{socket_, 0, 0};
  return poll(&look, 1, 0) <= 0;
}

}  // namespace crossrail::helper_process
