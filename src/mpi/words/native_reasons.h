// These texts say why calls were left to MPI, in the words of the report (python/crossrail/report reads it). They are arrays because reasons
// are compared by their addresses.
#pragma once

namespace crossrail::mpi::native_because {

inline constexpr char kNoMpi[] = "no MPI library of this flavour in the process";
inline constexpr char kArguments[] = "arguments that only the MPI library takes: wrong ones, operations of the program's own";
inline constexpr char kNoRecord[] = "MPI does not run, or its communicator keeps nothing for crossrail";
inline constexpr char kOff[] = "crossrail is switched off (CROSSRAIL)";
inline constexpr char kNotOpened[] = "an intercommunicator, spawned processes, or a rank without crossrail";
inline constexpr char kNoAlgorithm[] = "no algorithm for where the ranks of the communicator are";
inline constexpr char kNoRowFits[] = "no algorithm for this call";
inline constexpr char kWanted[] = "the settings or the tuning table say native";
inline constexpr char kCompared[] = "compared with native now and then (CROSSRAIL_GUARD)";
inline constexpr char kMeasured[] = "native was measured to be faster";
inline constexpr char kBroken[] = "the communicator has met an error";
inline constexpr char kFirstCalls[] = "the first calls on a communicator";
inline constexpr char kNothingPending[] = "calls cannot be pending on this communicator";

}  // namespace crossrail::mpi::native_because
