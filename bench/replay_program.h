// What one rank has recorded, as `crossrail replay` hands it to the bench: lines of words (python/crossrail/bench/replay_program.py).
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
  int place;  // among those of all ranks, in which all of them make them
  std::vector<int> ranks;  // of the world; none: it cannot be made, and calls on it are left out
};

struct Piece {
  std::int64_t offset, bytes, count, stride;
};
struct Type {
  std::int64_t bytes, extent;
  std::vector<Piece> pieces;  // none: bytes in a row
};

// For so many neighbouring ranks.
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
  std::string operation, element;  // of reductions
  std::vector<Row> sent, received;
  std::vector<std::size_t> places;  // of requests among those under way (complete), or those that are persistent (start, free)
};

// An event after a gap, or a loop of steps.
struct Step {
  int event = -1;
  double gap = 0;  // seconds
  std::uint64_t times = 1;
  std::vector<Step> body;
};

struct Program {
  std::vector<Comm> comms;
  std::vector<Type> types;
  std::vector<Event> events;
  std::vector<Step> steps;
};

// False where the text is none.
bool read(std::istream& text, Program& program);

}  // namespace bench::replay
