#include "mpi/library/error_codes.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "mpi/library/fault_tolerance.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

// MPI libraries keep error codes to the end, so only this many sentences get one. Others are told in general words.
constexpr std::size_t kMostSentences = 32;

struct Made {
  int error_class;
  std::string sentence;
  int code;
};

// No lock is held while MPI is called: MPI may wait for a lock that another thread holds, and that thread may come here. So one thread at a
// time makes codes, and a thread that comes meanwhile makes do with the class.
struct Codes {
  std::mutex mutex;
  std::vector<Made> made;  // `mutex` guards this, and `making` guards the members below.
  std::atomic_flag making;
  int own_class = MPI_SUCCESS;  // It is MPI_SUCCESS until there is one.
  bool under_any_class = true;  // It says whether MPI returns the strings of codes under its own classes.
};

Codes& codes() {
  static auto& all = *new Codes;  // It is never destroyed, because errors may come while static objects are destroyed.
  return all;
}

bool can_add() {
  const Functions& mpi = pmpi();
  return mpi.Add_error_class != nullptr && mpi.Add_error_code != nullptr && mpi.Add_error_string != nullptr && mpi.Error_class != nullptr &&
         mpi.Error_string != nullptr;
}

// Returns whether MPI answers for the code what it was told. MPICH 4.0 has sentences of its own for codes under its own classes.
bool tells(const Made& made) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0, error_class = MPI_SUCCESS;
  if (pmpi().Error_class(made.code, &error_class) != MPI_SUCCESS || error_class != made.error_class) return false;
  return pmpi().Error_string(made.code, text, &length) == MPI_SUCCESS && made.sentence == text;
}

bool add(Made& made) {
  if (pmpi().Add_error_code(made.error_class, &made.code) != MPI_SUCCESS) return false;
  return pmpi().Add_error_string(made.code, made.sentence.c_str()) == MPI_SUCCESS && tells(made);
}

int own_class(Codes& all) {
  if (all.own_class != MPI_SUCCESS) return all.own_class;
  int added = MPI_SUCCESS;
  if (pmpi().Add_error_class(&added) != MPI_SUCCESS) return MPI_SUCCESS;
  (void)pmpi().Add_error_string(added, "crossrail: an error in a call that crossrail carries");
  return all.own_class = added;
}

// Programs test for classes that say what has happened, such as MPI_ERR_TRUNCATE, but not for those of errors that fit nowhere else.
bool is_tested_for(int error_class) { return error_class != MPI_ERR_OTHER && error_class != MPI_ERR_INTERN; }

int make(Codes& all, int error_class, const std::string& sentence) {
  Made made{error_class, sentence, error_class};
  if (all.under_any_class) all.under_any_class = add(made);
  if (!all.under_any_class) {
    made.code = error_class;
    Made own{is_tested_for(error_class) ? MPI_SUCCESS : own_class(all), sentence, error_class};
    if (own.error_class != MPI_SUCCESS && add(own)) made.code = own.code;
  }
  const std::lock_guard lock(all.mutex);
  all.made.push_back(made);
  return made.code;
}

// Returns MPI_SUCCESS if there is none.
int find(Codes& all, int error_class, const std::string& sentence) {
  const std::lock_guard lock(all.mutex);
  for (const Made& made : all.made) {
    if (made.error_class == error_class && made.sentence == sentence) return made.code;
  }
  return MPI_SUCCESS;
}

int find_or_make(Codes& all, int error_class, const std::string& sentence) {
  const int known = find(all, error_class, sentence);
  return known != MPI_SUCCESS ? known : make(all, error_class, sentence);
}

bool is_full(Codes& all) {
  const std::lock_guard lock(all.mutex);
  return all.made.size() >= kMostSentences;
}

// MPI libraries refuse longer strings, so the sentence is cut.
std::string sentence_of(const char* what) {
  char text[MPI_MAX_ERROR_STRING];
  std::snprintf(text, sizeof text, "crossrail: %s", what);
  return text;
}

}  // namespace

int mpi_class(Code code) {
  switch (code) {
    case Code::mismatch: return MPI_ERR_TRUNCATE;
    case Code::no_memory: return MPI_ERR_NO_MEM;
    case Code::invalid: return MPI_ERR_ARG;
    case Code::system: return MPI_ERR_INTERN;
    default: return failure_class(code, MPI_ERR_OTHER);
  }
}

int error_code(Code code, const char* what) {
  // Programs that survive failures compare codes with the classes of failures, so these get no codes of their own.
  return failure_class(code, MPI_SUCCESS) != MPI_SUCCESS ? mpi_class(code) : error_code_of_class(mpi_class(code), what);
}

int error_code_of_class(int error_class, const char* what) {
  if (!can_add()) return error_class;
  const std::string sentence = sentence_of(what);
  Codes& all = codes();
  const int known = find(all, error_class, sentence);
  if (known != MPI_SUCCESS || all.making.test_and_set(std::memory_order_acquire)) return known != MPI_SUCCESS ? known : error_class;
  const int code_of_it = find_or_make(all, error_class, is_full(all) ? sentence_of("an error in a call; the log has more") : sentence);
  all.making.clear(std::memory_order_release);
  return code_of_it;
}

}  // namespace crossrail::mpi
