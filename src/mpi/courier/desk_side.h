// A courier's end of what it shares with its rank: taken once, then commands and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "transport/courier_desk.h"

namespace crossrail::courier {

class DeskSide {
 public:
  // Waits for a rank to connect to a socket of this name: the first name that is free of several places, where `any_place`. False:
  // there can be none.
  bool listen_at(const char* key, int job, int place, bool any_place);
  bool accept_rank(std::int32_t number);

  CourierDesk& desk() { return *desk_; }
  // The next command, if there is one.
  bool next(CourierCommand& command, std::uint64_t& number);
  void say(std::uint64_t number, CourierDesk::Outcome outcome);
  // A stretch of memory that the rank shares; null: it is not known.
  std::byte* memory(const CourierCommand& command);
  void forget(std::uint32_t pages);

  // Sleeps until the rank has something to say, or so long. False: the rank has ended.
  bool sleep(int milliseconds);

 private:
  struct Mapping {
    std::byte* data;
    std::size_t bytes;
  };
  // False: the rank has ended, or nothing has come (`flags` MSG_DONTWAIT).
  bool take_packet(int flags);

  int listening_ = -1, socket_ = -1;
  CourierDesk* desk_ = nullptr;
  std::uint64_t taken_ = 0;  // commands
  std::map<std::uint32_t, Mapping> pages_;
};

}  // namespace crossrail::courier
