// What tools see of crossrail by MPI_T: settings are control variables, counters performance variables, all in one category.
// No mpi.h here: words are the arguments of the C calls; what is answered is MPI's code.
#pragma once

#include "mpi/words/call_result.h"

namespace crossrail::mpi {

enum class ToolKind { control, performance, category };

// Returns whether tools see any. They see none where crossrail is off when they first ask, nor under an MPI library of another flavour.
bool tool_variables_shown();
int tool_variable_count(ToolKind kind);
// MPI_T_ERR_INVALID_INDEX.
int no_such_index();

// Variables of ours are numbered from 0; -1: there is none of that name. Words are those behind the index.
int find_control(const char* name);
int describe_control(int which, const Word64* words);
int open_control(int which, const Word64* words);
// Of a handle; -1: it is the MPI library's.
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
int not_started();   // MPI_T_ERR_PVAR_NO_STARTSTOP
int not_written();   // MPI_T_ERR_PVAR_NO_WRITE
int not_at_once();   // MPI_T_ERR_PVAR_NO_ATOMIC

int find_category(const char* name);
int describe_category(const Word64* words);

}  // namespace crossrail::mpi
