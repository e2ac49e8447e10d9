// Indices holds the indices of variables and categories that tools see. MPI lets their number grow, as Open MPI's does while components are
// loaded, but no index may change. So ours come behind those that the MPI library has when a tool first asks. Those that it adds later
// follow ours.
#pragma once

#include <atomic>

#include "mpi/library/next_call.h"
#include "mpi/tool_variables/tool_variables.h"

namespace crossrail::mpi {

class Indices {
 public:
  Indices(ToolKind kind, const char* get_number) : kind_(kind), next_(get_number) {}

  // This says whose index it is, and which of the owner's that is. `code` is MPI's code from asking the MPI library.
  struct Place {
    int code = 0;
    bool ours = false;
    int index = 0;
  };
  Place find(int index);
  // Returns how many there are for tools.
  int number(int& code);
  // These return the index that tools see. number(code) must have succeeded before.
  int of_ours(int which) const { return first_own_.load() + which; }
  int of_native(int index) const;

 private:
  // Returns how many the MPI library has.
  int ask(int& code);
  const ToolKind kind_;
  NextCall next_;
  std::atomic<int> first_own_{-1};  // It is -1 while it is not known.
};

Indices& indices(ToolKind kind);

}  // namespace crossrail::mpi
