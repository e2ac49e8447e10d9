// These functions use sockets between a rank and its helper processes. They send packets, some with a descriptor.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace crossrail::helper_socket {

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;
};
inline Address address_of(const std::string& name) {
  Address address;
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path + 1, name.data(), name.size());  // The name begins with 0, which means the abstract space.
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}
inline int make() { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0); }

// Every user may use a name of the abstract space.
inline bool same_user(int connected) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

// With `descriptor` -1, none goes with it.
template <class Packet>
bool send_packet(int socket, const Packet& packet, int descriptor = -1, int flags = 0) {
  iovec data{const_cast<Packet*>(&packet), sizeof packet};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  return sendmsg(socket, &message, flags | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof packet);
}

// Returns false if no packet has come or none will.
template <class Packet>
bool receive_packet(int socket, Packet& packet, int* descriptor = nullptr, int flags = 0) {
  iovec data{&packet, sizeof packet};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  int came = -1;
  const cmsghdr* const header = got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) std::memcpy(&came, CMSG_DATA(header), sizeof came);
  if (descriptor != nullptr) *descriptor = came;
  if (descriptor == nullptr && came >= 0) close(came);
  return got == static_cast<ssize_t>(sizeof packet);
}

}  // namespace crossrail::helper_socket
