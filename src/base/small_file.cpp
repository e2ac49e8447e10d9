#include "base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace crossrail {
namespace {

std::string too_large(std::size_t most) { return "is larger than " + std::to_string(most >> 10) + " KiB"; }

// Reads until the end, whatever size the file was said to have, since it may be changing.
void read_all(int descriptor, std::size_t most, SmallFile& file) {
  char piece[4096];
  for (;;) {
    const ssize_t bytes = read(descriptor, piece, sizeof piece);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) file.problem = std::string("cannot be read: ") + std::strerror(errno);
    if (bytes <= 0) break;
    file.text.append(piece, static_cast<std::size_t>(bytes));
    if (file.text.size() <= most) continue;
    file.problem = too_large(most);
    break;
  }
  if (!file.problem.empty()) file.text.clear();
}

// Returns an empty text for a regular file.
std::string kind_problem(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return {};
  if (S_ISDIR(status.st_mode)) return "is a directory";
  if (S_ISFIFO(status.st_mode)) return "is a FIFO";
  return "is no regular file";
}

}  // namespace

SmallFile read_small_file(const std::string& path, std::size_t most) {
  SmallFile file;
  struct stat status{};
  // The kind is checked first, because opening a device can have effects. A folder that may not be entered counts as if nothing were there.
  if (stat(path.c_str(), &status) != 0) {
    file.problem = "is not there";
    return file;
  }
  file.there = true;
  file.problem = kind_problem(status);
  if (file.problem.empty() && static_cast<std::size_t>(status.st_size) > most) file.problem = too_large(most);
  if (!file.problem.empty()) return file;
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) {
    file.problem = std::string("cannot be read: ") + std::strerror(errno);
    return file;
  }
  // By now it may be another file.
  if (fstat(descriptor, &status) == 0) file.problem = kind_problem(status);
  if (file.problem.empty()) read_all(descriptor, most, file);
  (void)close(descriptor);
  return file;
}

}  // namespace crossrail
