// This file makes what mpi/observe counts performance variables: crossrail_alltoall_carried and others. They are continuous, read-only and
// the same in every session. If no report is written, counting begins when a tool opens one.

#include <string>

#include "base/settings.h"
#include "comm/collective.h"
#include "mpi/library/pmpi.h"
#include "mpi/observe/counters.h"
#include "mpi/tool_variables/answers.h"
#include "mpi/tool_variables/tool_variables.h"

namespace crossrail::mpi {
namespace {

enum class Counted { carried, native, errors, sent_bytes, seconds, communicators };

struct CountedKind {
  Counted counted;
  const char* name;
  int variable_class;
  const char* help;
};
constexpr CountedKind kOfCollective[] = {
    {Counted::carried, "carried", MPI_T_PVAR_CLASS_COUNTER, "calls that crossrail has carried"},
    {Counted::native, "native", MPI_T_PVAR_CLASS_COUNTER, "calls that crossrail has left to the MPI library"},
    {Counted::errors, "errors", MPI_T_PVAR_CLASS_COUNTER, "calls that crossrail has ended with an error"},
    {Counted::sent_bytes, "sent_bytes", MPI_T_PVAR_CLASS_AGGREGATE, "bytes that this process has given to be sent, by whomever they were carried"},
    {Counted::seconds, "seconds", MPI_T_PVAR_CLASS_TIMER, "seconds inside calls, and in starting and completing nonblocking ones"},
};
constexpr CountedKind kOfProcess = {Counted::communicators, "communicators", MPI_T_PVAR_CLASS_COUNTER,
                             "communicators opened on which crossrail may carry calls"};

struct Variable {
  const CountedKind* kind;
  const CollectiveRow* collective;  // It is null for a variable of the process.
  std::string name, help;
};

const std::vector<Variable>& variables() {
  static const auto& all = *new std::vector<Variable>([] {
    std::vector<Variable> made;
    for (const Collective collective : kCollectives) {
      const CollectiveRow& row = row_of(collective);
      for (const CountedKind& kind : kOfCollective) {
        made.push_back({&kind, &row, std::string("crossrail_") + row.name + "_" + kind.name, std::string(row.calls[0]) + " and its other forms: " + kind.help});
      }
    }
    made.push_back({&kOfProcess, nullptr, std::string("crossrail_") + kOfProcess.name, kOfProcess.help});
    return made;
  }());
  return all;
}

const Variable& variable(int which) { return variables()[static_cast<std::size_t>(which)]; }

const Marks& performance_marks() {
  static const auto& all = *new Marks(variables().size());
  return all;
}

std::uint64_t value_of(const Variable& of, const CallCounter::Totals& totals) {
  switch (of.kind->counted) {
    case Counted::carried: return totals.carried;
    case Counted::native: return totals.native;
    case Counted::errors: return totals.errors;
    case Counted::sent_bytes: return totals.sent_bytes;
    default: return communicators_opened();
  }
}

}  // namespace

int find_performance(const char* name, int variable_class) {
  for (std::size_t which = 0; which < variables().size(); ++which) {
    if (variables()[which].name == name && variables()[which].kind->variable_class == variable_class) return static_cast<int>(which);
  }
  return -1;
}

int describe_performance(int which, const Word64* words) {
  const Variable& its = variable(which);
  give_text(words[0], words[1], its.name.c_str());
  give<int>(words[2], MPI_T_VERBOSITY_USER_BASIC);
  give<int>(words[3], its.kind->variable_class);
  give<MPI_Datatype>(words[4], its.kind->counted == Counted::seconds ? MPI_DOUBLE : MPI_UNSIGNED_LONG_LONG);
  give<MPI_T_enum>(words[5], MPI_T_ENUM_NULL);
  give_text(words[6], words[7], its.help.c_str());
  give<int>(words[8], MPI_T_BIND_NO_OBJECT);
  for (const int yes : {9, 10}) give<int>(words[yes], 1);  // It is read-only and continuous.
  give<int>(words[11], 0);
  return MPI_SUCCESS;
}

int open_performance(int which, const Word64* words) {
  count_from_now();
  give<Word64>(words[1], performance_marks().at(which));
  give<int>(words[2], 1);
  return MPI_SUCCESS;
}

int performance_of(Word64 handle) { return performance_marks().which(handle); }

int close_performance(Word64 handle_address) {
  give<MPI_T_pvar_handle>(handle_address, MPI_T_PVAR_HANDLE_NULL);
  return MPI_SUCCESS;
}

int read_performance(int which, Word64 buffer) {
  const Variable& its = variable(which);
  const CallCounter::Totals totals = its.collective == nullptr ? CallCounter::Totals{} : CallCounter::totals_of(its.collective->calls);
  if (its.kind->counted == Counted::seconds) {
    give<double>(buffer, static_cast<double>(totals.inside_ns) * 1e-9);
  } else {
    give<unsigned long long>(buffer, value_of(its, totals));
  }
  return MPI_SUCCESS;
}

int not_started() { return MPI_T_ERR_PVAR_NO_STARTSTOP; }
int not_written() { return MPI_T_ERR_PVAR_NO_WRITE; }
int not_at_once() { return MPI_T_ERR_PVAR_NO_ATOMIC; }

int tool_variable_count(ToolKind kind) {
  if (kind == ToolKind::category) return 1;
  return static_cast<int>(kind == ToolKind::control ? setting_rows().size() : variables().size());
}

}  // namespace crossrail::mpi
