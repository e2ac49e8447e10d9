#include "mpi/communicator/info_keys.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <vector>

#include "base/log.h"
#include "base/of_thread.h"
#include "base/setting_check.h"
#include "mpi/library/pmpi.h"
#include "selection/parameters.h"

namespace crossrail::mpi {
namespace {

struct Kept {
  std::map<std::string, std::string> values;  // The key is the name of the variable.
  bool opened = false;
};

std::atomic<bool> any_given{false};

// Some libraries lack some of these functions. Nothing but info keys needs them.
struct InfoFunctions {
  int (*get_nkeys)(MPI_Info, int*) = reinterpret_cast<decltype(get_nkeys)>(library_symbol("PMPI_Info_get_nkeys"));
  int (*get_nthkey)(MPI_Info, int, char*) = reinterpret_cast<decltype(get_nthkey)>(library_symbol("PMPI_Info_get_nthkey"));
  int (*get)(MPI_Info, const char*, int, char*, int*) = reinterpret_cast<decltype(get)>(library_symbol("PMPI_Info_get"));
  int (*set)(MPI_Info, const char*, const char*) = reinterpret_cast<decltype(set)>(library_symbol("PMPI_Info_set"));
  int (*remove)(MPI_Info, const char*) = reinterpret_cast<decltype(remove)>(library_symbol("PMPI_Info_delete"));
  bool complete() const { return remove != nullptr && get_nkeys != nullptr && get_nthkey != nullptr && get != nullptr && set != nullptr; }
};

const InfoFunctions& functions() {
  static const InfoFunctions found;
  return found;
}

int forget_info_keys(MPI_Comm, int, void* value, void*) {
  delete static_cast<Kept*>(value);
  return MPI_SUCCESS;
}

// This thread is about to make copies of communicators with these keys.
thread_local const Kept* for_copies = nullptr;

int copy(MPI_Comm, int, void*, void*, void* its_copy, int* flag) {
  *flag = for_copies != nullptr ? 1 : 0;
  if (for_copies != nullptr) *static_cast<void**>(its_copy) = new Kept(*for_copies);
  return MPI_SUCCESS;
}

int keyval() {
  static const int made = [] {
    int number = MPI_KEYVAL_INVALID;
    (void)pmpi().Comm_create_keyval(copy, forget_info_keys, &number, nullptr);
    return number;
  }();
  return made;
}

// Returns null if `comm` has none.
Kept* find(MPI_Comm comm) {
  void* value = nullptr;
  int found = 0;
  if (keyval() == MPI_KEYVAL_INVALID || pmpi().Comm_get_attr(comm, keyval(), &value, &found) != MPI_SUCCESS || found == 0) return nullptr;
  return static_cast<Kept*>(value);
}

Kept* find_or_make(MPI_Comm comm) {
  if (Kept* const there = find(comm); there != nullptr) return there;
  auto made = std::make_unique<Kept>();
  if (keyval() == MPI_KEYVAL_INVALID || pmpi().Comm_set_attr(comm, keyval(), made.get()) != MPI_SUCCESS) return nullptr;
  return made.release();
}

std::string in_case(std::string text, int (*change)(int)) {
  for (char& letter : text) letter = static_cast<char>(change(static_cast<unsigned char>(letter)));
  return text;
}

std::string problem(const std::string& key, const std::string& value, const Kept& kept) {
  const std::string variable = in_case(key, std::toupper), said = "info key " + printable(key) + "=" + printable(value) + " is ignored: ";
  const SettingRow* const row = setting_row(variable);
  if (row == nullptr) return said + "there is no such setting (see 'crossrail list --settings')";
  if (std::strcmp(row->scope, "communicator") != 0) return said + "it is a setting of the process, not of a communicator";
  if (const std::string takes = what_it_takes(*row, value); !takes.empty()) return said + "it takes " + takes;
  if (!makes_sense(variable, value)) return said + "there is no such algorithm, or it has no such parameters (see 'crossrail list')";
  if (kept.opened) return said + "it must be set before the communicator's first collective call";
  return {};
}

// Rank 0 of `comm` reports values that make no sense.
void keep(Kept& kept, MPI_Comm comm, const std::string& key, const std::string& value) {
  const std::string wrong = problem(key, value, kept);
  if (wrong.empty()) {
    kept.values[in_case(key, std::toupper)] = value;
    any_given = true;
    return;
  }
  int rank = 0;
  if (pmpi().Comm_rank(comm, &rank) == MPI_SUCCESS && rank == 0 && first_time(wrong.c_str())) log_line(LogLevel::error, "%s", wrong.c_str());
}

bool is_ours(const std::string& key) { return key == "crossrail" || key.compare(0, 10, "crossrail_") == 0; }

std::vector<std::string> our_keys(MPI_Info info) {
  std::vector<std::string> ours;
  std::vector<char> key(MPI_MAX_INFO_KEY + 1);
  int keys = 0;
  if (functions().get_nkeys(info, &keys) != MPI_SUCCESS) return ours;
  for (int number = 0; number < keys; ++number) {
    if (functions().get_nthkey(info, number, key.data()) == MPI_SUCCESS && is_ours(key.data())) ours.push_back(key.data());
  }
  return ours;
}

void keep_all(Kept& kept, MPI_Comm comm, MPI_Info info, const std::vector<std::string>& keys) {
  std::vector<char> value(MPI_MAX_INFO_VAL + 1);
  for (const std::string& key : keys) {
    int there = 0;
    if (functions().get(info, key.c_str(), MPI_MAX_INFO_VAL, value.data(), &there) == MPI_SUCCESS && there != 0) keep(kept, comm, key, value.data());
  }
}

}  // namespace

void keep_info_keys(MPI_Comm comm, MPI_Info info) {
  if (comm == handles().comm_null || info == MPI_INFO_NULL || !functions().complete()) return;
  const std::vector<std::string> keys = our_keys(info);
  Kept* const kept = keys.empty() ? nullptr : find_or_make(comm);
  if (kept != nullptr) keep_all(*kept, comm, info, keys);
}

void begin_copies_with(MPI_Comm comm, MPI_Info info) {
  if (comm == handles().comm_null || info == MPI_INFO_NULL || !functions().complete()) return;
  const std::vector<std::string> keys = our_keys(info);
  if (keys.empty() || find_or_make(comm) == nullptr) return;
  struct Given {};
  Kept& given = of_thread<Kept, Given>();
  given = {};
  keep_all(given, comm, info, keys);
  for_copies = &given;
}

void end_copies() { for_copies = nullptr; }

void tell_info_keys(MPI_Comm comm, MPI_Info info) {
  if (!functions().complete()) return;
  for (const std::string& key : our_keys(info)) (void)functions().remove(info, key.c_str());
  const Kept* const kept = find(comm);
  if (kept == nullptr) return;
  for (const auto& [variable, value] : kept->values) (void)functions().set(info, in_case(variable, std::tolower).c_str(), value.c_str());
}

bool value_of_info_key(MPI_Comm comm, const std::string& variable, std::string& value) {
  const Kept* const kept = find(comm);
  if (kept == nullptr) return false;
  const auto found = kept->values.find(variable);
  if (found == kept->values.end()) return false;
  value = found->second;
  return true;
}

void hold_info_keys(MPI_Comm comm, const std::string& text) {
  Kept* const kept = find_or_make(comm);
  if (kept == nullptr) return;
  kept->values.clear();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) kept->values[line.substr(0, equals)] = line.substr(equals + 1);
  }
}

bool info_key_was_given() { return any_given.load(std::memory_order_relaxed); }

std::string settings_of_info_keys(MPI_Comm comm) {
  Kept* const kept = find_or_make(comm);
  std::string text;
  if (kept == nullptr) return text;
  kept->opened = true;
  for (const auto& [variable, value] : kept->values) text += variable + "=" + value + "\n";
  return text;
}

}  // namespace crossrail::mpi
