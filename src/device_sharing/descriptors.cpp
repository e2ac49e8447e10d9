#include "device_sharing/descriptors.h"

#include "base/random.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <list>
#include <mutex>

namespace crossrail {
namespace {

constexpr std::uint32_t kChunksAMessage = 64;
constexpr std::size_t kMostParcels = 256;  // This many may wait to be taken. Older ones are dropped.

struct Message {
  ParcelLabel label;
  std::uint32_t total, first, count;
  std::uint32_t unused;
  std::uint64_t bytes[kChunksAMessage];
};

struct Parcel {
  ParcelLabel label;
  Chunks chunks;
  std::size_t arrived = 0;
};

socklen_t name_socket(std::uint64_t name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;  // sun_path[0] stays 0, which makes the name abstract.
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "crossrail.%016llx",
                                   static_cast<unsigned long long>(name));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
}

struct Socket {
  std::mutex mutex;  // It guards all that follows.
  int descriptor = -1;
  std::uint64_t name = 0;
  std::list<Parcel> parcels;
};

void open(Socket& socket) {
  const int opened = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (opened < 0) return;
  const int on = 1;
  sockaddr_un address;
  const std::uint64_t name = random_number();
  const socklen_t length = name_socket(name, address);
  if (setsockopt(opened, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      bind(opened, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    ::close(opened);
    return;
  }
  socket.descriptor = opened;
  socket.name = name;
}

Socket& socket_of_process() {
  static Socket& socket = *new Socket;  // It lives as long as the process.
  static std::once_flag once;
  std::call_once(once, [] { open(socket); });
  return socket;
}

// This comes along with a message: descriptors, and who has sent it.
struct Attached {
  int descriptors[kChunksAMessage];
  std::uint32_t count = 0;
  bool trusted = false;
};

Attached read_attached(msghdr& header) {
  Attached attached;
  for (cmsghdr* one = CMSG_FIRSTHDR(&header); one != nullptr; one = CMSG_NXTHDR(&header, one)) {
    if (one->cmsg_level != SOL_SOCKET) continue;
    if (one->cmsg_type == SCM_RIGHTS) {
      attached.count = static_cast<std::uint32_t>((one->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      std::memcpy(attached.descriptors, CMSG_DATA(one), attached.count * sizeof(int));
    } else if (one->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(one), sizeof sender);
      attached.trusted = sender.uid == geteuid();
    }
  }
  return attached;
}

Parcel& parcel_of(Socket& socket, const Message& message) {
  for (Parcel& parcel : socket.parcels) {
    if (parcel.label == message.label) return parcel;
  }
  if (socket.parcels.size() >= kMostParcels) {
    close_descriptors(socket.parcels.front().chunks);
    socket.parcels.pop_front();
  }
  Parcel& parcel = socket.parcels.emplace_back();
  parcel.label = message.label;
  parcel.chunks.assign(message.total, {0, -1, 0});
  return parcel;
}

void keep(Socket& socket, const Message& message, const Attached& attached) {
  const bool makes_sense = attached.trusted && message.count == attached.count && message.total <= CROSSRAIL_MOST_CHUNKS &&
                           message.count <= message.total && message.first <= message.total - message.count;
  if (!makes_sense) {
    for (std::uint32_t one = 0; one < attached.count; ++one) ::close(attached.descriptors[one]);
    return;
  }
  Parcel& parcel = parcel_of(socket, message);
  for (std::uint32_t one = 0; one < message.count; ++one) {
    parcel.chunks[message.first + one] = {message.bytes[one], attached.descriptors[one], 0};
  }
  parcel.arrived += message.count;
}

enum class Received { one, none, not_now };

// Receives one message into a parcel.
Received receive_one(Socket& socket) {
  Message message{};
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(kChunksAMessage * sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(socket.descriptor, &header, MSG_CMSG_CLOEXEC);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Received::none : Received::not_now;
  Attached attached = read_attached(header);
  if (got != sizeof message || (header.msg_flags & MSG_CTRUNC) != 0) attached.trusted = false;
  keep(socket, message, attached);
  return Received::one;
}

// Receives all that has come. A message that cannot be read now may be readable a moment later, and nobody would ask for it again then.
void receive_all(Socket& socket) {
  constexpr int kMostFailures = 10;
  for (int failures = 0; socket.descriptor >= 0 && failures < kMostFailures;) {
    const Received received = receive_one(socket);
    if (received == Received::none) return;
    failures += received == Received::not_now ? 1 : 0;
  }
}

Status send_some(const sockaddr_un& to, socklen_t length, Message& message, const crossrail_chunk* chunks) {
  int descriptors[kChunksAMessage];
  for (std::uint32_t one = 0; one < message.count; ++one) {
    message.bytes[one] = chunks[one].bytes;
    descriptors[one] = chunks[one].descriptor;
  }
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(kChunksAMessage * sizeof(int))] = {};
  msghdr header{};
  header.msg_name = const_cast<sockaddr_un*>(&to);
  header.msg_namelen = length;
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = CMSG_SPACE(message.count * sizeof(int));
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(message.count * sizeof(int));
  std::memcpy(CMSG_DATA(rights), descriptors, message.count * sizeof(int));
  const ssize_t sent = sendmsg(socket_of_process().descriptor, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == sizeof message ? Status{} : failure(Code::system, "descriptors cannot be sent: %s", std::strerror(errno));
}

}  // namespace

std::uint64_t random_number() {
  return random_word() | 1;
}

std::uint64_t process_number() {
  static const std::uint64_t number = random_number();
  return number;
}

std::uint64_t descriptor_socket() { return socket_of_process().name; }

Status send_descriptors(std::uint64_t socket, const ParcelLabel& label, const Chunks& chunks) {
  if (socket == 0 || descriptor_socket() == 0) return failed(Code::system, "no socket for descriptors");
  sockaddr_un address;
  const socklen_t length = name_socket(socket, address);
  const auto total = static_cast<std::uint32_t>(chunks.size());
  for (std::uint32_t first = 0; first < total; first += kChunksAMessage) {
    Message message{label, total, first, std::min(kChunksAMessage, total - first), 0, {}};
    CROSSRAIL_TRY(send_some(address, length, message, chunks.data() + first));
  }
  return {};
}

Status take_descriptors(const ParcelLabel& label, std::size_t count, Chunks& chunks) {
  Socket& socket = socket_of_process();
  const std::lock_guard lock(socket.mutex);
  receive_all(socket);
  for (auto parcel = socket.parcels.begin(); parcel != socket.parcels.end(); ++parcel) {
    if (!(parcel->label == label)) continue;
    const bool complete = parcel->arrived == count && parcel->chunks.size() == count;
    if (complete) chunks = std::move(parcel->chunks);
    else close_descriptors(parcel->chunks);
    socket.parcels.erase(parcel);
    return complete ? Status{} : failed(Code::system, "some descriptors have not come");
  }
  return failed(Code::system, "no descriptors have come");
}

int list_descriptors(const Chunks& chunks) {
  const int list = memfd_create("crossrail", MFD_CLOEXEC);
  const std::size_t bytes = chunks.size() * sizeof(crossrail_chunk);
  if (list < 0 || pwrite(list, chunks.data(), bytes, 0) == static_cast<ssize_t>(bytes)) return list;
  ::close(list);
  return -1;
}

namespace {

int descriptor_of(int process, int theirs) {
  return static_cast<int>(syscall(SYS_pidfd_getfd, process, theirs, 0));
}

}  // namespace

Status fetch_descriptors(int pid, int list, std::size_t count, Chunks& chunks) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return failure(Code::system, "pidfd_open: %s", std::strerror(errno));
  chunks.assign(count, {0, -1, 0});
  const std::size_t bytes = count * sizeof(crossrail_chunk);
  const int ours = descriptor_of(process, list);
  bool right = ours >= 0 && pread(ours, chunks.data(), bytes, 0) == static_cast<ssize_t>(bytes);
  if (ours >= 0) ::close(ours);
  for (crossrail_chunk& chunk : chunks) {
    chunk.descriptor = right ? descriptor_of(process, chunk.descriptor) : -1;
    right = right && chunk.descriptor >= 0;
  }
  const int error = errno;
  ::close(process);
  if (right) return {};
  close_descriptors(chunks);
  return failure(Code::system, "pidfd_getfd: %s", std::strerror(error));
}

void close_descriptors(Chunks& chunks) {
  for (const crossrail_chunk& chunk : chunks) {
    if (chunk.descriptor >= 0) ::close(chunk.descriptor);
  }
  chunks.clear();
}

}  // namespace crossrail
