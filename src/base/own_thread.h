// A thread of crossrail's own, inside the program.
#pragma once

#include <functional>
#include <thread>

namespace crossrail {

// No signal comes to it but for what it does itself: the program's handlers are for the program's threads. `name`: of at most 15
// letters. If the system gives none, it is not joinable, and errno tells why.
std::thread start_own_thread(const char* name, std::function<void()> run);
// Whether this is one.
bool on_own_thread();

}  // namespace crossrail
