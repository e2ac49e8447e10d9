// This writes one line to standard error when something has been decided. Nothing is logged for each call.
#pragma once

namespace crossrail {

enum class LogLevel : int { error = 0, plan = 1, detail = 2 };

// CROSSRAIL_LOG is 0 (the default) for errors only, 1 for a line for each plan and communicator, and 2 for more.
bool log_enabled(LogLevel level);
[[gnu::format(printf, 2, 3)]] void log_line(LogLevel level, const char* format, ...);
// Returns true only when this process comes to `key` (the address of a string literal) for the first time.
bool first_time(const char* key);

}  // namespace crossrail
