// This file makes the settings control variables: crossrail_alltoall is CROSSRAIL_ALLTOALL. All are texts.

#include <algorithm>
#include <cctype>
#include <mutex>
#include <string>

#include "base/settings.h"
#include "mpi/library/pmpi.h"
#include "mpi/tool_variables/answers.h"
#include "mpi/tool_variables/tool_variables.h"
#include "selection/parameters.h"

namespace crossrail::mpi {
namespace {

constexpr int kMostCharacters = 4096;  // No value is longer.

const std::vector<std::string>& names() {
  static const auto& all = *new std::vector<std::string>([] {
    std::vector<std::string> lower;
    for (const SettingRow& row : setting_rows()) {
      std::string name = row.variable;
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char one) { return static_cast<char>(std::tolower(one)); });
      lower.push_back(name);
    }
    return lower;
  }());
  return all;
}

const Marks& control_marks() {
  static const auto& all = *new Marks(setting_rows().size());
  return all;
}

// This guards reading and writing by tools. Communicators read settings when they are opened.
std::mutex variables_mutex;

// Only settings that hold for a communicator may be written. They hold for communicators still to come, as with crossrail_set().
bool may_be_written(int which) { return std::string_view(setting_rows()[static_cast<std::size_t>(which)].scope) == "communicator"; }

}  // namespace

int find_control(const char* name) {
  const auto at = std::find(names().begin(), names().end(), name);
  return at == names().end() ? -1 : static_cast<int>(at - names().begin());
}

int describe_control(int which, const Word64* words) {
  const auto row = static_cast<std::size_t>(which);
  give_text(words[0], words[1], names()[row].c_str());
  give<int>(words[2], MPI_T_VERBOSITY_USER_BASIC);
  give<MPI_Datatype>(words[3], MPI_CHAR);
  give<MPI_T_enum>(words[4], MPI_T_ENUM_NULL);
  give_text(words[5], words[6], setting_rows()[row].help);
  give<int>(words[7], MPI_T_BIND_NO_OBJECT);
  give<int>(words[8], may_be_written(which) ? MPI_T_SCOPE_ALL_EQ : MPI_T_SCOPE_CONSTANT);
  return MPI_SUCCESS;
}

int open_control(int which, const Word64* words) {
  give<Word64>(words[1], control_marks().at(which));
  give<int>(words[2], kMostCharacters);
  return MPI_SUCCESS;
}

int control_of(Word64 handle) { return control_marks().which(handle); }

int close_control(Word64 handle_address) {
  give<MPI_T_cvar_handle>(handle_address, MPI_T_CVAR_HANDLE_NULL);
  return MPI_SUCCESS;
}

int read_control(int which, Word64 buffer) {
  const std::lock_guard lock(variables_mutex);
  const std::string value = setting_values(process_settings())[static_cast<std::size_t>(which)];
  int room = kMostCharacters;
  give_text(buffer, reinterpret_cast<Word64>(&room), value.c_str());
  return MPI_SUCCESS;
}

int write_control(int which, Word64 buffer) {
  if (!may_be_written(which)) return MPI_T_ERR_CVAR_SET_NEVER;
  const auto* const text = reinterpret_cast<const char*>(buffer);
  if (text == nullptr) return MPI_T_ERR_INVALID;
  const std::string value(text, strnlen(text, kMostCharacters));
  const char* const variable = setting_rows()[static_cast<std::size_t>(which)].variable;
  const std::lock_guard lock(variables_mutex);
  return makes_sense(variable, value) && change_process_setting(variable, value) ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

}  // namespace crossrail::mpi
