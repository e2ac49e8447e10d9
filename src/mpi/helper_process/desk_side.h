// A helper process's end of what it shares with its rank: taken once, then commands and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "transport/helper_desk.h"

namespace crossrail::helper_process {

class DeskSide {
 public:
  // A socket of this name, to which a rank may connect: the first name that is free, where there may be several places for it.
  struct Name {
    const char* key;
    int job, place;
    bool any_place;
  };
  bool listen_at(const Name& name);
  // Waits for a rank; whoever else connects meanwhile is turned away. False: there can be none.
  bool accept_rank(std::int32_t number);
  // The rank has ended: all that was shared with it goes.
  void leave_rank();

  HelperDesk& desk() { return *desk_; }
  // The next command, if there is one.
  bool next(HelperCommand& command, std::uint64_t& number);
  void say(std::uint64_t number, HelperDesk::Outcome outcome);
  // A stretch of memory that the rank shares; null: it is not known.
  std::byte* memory(const HelperCommand& command);
  void forget(std::uint32_t pages);

  // Sleeps until the rank has something to say, or so long. False: the rank has ended.
  bool sleep(int milliseconds);
  bool rank_lives() const;

 private:
  struct Mapping {
    std::byte* data;
    std::size_t bytes;
  };
  // False: the rank has ended, or nothing has come (`flags` MSG_DONTWAIT).
  bool take_packet(int flags);

  int listening_ = -1, socket_ = -1;
  HelperDesk* desk_ = nullptr;
  std::uint64_t taken_ = 0;  // commands
  std::map<std::uint32_t, Mapping> pages_;
};

}  // namespace crossrail::helper_process
