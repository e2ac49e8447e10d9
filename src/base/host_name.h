// This returns what this machine calls itself.
#pragma once

#include <unistd.h>

#include <string>

namespace crossrail {

inline std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace crossrail
