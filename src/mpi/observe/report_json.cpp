#include "mpi/observe/report_json.h"

#include <errno.h>
#include <unistd.h>

#include <cstdio>

#include "base/host_name.h"
#include "base/json.h"
#include "mpi/library/library.h"
#include "mpi/observe/recorder.h"
#include "mpi/observe/compared_json.h"
#include "mpi/observe/counters.h"
#include "mpi/observe/traffic.h"

namespace crossrail::mpi {

// This is a friend of CallCounter, which reads the private counters of all entry points.
struct Report {
  static std::string call(const CallCounter& counter) {
    char text[512];
    std::snprintf(text, sizeof text,
                  "{\"name\":\"%s\",\"interface\":\"%s\",\"carried\":%llu,\"native\":%llu,\"errors\":%llu,"
                  "\"seconds\":%.9f,\"bytes\":%llu,\"sent_bytes\":%llu,\"histogram\":{",
                  counter.name_, counter.interface_, number(counter.carried_), number(counter.native_),
                  number(counter.errors_), seconds(counter.inside_ns()),
                  number(counter.bytes_), number(counter.sent_bytes_));
    std::string json = text;
    const char* comma = "";
    for (int size = 0; size < CallCounter::kSizes; ++size) {
      if (counter.histogram_[size].load() == 0) continue;
      std::snprintf(text, sizeof text, "%s\"%llu\":%llu", comma, 1ull << size, number(counter.histogram_[size]));
      json += text;
      comma = ",";
    }
    return json + "},\"algorithms\":" + texts(counter.algorithms_) + ",\"native_because\":" + texts(counter.reasons_) + overlap(counter) + "}";
  }

  static std::string texts(const CountedTexts& counted) {
    std::string json = "{";
    for (const CountedTexts::Count& count : counted) {
      if (count.text.load() == nullptr) break;
      json += (json.size() == 1 ? "" : ",") + json_text(count.text.load()) + ":" + std::to_string(count.calls.load());
    }
    return json + "}";
  }

  // Returns the times of nonblocking and persistent calls, by who handled them.
  static std::string overlap(const CallCounter& counter) {
    std::string json;
    const auto part = [&json](const char* by, const Overlap::Times& times) {
      char text[256];
      if (times.calls == 0) return;
      std::snprintf(text, sizeof text, "%s\"%s\":{\"calls\":%llu,\"starting\":%.9f,\"waiting\":%.9f,\"under_way\":%.9f}",
                    json.empty() ? "" : ",", by, static_cast<unsigned long long>(times.calls), seconds(times.starting_ns),
                    seconds(times.waiting_ns), seconds(times.under_way_ns));
      json += text;
    };
    part("crossrail", counter.overlap_.times());
    part("native", counter.native_overlap_.times());
    return json.empty() ? json : ",\"overlap\":{" + json + "}";
  }

  static std::string all() {
    std::string json;
    for (const CallCounter* at = CallCounter::first(); at != nullptr; at = at->next_) {
      if (at->carried_.load() + at->native_.load() + at->errors_.load() == 0) continue;
      json += (json.empty() ? "" : ",") + call(*at);
    }
    return json;
  }

 private:
  static double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }
  static unsigned long long number(const std::atomic<std::uint64_t>& value) { return value.load(); }
};

namespace {

std::string numbers(const TimeLine::Seconds& seconds) {
  std::string json = "[";
  for (const double one : seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%s%.6g", json.size() == 1 ? "" : ",", one);
    json += text;
  }
  return json + "]";
}

std::string time_line_json() {
  const TimeLine::Read read = time_line().read();
  char part[64];
  std::snprintf(part, sizeof part, "{\"part_seconds\":%.6f,\"carried\":", read.part_seconds);
  return part + numbers(read.carried) + ",\"native\":" + numbers(read.native) + "}";
}

std::string process_json(bool finished) {
  char wall[64];
  std::snprintf(wall, sizeof wall, "%.6f", static_cast<double>(now_ns() - time_line().began_ns()) * 1e-9);
  const World world = known_world();
  return "\"rank\":" + std::to_string(world.rank) + ",\"world_size\":" + std::to_string(world.size) + ",\"host\":" + json_text(host_name()) +
         ",\"pid\":" + std::to_string(static_cast<int>(getpid())) + ",\"mpi\":" + json_text(library().version) + ",\"flavour\":" +
         json_text(library().flavour) + ",\"crossrail\":" + json_text(CROSSRAIL_VERSION) + ",\"program\":" + json_text(program_invocation_name) +
         ",\"wall_seconds\":" + wall + ",\"finished\":" + (finished ? "true" : "false");
}

}  // namespace

std::string report_json(bool finished) {
  return "{" + process_json(finished) + ",\"calls\":[" + Report::all() + "],\"plans\":" + traffic_json() + ",\"compared\":" + compared_json() +
         ",\"time_line\":" + time_line_json() + recorded_json() + "}\n";
}

}  // namespace crossrail::mpi
