// One line on standard error, where something was decided. Nothing is logged per call.
#pragma once

namespace crossrail {

enum class LogLevel : int { error = 0, plan = 1, detail = 2 };

// CROSSRAIL_LOG: 0 (default) errors only, 1 one line a plan and a communicator, 2 more.
bool log_enabled(LogLevel level);
[[gnu::format(printf, 2, 3)]] void log_line(LogLevel level, const char* format, ...);
// As log_line, but only the first time this process comes to `key` (a string literal's address).
bool first_time(const char* key);

}  // namespace crossrail
