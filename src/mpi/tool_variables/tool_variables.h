// This is what tools see of crossrail by MPI_T: settings are control variables, counters are performance variables, and all are in one
// category. This header does not include mpi.h: words are the arguments of the C calls, and the functions return MPI's codes.
#pragma once

#include "mpi/words/call_result.h"

namespace crossrail::mpi {

enum class ToolKind { control, performance, category };

// Returns whether tools see any. They see none if crossrail is off when they first ask, or if the MPI library is of another flavour.
bool tool_variables_shown();
int tool_variable_count(ToolKind kind);
// Returns MPI_T_ERR_INVALID_INDEX.
int no_such_index();

// Variables of ours are numbered from 0. find_control returns -1 if there is none of that name. `words` are those behind the index.
int find_control(const char* name);
int describe_control(int which, const Word64* words);
int open_control(int which, const Word64* words);
// Returns the variable of a handle, or -1 if the handle is the MPI library's.
int control_of(Word64 handle);
int close_control(Word64 handle_address);
int read_control(int which, Word64 buffer);
int write_control(int which, Word64 buffer);

int find_performance(const char* name, int variable_class);
int describe_performance(int which, const Word64* words);
int open_performance(int which, const Word64* words);
int performance_of(Word64 handle);
int close_performance(Word64 handle_address);
int read_performance(int which, Word64 buffer);
int not_started();   // It returns MPI_T_ERR_PVAR_NO_STARTSTOP.
int not_written();   // It returns MPI_T_ERR_PVAR_NO_WRITE.
int not_at_once();   // It returns MPI_T_ERR_PVAR_NO_ATOMIC.

int find_category(const char* name);
int describe_category(const Word64* words);

}  // namespace crossrail::mpi
