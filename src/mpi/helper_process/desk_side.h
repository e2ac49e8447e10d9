// DeskSide is a helper process's end of what it shares with its rank. The rank takes the helper process once, and then sends commands and
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "transport/helper_desk.h"

namespace crossrail::helper_process {

class DeskSide {
 public:
  // Opens a socket of this name, to which a rank may connect. If there may be several places for it, the first free name is taken.
  struct Name {
    const char* key;
    int job, place;
    bool any_place;
  };
  bool listen_at(const Name& name);
  // Waits for a rank. Other processes that connect meanwhile are turned away. Returns false if no rank can come.
  bool accept_rank(std::int32_t number);
  // The rank has ended. All that was shared with it is released.
  void leave_rank();

  HelperDesk& desk() { return *desk_; }
  // Takes the next command. Returns false if there is none.
  bool next(HelperCommand& command, std::uint64_t& number);
  void say(std::uint64_t number, HelperDesk::Outcome outcome);
  // Returns a stretch of memory that the rank shares, or null if it is not known.
  std::byte* memory(const HelperCommand& command);
  void forget(std::uint32_t pages);

  // Sleeps until the rank has something to say, at most `milliseconds`. Returns false if the rank has ended.
  bool sleep(int milliseconds);
  bool rank_lives() const;

 private:
  struct Mapping {
    std::byte* data;
    std::size_t bytes;
  };
  // Returns false if the rank has ended, or if nothing has come (with `flags` MSG_DONTWAIT).
  bool take_packet(int flags);

  int listening_ = -1, socket_ = -1;
  HelperDesk* desk_ = nullptr;
  std::uint64_t taken_ = 0;  // This many commands have been taken.
  std::map<std::uint32_t, Mapping> pages_;
};

}  // namespace crossrail::helper_process
