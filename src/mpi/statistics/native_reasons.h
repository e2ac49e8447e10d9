// Why calls were left to the MPI library, as the report says it (read by python/crossrail/report).
#pragma once

namespace crossrail::mpi::native_because {

inline constexpr const char* kNoMpi = "no MPI library of this flavour in the process";
inline constexpr const char* kArguments = "arguments that only the MPI library takes: wrong ones, operations of the program's own";
inline constexpr const char* kNoRecord = "MPI does not run, or its communicator keeps nothing for crossrail";
inline constexpr const char* kOff = "crossrail is switched off (CROSSRAIL)";
inline constexpr const char* kNotOpened = "an intercommunicator, spawned processes, or a rank without crossrail";
inline constexpr const char* kNoAlgorithm = "no algorithm for where the ranks of the communicator are";
inline constexpr const char* kNoRowFits = "no algorithm for this call";
inline constexpr const char* kWanted = "the settings or the tuning table say native";
inline constexpr const char* kCompared = "compared with native now and then (CROSSRAIL_GUARD)";
inline constexpr const char* kMeasured = "native was measured to be faster";
inline constexpr const char* kBroken = "the communicator has met an error";
inline constexpr const char* kFirstCalls = "the first calls on a communicator";
inline constexpr const char* kNothingPending = "calls cannot be pending on this communicator";

}  // namespace crossrail::mpi::native_because
