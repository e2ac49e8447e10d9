// MpiFunction is a row of entry_points.def as data. This header does not include mpi.h.
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

inline constexpr int kMostWords = 9;  // No blocking function has more arguments.

struct MpiFunction {
  Function function;
  Collective collective;
  std::string_view arguments;  // A letter describes each, as entry_points.def explains.
  const char* names[3];        // These are MPI's names of the three forms.
  const char* word;            // This is the name in lower case, without "MPI_".
  // These are looked up in `arguments` once, because the hot path asks for them.
  bool reduces = has('o');
  bool has_counts = has('N');         // Each rank has a count of its own.
  bool has_displacements = has('D');  // Each rank has a place of its own.
  int receive_word = place('r');
  int root_word = place('k');  // It is -1 if the function has no root.

  constexpr int words() const { return static_cast<int>(arguments.size()); }
  // Returns the place of the first argument of this kind, from place `from` on, or -1 if there is none.
  constexpr int place(char letter, int from = 0) const {
    for (int at = from; at < words(); ++at) {
      if (arguments[static_cast<std::size_t>(at)] == letter) return at;
    }
    return -1;
  }
  constexpr bool has(char letter) const { return place(letter) >= 0; }
  // Returns the place of the argument that is the address of the request. In a persistent form an info comes before it.
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
