#include "mpi/observe/compared_json.h"

#include <cstdio>

#include "comm/speed_guard.h"

namespace crossrail::mpi {

std::string compared_json() {
  std::string json = "[";
  for (const ComparedCalls& one : compared_calls()) {
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    const auto seconds = [](SpeedGuard::Nanoseconds time) { return time == SpeedGuard::kFailed ? 0.0 : time * 1e-9; };
    char text[320];
    std::snprintf(text, sizeof text,
                  "%s{\"collective\":\"%s\",\"least_bytes\":%llu,\"most_bytes\":%llu,\"windows\":%llu,\"given_back\":%llu,"
                  "\"taken_back\":%llu,\"carried_seconds\":%.9f,\"native_seconds\":%.9f}",
                  json.size() == 1 ? "" : ",", name_of(one.collective), number(one.least_bytes), number(one.most_bytes),
                  number(one.windows), number(one.given_back), number(one.taken_back), seconds(one.carried_ns),
                  seconds(one.native_ns));
    json += text;
  }
  return json + "]";
}

}  // namespace crossrail::mpi
