// HelperProcesses: this process's helper processes, which CROSSRAIL_HELPERS names and 'crossrail run --helpers-per-gpu' starts. They move
// long messages between nodes beside it, from and to memory that it shares with them. They belong to MPI jobs of their own, so that
// the program's ranks, sizes and placement are what they would be without them.
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
  // Those of this process, taken at the first call. They stay for the process's life.
  static HelperProcesses& of_process();

  int count() const { return static_cast<int>(taken_.size()); }
  int number() const { return number_; }         // the same in all of their jobs
  std::uint64_t job() const { return job_; }     // of all processes that may work together; 0 without helper processes

  // Memory that they see as well. Pages that could not be told to them are in no stretch that `find` finds.
  struct Pages {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::uint32_t number = 0;
  };
  // Zero. Errors: no_memory.
  Status make_pages(std::size_t bytes, Pages& pages);
  void give_back(Pages& pages);
  struct Stretch {
    std::uint32_t pages;
    std::uint64_t offset;
  };
  bool find(const void* data, std::size_t bytes, Stretch& stretch) const;

  // Of helper process `which`, below count(). `number` is what outcome() asks for, soon: 256 commands are remembered. Errors: peer_lost, system.
  Status post(int which, const HelperCommand& command, std::uint64_t& number);
  HelperDesk::Outcome outcome(int which, std::uint64_t number) const { return taken_[static_cast<std::size_t>(which)].desk->outcome(number); }
  // Errors: peer_lost where one has ended.
  Status check_alive() const;

  // Numbers of communicators in the tags of helper processes' messages: all ranks of one must agree on a number that is free on each.
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
  std::vector<std::uint32_t> numbers_;  // in use
  std::uint32_t last_number_ = 0;
};

}  // namespace crossrail
