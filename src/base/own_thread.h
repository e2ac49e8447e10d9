// A thread of crossrail's own, inside the program.
#pragma once

#include <functional>
#include <thread>

namespace crossrail {

// No signal comes to it: the program's handlers are for the program's threads. `name`: of at most 15 letters. If the system gives none,
// `trouble` and the reason are said, and there is none: it is not joinable.
std::thread start_own_thread(const char* name, const char* trouble, std::function<void()> run);

}  // namespace crossrail
