// A Startable is a persistent call whose request, as the program has it, is a token. We implement MPI_Start and MPI_Request_free for it.
#pragma once

#include <atomic>

#include "mpi/requests/tokens.h"

namespace crossrail::mpi {

class Startable {
 public:
  // Returns MPI's code.
  virtual int start() = 0;
  // The program frees its request. The object is deleted when what is under way has ended.
  virtual void free() = 0;

  Token token;
  bool has_program_its_token = false;

 protected:
  ~Startable() { has_program_its_token ? close_token(token) : drop_token(token); }

  void becomes_active() { state_.store(State::active, std::memory_order_relaxed); }
  void becomes_inactive() { state_.store(State::inactive, std::memory_order_relaxed); }
  // The call has ended. If the program waits for it, the token is completed, after which the program may start or free it. Returns true if it has
  // been freed meanwhile and is to be deleted.
  bool end(bool waited_for, int code) {
    const Token its = token;
    const bool freed = state_.exchange(State::inactive) == State::freed;
    if (waited_for) complete_token(its, code);
    return freed;
  }
  // `free` calls it. Returns true if nothing is under way, so that it is to be deleted.
  bool release() { return state_.exchange(State::freed) == State::inactive; }

 private:
  enum class State { inactive, active, freed };
  std::atomic<State> state_{State::inactive};
};

// Returns null if the request belongs to none.
Startable* find_startable(MPI_Request request);

}  // namespace crossrail::mpi
