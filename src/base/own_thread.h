// These are threads of crossrail's own inside the program.
#pragma once

#include <functional>
#include <thread>

namespace crossrail {

// Such a thread gets no signals but those that it causes itself, since the program's handlers are for the program's threads. `name` has at
// most 15 letters. If the system gives no thread, the result is not joinable, and errno says why.
std::thread start_own_thread(const char* name, std::function<void()> run);
// Returns whether this is such a thread.
bool on_own_thread();

}  // namespace crossrail
