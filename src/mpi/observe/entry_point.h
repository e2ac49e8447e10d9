// EntryPoint stands for one exported name of a collective that crossrail handles. There is a static object for each name.
#pragma once

#include "mpi/library/next_call.h"
#include "mpi/observe/counters.h"
#include "mpi/words/mpi_function.h"

namespace crossrail::mpi {

enum class Language : std::uint8_t { c, fortran };

struct EntryPoint {
  struct Kind {
    Function function;
    Form form = Form::blocking;
    Language language = Language::c;
    bool large_counts = false;
  };
  // `symbol` is the exported name, and `name` is the one under which its calls are counted.
  EntryPoint(const char* symbol, const char* name, const Kind& kind)
      : next(symbol), counter(name, kind.language == Language::c ? "c" : "fortran"), function(row_of(kind.function)), form(kind.form),
        large_counts(kind.large_counts) {}

  NextCall next;
  CallCounter counter;
  const MpiFunction& function;
  Form form;
  bool large_counts;

  const char* name() const { return function.name(form); }  // This is the name of MPI's function with int counts.
  Word64 comm(const Word64* words) const { return words[function.words() - 1]; }
};

}  // namespace crossrail::mpi
