// Status is how every function inside crossrail that can fail answers. The library throws no exceptions.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace crossrail {

// Severity grows with the value, so that ranks agree on the worst code by a maximum.
enum class Code : int {
  ok = 0,
  unsupported,  // This way does not exist here: another row must be chosen.
  given_back,   // Another rank met an error in the call before, so this call is native.
  no_memory,    // Scratch, segment or buffer could not be had.
  invalid,      // An argument or a setting makes no sense.
  mismatch,     // Ranks called with different shapes.
  peer_lost,    // A process of the communicator has ended.
  revoked,      // The program has revoked the communicator (ULFM).
  broken,       // An earlier error on this communicator left its shared state unusable.
  system        // The operating system or the MPI library refused something.
};

// `what` points to a string literal or to this thread's text buffer, which is valid until the next failure.
struct [[nodiscard]] Status {
  Code code = Code::ok;
  const char* what = "";
  bool ok() const { return code == Code::ok; }
};

inline Status failed(Code code, const char* what) { return Status{code, what}; }

// Writes a printf-style text into this thread's buffer. The arguments may be texts of earlier failures, which lie there.
[[gnu::format(printf, 2, 3)]] inline Status failure(Code code, const char* format, ...) {
  static thread_local char text[320];
  char made[sizeof text] = {};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(made, sizeof made, format, arguments);
  va_end(arguments);
  std::memcpy(text, made, sizeof text);
  return Status{code, text};
}

}  // namespace crossrail

// Returns from the enclosing function if `expression` (a Status) is not ok.
#define CROSSRAIL_TRY(expression)                                                \
  do {                                                                           \
    if (::crossrail::Status status_ = (expression); !status_.ok()) return status_; \
  } while (0)
