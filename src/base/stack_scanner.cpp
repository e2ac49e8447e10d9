#include "base/stack_scanner.h"

#include <atomic>

namespace crossrail {
namespace {

std::atomic<bool> some{false};

bool has_handler(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
}

}  // namespace

void look_for_stack_scanners() { some.store(has_handler(SIGPWR) || has_handler(SIGRTMIN), std::memory_order_relaxed); }

HeldFromScanners::HeldFromScanners() : held_(some.load(std::memory_order_relaxed)) {
  if (!held_) return;
  sigset_t theirs;
  sigemptyset(&theirs);
  sigaddset(&theirs, SIGPWR);
  sigaddset(&theirs, SIGRTMIN);
  (void)pthread_sigmask(SIG_BLOCK, &theirs, &before_);
}

HeldFromScanners::~HeldFromScanners() {
  if (held_) (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace crossrail
