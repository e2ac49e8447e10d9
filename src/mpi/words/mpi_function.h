// MpiFunction: a row of entry_points.def, as data. No mpi.h here.
#pragma once

#include <cstdint>
#include <string_view>

#include "comm/collective.h"
#include "mpi/words/call_result.h"

namespace crossrail::mpi {

enum class Function : std::uint8_t {
#define ENTRY_POINT(Name, name, ...) name,
#include "mpi/words/entry_points.def"
#undef ENTRY_POINT
};

enum class Form : std::uint8_t { blocking, nonblocking, persistent };

inline constexpr int kMostWords = 9;  // of a blocking function

struct MpiFunction {
  Function function;
  Collective collective;
  std::string_view arguments;  // a letter for each, as entry_points.def explains
  const char* names[3];        // MPI's names of the three forms
  const char* word;            // the name in small letters, without "MPI_"
  // What the hot path asks of `arguments`:
  bool reduces = has('o');
  bool has_counts = has('N');  // a count for each rank
  int receive_word = place('r');
  int root_word = place('k');  // -1: it has none

  constexpr int words() const { return static_cast<int>(arguments.size()); }
  // The place of the first argument of this kind, from place `from` on; -1: there is none.
  constexpr int place(char letter, int from = 0) const {
    for (int at = from; at < words(); ++at) {
      if (arguments[static_cast<std::size_t>(at)] == letter) return at;
    }
    return -1;
  }
  constexpr bool has(char letter) const { return place(letter) >= 0; }
  // Where the program finds the request of a nonblocking or persistent form: an info comes before the latter's.
  constexpr int request_word(Form form) const { return words() + (form == Form::persistent ? 1 : 0); }
  const char* name(Form form) const { return names[static_cast<int>(form)]; }
};

inline constexpr MpiFunction kFunctions[] = {
#define ENTRY_POINT(Name, name, NAME, count, collective, arguments) \
  {Function::name, Collective::collective, arguments, {"MPI_" #Name, "MPI_I" #name, "MPI_" #Name "_init"}, #name},
#include "mpi/words/entry_points.def"
#undef ENTRY_POINT
};
#define ENTRY_POINT(Name, name, NAME, count, ...) \
  static_assert(kFunctions[static_cast<int>(Function::name)].words() == (count) && (count) <= kMostWords);
#include "mpi/words/entry_points.def"
#undef ENTRY_POINT

constexpr const MpiFunction& row_of(Function function) { return kFunctions[static_cast<int>(function)]; }

}  // namespace crossrail::mpi
