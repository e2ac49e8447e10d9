// HelperDesk: what a rank shares with one of its helper processes, processes of a job beside the program's that move messages for it. The
// rank writes commands in a ring, the helper process carries them out in this order and says of each how it ended.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace crossrail {

struct HelperCommand {
  enum class Kind : std::uint32_t { send, receive, forget_pages, cancel };  // cancel: all that is under way
  Kind kind;
  std::int32_t peer;    // the helper process with this number in the helper processes' job
  std::int32_t tag;
  std::uint32_t pages;  // memory that the rank shares with its helper processes, and a stretch of it
  std::uint64_t offset, bytes;
};

struct HelperDesk {
  static constexpr std::size_t kCommands = 256;
  static constexpr std::uint64_t kVersion = 0x6372'6f73'7372'0001;  // of all that a rank and its helper processes tell each other
  enum class Outcome : std::uint64_t { none, done, wrong_length, failed };

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> posted;  // commands so far
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> asleep;  // the helper process waits for a packet on its socket
  alignas(kCacheLineBytes) HelperCommand commands[kCommands];
  std::atomic<std::uint64_t> ended[kCommands];  // number of the command there that has ended, from 1 on, and its outcome
  std::atomic<std::uint32_t> failures;          // of all commands

  static std::uint64_t ending(std::uint64_t number, Outcome outcome) { return (number + 1) << 2 | static_cast<std::uint64_t>(outcome); }
  // Commands end in any order. Where a later one stands in the place of this one, all that is known is whether all went well.
  Outcome outcome(std::uint64_t number) const {
    const std::uint64_t seen = ended[number % kCommands].load(std::memory_order_acquire);
    if (seen >> 2 <= number) return Outcome::none;
    if (seen >> 2 == number + 1) return static_cast<Outcome>(seen & 3);
    return failures.load(std::memory_order_relaxed) == 0 ? Outcome::done : Outcome::failed;
  }
};

// What goes through the socket between them, a packet each. First the helper process says who it is; the rank answers with the desk (a
// descriptor goes with the packet).
struct HelperGreeting {
  std::uint64_t version;
  std::int32_t number;  // in the helper processes' job
};
struct HelperPacket {
  enum class Kind : std::uint32_t { wake, desk, pages };
  Kind kind;
  std::uint32_t pages;
  std::uint64_t bytes;
};

// Where a rank finds its helper processes: its first one is any that is free on its node, in a job of their own (`job` 0, `place` from 0 on); the
// others have the same number as that one, in a job each. Names in the abstract space of sockets, which leave nothing behind.
inline constexpr int kMostFirstHelpers = 512;
inline constexpr int kMostHelpers = 15;
inline std::string helper_name(const char* key, int job, int place) {
  return std::string("crossrail.helper.") + key + '.' + std::to_string(job) + '.' + std::to_string(place);
}

}  // namespace crossrail
