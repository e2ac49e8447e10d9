// The calls of a contender at one size, in the form that is measured: the blocking call, the nonblocking
// one, or a persistent request that is made once and started often.
//
// Native calls, and what waits for them, go by their PMPI_ names; crossrail's go by MPI_, where it may have
// put itself in front.
#pragma once

#include <vector>

#include "buffers.h"
#include "harness.h"

namespace bench {

class Calls {
 public:
  // Persistent requests are made here, one for every set of buffers: on all ranks at the same point.
  Calls(const Collective& collective, const Options& options, const Contender& contender, const Exchange& exchange, Buffers& buffers);
  ~Calls();
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // Whose buffers the next call has, if it is said to be of this turn: of slices each call has others, whatever its turn.
  std::size_t set_of(std::size_t turn) const { return slices_ ? calls_ : turn; }
  // The whole exchange, with the buffers of this turn. Returns MPI's code.
  int run(std::size_t turn);
  // The same by the blocking call, whatever the form.
  int run_blocking(std::size_t turn);

  // Its parts; of a form that has them.
  int start(std::size_t turn);
  void test();
  int wait();

  const Contender& contender() const { return contender_; }
  const Exchange& exchange() const { return exchange_; }
  Buffers& buffers() { return buffers_; }
  bool off_cache() const { return off_cache_; }
  bool fresh() const { return fresh_; }
  bool beside() const { return beside_; }
  double init_seconds() const { return init_seconds_; }  // that making a persistent request took

 private:
  const void* outgoing(std::size_t turn) const { return in_place_ ? MPI_IN_PLACE : buffers_.send(turn); }

  const Collective& collective_;
  Form form_;
  bool in_place_, off_cache_, fresh_, slices_, beside_;
  const Contender& contender_;
  const Exchange& exchange_;
  Buffers& buffers_;
  std::vector<MPI_Request> made_;  // persistent
  MPI_Request started_ = MPI_REQUEST_NULL;
  std::size_t calls_ = 0;
  bool completed_ = true;  // test() has seen the end of what was started
  int init_code_ = MPI_SUCCESS;
  double init_seconds_ = 0;
};

// The functions that make persistent collective requests, which not every MPI has, or only as MPIX_:
// Open MPI before 5. Null where there is none.
template <typename Function>
struct PersistentEntry {
  Function of_mpi, of_crossrail;
};

void* persistent_function(const char* name, bool of_mpi);

template <typename Function>
PersistentEntry<Function> persistent_entry(const char* name) {
  return {reinterpret_cast<Function>(persistent_function(name, true)), reinterpret_cast<Function>(persistent_function(name, false))};
}

}  // namespace bench
