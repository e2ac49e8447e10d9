// Reading a small file that others have written: never waits, never reads without end.
#pragma once

#include <cstddef>
#include <string>

namespace crossrail {

struct SmallFile {
  bool there = false;   // there is something of this name
  std::string text;     // all of it, where nothing is wrong
  std::string problem;  // "is not there", "is a directory", "cannot be read: Permission denied"; empty where it was read
};

// Only a regular file of at most `most` bytes is read; a FIFO or a device is not even opened.
SmallFile read_small_file(const std::string& path, std::size_t most);

}  // namespace crossrail
