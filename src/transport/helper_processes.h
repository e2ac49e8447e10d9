// HelperProcesses are this process's helper processes, which CROSSRAIL_HELPERS names and 'crossrail run --helpers-per-gpu' starts. Beside this
// process they move long messages between nodes, from and to memory that it shares with them. They belong to MPI jobs of their own, so that the
// program's ranks, sizes and placement are the same as without them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "transport/helper_desk.h"

namespace crossrail {

class HelperProcesses {
 public:
  // Returns the helper processes of this process. The first call takes them, and they stay for its lifetime.
  static HelperProcesses& of_process();

  int count() const { return static_cast<int>(taken_.size()); }
  int number() const { return number_; }         // It is the same in all of their jobs.
  std::uint64_t job() const { return job_; }     // All processes that may work together have the same; without helper processes it is 0.

  // This is memory that they see as well. `find` finds no stretch with pages that could not be announced to them.
  struct Pages {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::uint32_t number = 0;
  };
  // The pages are zero. Errors: no_memory.
  Status make_pages(std::size_t bytes, Pages& pages);
  void give_back(Pages& pages);
  struct Stretch {
    std::uint32_t pages;
    std::uint64_t offset;
  };
  bool find(const void* data, std::size_t bytes, Stretch& stretch) const;

  // Posts a command to helper process `which`, which is less than count(). `number` must soon be passed to outcome(), because only 256 commands are
  // remembered. Errors: peer_lost, system.
  Status post(int which, const HelperCommand& command, std::uint64_t& number);
  HelperDesk::Outcome outcome(int which, std::uint64_t number) const { return taken_[static_cast<std::size_t>(which)].desk->outcome(number); }
  // Errors: peer_lost if one has ended.
  Status check_alive() const;

  // The tags of helper processes' messages contain a number of the communicator. All its ranks must agree on a number that is free on each of them.
  std::uint32_t next_free();
  bool take_number(std::uint32_t number);
  void free_number(std::uint32_t number);

 private:
  HelperProcesses();
  struct Taken {
    int socket;
    HelperDesk* desk;
    std::uint64_t posted = 0;
  };
  bool take_first(const char* key);
  bool take(const char* name, int& number);
  void wake(const Taken& helper) const;

  std::vector<Taken> taken_;
  int number_ = -1;
  std::uint64_t job_ = 0;
  mutable std::mutex mutex_;
  std::vector<Pages> pages_;
  std::uint32_t pages_made_ = 0;
  std::vector<std::uint32_t> numbers_;  // These are in use.
  std::uint32_t last_number_ = 0;
};

}  // namespace crossrail
