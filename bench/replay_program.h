// A Program is what one rank has recorded, as `crossrail replay` passes it to the bench: lines of words (python/crossrail/bench/replay_program.py).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace bench::replay {

enum Kind { kAlltoall, kAlltoallv, kAlltoallw, kAllreduce, kKinds };
enum Form { kBlocking, kNonblocking, kPersistent, kForms };
constexpr std::array<const char*, kKinds> kKindNames = {"alltoall", "alltoallv", "alltoallw", "allreduce"};
constexpr std::array<const char*, kForms> kFormNames = {"blocking", "nonblocking", "persistent"};

struct Comm {
  int place;  // It is the communicator's place among those of all ranks, in which all ranks make them.
  std::vector<int> ranks;  // They are ranks of the world; if there are none, it cannot be made, and calls on it are left out.
};

struct Piece {
  std::int64_t offset, bytes, count, stride;
};
struct Type {
  std::int64_t bytes, extent;
  std::vector<Piece> pieces;  // Without pieces, the bytes are in a row.
};

// A Row is for so many neighbouring ranks.
struct Row {
  std::int64_t count;
  int type;
  int ranks;
};

struct Event {
  enum class What { call, complete, start, free } what = What::call;
  Kind kind = kAlltoall;
  Form form = kBlocking;
  int comm = 0;
  bool in_place = false;
  std::string operation, element;  // Reductions have them.
  std::vector<Row> sent, received;
  std::vector<std::size_t> places;  // They are places of requests, among those under way (complete) or among the persistent ones (start, free).
};

// A Step is an event after a gap, or a loop of steps.
struct Step {
  int event = -1;
  double gap = 0;  // It is in seconds.
  std::uint64_t times = 1;
  std::vector<Step> body;
};

struct Program {
  std::vector<Comm> comms;
  std::vector<Type> types;
  std::vector<Event> events;
  std::vector<Step> steps;
};

// Returns false if the text is no program.
bool read(std::istream& text, Program& program);

}  // namespace bench::replay
