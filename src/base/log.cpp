#include "base/log.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "base/settings.h"

namespace crossrail {

bool log_enabled(LogLevel level) {
  return static_cast<int>(level) <= static_cast<int>(process_settings().log_level);
}

void log_line(LogLevel level, const char* format, ...) {
  if (!log_enabled(level)) return;
  char line[512];
  int length = std::snprintf(line, sizeof line, "crossrail[%d]: ", static_cast<int>(getpid()));
  va_list arguments;
  va_start(arguments, format);
  length += std::vsnprintf(line + length, sizeof line - length - 1, format, arguments);
  va_end(arguments);
  if (length > static_cast<int>(sizeof line) - 2) length = sizeof line - 2;
  line[length++] = '\n';
  // There is one write, so that lines of several ranks do not interleave.
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line, length);
}

bool first_time(const char* key) {
  static std::mutex mutex;
  static auto& seen = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return seen.insert(key).second;
}

}  // namespace crossrail
