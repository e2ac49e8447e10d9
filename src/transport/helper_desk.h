// A HelperDesk is shared by a rank and one of its helper processes, which run in a job of their own and move messages for it. The rank writes
// commands into a ring, and the helper process executes them in this order and reports how each of them ended.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace crossrail {

struct HelperCommand {
  enum class Kind : std::uint32_t { send, receive, forget_pages, cancel };  // `cancel` applies to everything under way.
  Kind kind;
  std::int32_t peer;    // It is the number of the other helper process in the helper processes' job.
  std::int32_t tag;
  std::uint32_t pages;  // They are memory that the rank shares with its helper processes, and a stretch of it.
  std::uint64_t offset, bytes;
};

struct HelperDesk {
  static constexpr std::size_t kCommands = 256;
  // It is the version of everything that a rank and its helper processes tell each other.
  static constexpr std::uint64_t kVersion = 0x6372'6f73'7372'0001;
  enum class Outcome : std::uint64_t { none, done, wrong_length, failed };

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> posted;  // It counts the commands so far.
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> asleep;  // It says that the helper process waits for a packet on its socket.
  alignas(kCacheLineBytes) HelperCommand commands[kCommands];
  std::atomic<std::uint64_t> ended[kCommands];  // They hold the number, from 1 on, of the command in that entry which has ended, and its outcome.
  std::atomic<std::uint32_t> failures;          // It counts failures of all commands.

  static std::uint64_t ending(std::uint64_t number, Outcome outcome) { return (number + 1) << 2 | static_cast<std::uint64_t>(outcome); }
  // Commands end in any order. If a later command has taken this one's entry, all that is known is whether everything went well.
  Outcome outcome(std::uint64_t number) const {
    const std::uint64_t seen = ended[number % kCommands].load(std::memory_order_acquire);
    if (seen >> 2 <= number) return Outcome::none;
    if (seen >> 2 == number + 1) return static_cast<Outcome>(seen & 3);
    return failures.load(std::memory_order_relaxed) == 0 ? Outcome::done : Outcome::failed;
  }
};

// These packets go through the socket between the two. The helper process first says
// who it is, and the rank answers with the desk, whose descriptor goes with the packet.
struct HelperGreeting {
  std::uint64_t version;
  std::int32_t number;  // It counts within the helper processes' job.
};
struct HelperPacket {
  enum class Kind : std::uint32_t { wake, desk, pages };
  Kind kind;
  std::uint32_t pages;
  std::uint64_t bytes;
};

// This is the name by which a rank finds its helper processes. The first one is any that is free on its
// node, in a job of their own (`job` 0, `place` from 0 on). The others have the same number as that one,
// each in another job. The names are in the abstract space of sockets, so they leave nothing behind.
inline constexpr int kMostFirstHelpers = 512;
inline constexpr int kMostHelpers = 15;
inline std::string helper_name(const char* key, int job, int place) {
  return std::string("crossrail.helper.") + key + '.' + std::to_string(job) + '.' + std::to_string(place);
}

}  // namespace crossrail
