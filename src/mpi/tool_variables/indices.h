// The indices of variables and categories that tools see. MPI lets their number grow, as Open MPI's does while components are
// loaded, and no index change. So ours come behind those that the MPI library has when a tool first asks; its later ones follow ours.
#pragma once

#include <atomic>

#include "mpi/library/next_call.h"
#include "mpi/tool_variables/tool_variables.h"

namespace crossrail::mpi {

class Indices {
 public:
  Indices(ToolKind kind, const char* get_number) : kind_(kind), next_(get_number) {}

  // Who has an index, and which of its own that is. Code: MPI's, of asking the MPI library.
  struct Place {
    int code = 0;
    bool ours = false;
    int index = 0;
  };
  Place find(int index);
  // How many there are for tools.
  int number(int& code);
  // The way back; number(code) has answered before.
  int of_ours(int which) const { return first_own_.load() + which; }
  int of_native(int index) const;

 private:
  // The MPI library's.
  int ask(int& code);
  const ToolKind kind_;
  NextCall next_;
  std::atomic<int> first_own_{-1};  // not known yet
};

Indices& indices(ToolKind kind);

}  // namespace crossrail::mpi
