// RecordedEvents keeps what the recorded calls were: communicators, datatypes and events. Each is kept once and numbered in the order of
// its first appearance.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mpi/buffers/datatypes.h"
#include "mpi/library/arguments.h"
#include "mpi/observe/call_observer.h"

namespace crossrail::mpi {

class RecordedEvents {
 public:
  static constexpr std::size_t kMostNumbers = 1 << 20;  // All events together may take this many numbers.

  // These return the number of the event, or a negative one if there is no room.
  int call(const ObservedCall& call);
  int of_requests(const char* what, const std::vector<std::int64_t>& places);
  void forget_communicator(Word64 comm) { communicators_.erase(comm); }
  // Returns '"communicators":[...],"types":[...],"events":[...]'.
  std::string json() const;

 private:
  using Key = std::vector<std::int64_t>;
  int number_of(Key key);
  int communicator(MPI_Comm comm);
  std::int64_t type(MPI_Datatype type, MPI_Comm comm);
  void add_row(Key& key, std::int64_t count, std::int64_t type) const;
  void add_side(Key& key, const ObservedCall& call, bool receives, int peers);
  void add_elements(Key& key, const ObservedCall& call, bool in_place, int peers);
  std::string event_json(const Key& key) const;
  std::map<Key, int> events_;
  std::vector<const Key*> in_order_;
  std::size_t numbers_ = 0;
  std::map<Word64, int> communicators_;  // It holds only communicators that have not been freed.
  std::vector<std::string> communicator_texts_;
  std::vector<int> sizes_;
  std::map<std::string, int> types_;
  std::vector<const std::string*> type_texts_;
};

}  // namespace crossrail::mpi
