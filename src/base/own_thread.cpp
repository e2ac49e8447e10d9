#include "base/own_thread.h"

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace crossrail {
namespace {

thread_local bool is_own = false;

// A thread inherits the signal mask of the thread that makes it, so signals are blocked here. Those that report what the thread itself has
// done stay open: the program may have pages that its handler makes accessible, and the kernel ends the process if such a signal is
// blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int its_own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&all, its_own);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::thread start_own_thread(const char* name, std::function<void()> run) {
  const SignalsBlocked blocked;
  try {
    std::thread made([run = std::move(run)] {
      is_own = true;
      run();
    });
    (void)pthread_setname_np(made.native_handle(), name);
    return made;
  } catch (const std::system_error& error) {
    errno = error.code().value();
    return {};
  }
}

bool on_own_thread() { return is_own; }

}  // namespace crossrail
