// This reads a small file that others have written, without ever waiting or reading without end.
#pragma once

#include <cstddef>
#include <string>

namespace crossrail {

struct SmallFile {
  bool there = false;   // It says whether there is something of this name.
  std::string text;     // This is the whole text, if nothing is wrong.
  std::string problem;  // It is "is not there" or "cannot be read: Permission denied", for example, or empty if the file was read.
};

// Reads only a regular file of at most `most` bytes. A FIFO or a device is not even opened.
SmallFile read_small_file(const std::string& path, std::size_t most);

}  // namespace crossrail
