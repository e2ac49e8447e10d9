// This file defines the category of all variables of ours, and says when tools see them.

#include <string_view>

#include "base/settings.h"
#include "mpi/library/pmpi.h"
#include "mpi/tool_variables/answers.h"
#include "mpi/tool_variables/tool_variables.h"

namespace crossrail::mpi {
namespace {

constexpr char kName[] = "crossrail";
constexpr char kHelp[] = "crossrail: settings, which hold for communicators still to come, and what was carried";

}  // namespace

bool tool_variables_shown() {
  if (find_functions() == nullptr) return false;
  static const bool on = process_settings().enabled != 0;  // Indices must not come and go.
  return on;
}

int no_such_index() { return MPI_T_ERR_INVALID_INDEX; }

int find_category(const char* name) { return std::string_view(name) == kName ? 0 : -1; }

int describe_category(const Word64* words) {
  give_text(words[0], words[1], kName);
  give_text(words[2], words[3], kHelp);
  give<int>(words[4], tool_variable_count(ToolKind::control));
  give<int>(words[5], tool_variable_count(ToolKind::performance));
  give<int>(words[6], 0);
  return MPI_SUCCESS;
}

}  // namespace crossrail::mpi
