// These are the calls of a contender at one size, in the form that is measured: the blocking call, the nonblocking one, or a persistent request that
// is made once and started often.
//
// Native calls, and the functions that wait for them, use PMPI_ names. Those of crossrail use MPI_ names, which it may have replaced.
#pragma once

#include <vector>

#include "buffers.h"
#include "harness.h"

namespace bench {

class Calls {
 public:
  // Makes one persistent request for every set of buffers. All ranks must call it at the same point.
  Calls(const Collective& collective, const Options& options, const Contender& contender, const Exchange& exchange, Buffers& buffers);
  ~Calls();
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // Returns whose buffers the next call uses in this turn. With slices, each call uses other ones, whatever its turn is.
  std::size_t set_of(std::size_t turn) const { return slices_ ? calls_ : turn; }
  // Makes the whole exchange, with the buffers of this turn. Returns MPI's code.
  int run(std::size_t turn);
  // Does the same with the blocking call, whatever the form is.
  int run_blocking(std::size_t turn);

  // These are its parts, if the form has any.
  int start(std::size_t turn);
  void test();
  int wait();

  const Contender& contender() const { return contender_; }
  const Exchange& exchange() const { return exchange_; }
  Buffers& buffers() { return buffers_; }
  bool off_cache() const { return off_cache_; }
  bool fresh() const { return fresh_; }
  bool beside() const { return beside_; }
  double init_seconds() const { return init_seconds_; }  // Making a persistent request took so long.

 private:
  const void* outgoing(std::size_t turn) const { return in_place_ ? MPI_IN_PLACE : buffers_.send(turn); }

  const Collective& collective_;
  Form form_;
  bool in_place_, off_cache_, fresh_, slices_, beside_;
  const Contender& contender_;
  const Exchange& exchange_;
  Buffers& buffers_;
  std::vector<MPI_Request> made_;  // They are persistent requests.
  MPI_Request started_ = MPI_REQUEST_NULL;
  std::size_t calls_ = 0;
  bool completed_ = true;  // test() has seen the end of what was started.
  int init_code_ = MPI_SUCCESS;
  double init_seconds_ = 0;
};

// These functions make persistent collective requests. Some MPIs lack them or
// have them only as MPIX_ (Open MPI before 5). It is null if there is none.
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
