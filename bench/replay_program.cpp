#include "replay_program.h"

#include <algorithm>

namespace bench::replay {
namespace {

template <class Names>
bool read_name(std::istream& text, const Names& names, int& number) {
  std::string word;
  text >> word;
  const auto at = std::find(names.begin(), names.end(), word);
  number = static_cast<int>(at - names.begin());
  return at != names.end();
}

bool read_comm(std::istream& text, Program& program) {
  std::size_t number = 0, size = 0;
  Comm comm{};
  text >> number >> comm.place >> size;
  if (!text) return false;
  comm.ranks.resize(size);
  for (int& rank : comm.ranks) text >> rank;
  program.comms.resize(std::max(program.comms.size(), number + 1));
  program.comms[number] = std::move(comm);
  return !text.fail();
}

bool read_type(std::istream& text, Program& program) {
  std::size_t pieces = 0;
  Type type{};
  text >> type.bytes >> type.extent >> pieces;
  if (!text) return false;
  type.pieces.resize(pieces);
  for (Piece& one : type.pieces) text >> one.offset >> one.bytes >> one.count >> one.stride;
  program.types.push_back(std::move(type));
  return !text.fail();
}

bool read_rows(std::istream& text, const Program& program, std::vector<Row>& rows) {
  std::size_t size = 0;
  text >> size;
  if (!text) return false;
  rows.resize(size);
  for (Row& row : rows) {
    text >> row.count >> row.type >> row.ranks;
    if (!text || row.type < 0 || static_cast<std::size_t>(row.type) >= program.types.size()) return false;
  }
  return true;
}

bool read_call(std::istream& text, Program& program) {
  Event event;
  event.what = Event::What::call;
  int kind = 0, form = 0;
  if (!read_name(text, kKindNames, kind) || !read_name(text, kFormNames, form)) return false;
  event.kind = static_cast<Kind>(kind);
  event.form = static_cast<Form>(form);
  text >> event.comm >> event.in_place >> event.operation >> event.element;
  if (!text || event.comm < 0 || static_cast<std::size_t>(event.comm) >= program.comms.size()) return false;
  if (!read_rows(text, program, event.sent) || !read_rows(text, program, event.received)) return false;
  program.events.push_back(std::move(event));
  return true;
}

bool read_requests(std::istream& text, Event::What what, Program& program) {
  Event event;
  event.what = what;
  std::size_t size = 0;
  text >> size;
  if (!text) return false;
  event.places.resize(size);
  for (std::size_t& place : event.places) text >> place;
  program.events.push_back(std::move(event));
  return !text.fail();
}

bool read_event(std::istream& text, const std::string& word, Program& program) {
  if (word == "complete") return read_requests(text, Event::What::complete, program);
  if (word == "start") return read_requests(text, Event::What::start, program);
  if (word == "free") return read_requests(text, Event::What::free, program);
  return false;
}

// Reads up to "]" or the final "end".
bool read_steps(std::istream& text, const Program& program, std::vector<Step>& steps) {
  for (std::string word; text >> word;) {
    if (word == "]" || word == "end") return true;
    Step step;
    if (word == "[") {
      text >> step.times;
      if (!read_steps(text, program, step.body)) return false;
    } else if (word == "e") {
      text >> step.event >> step.gap;
      if (!text || step.event < 0 || static_cast<std::size_t>(step.event) >= program.events.size()) return false;
    } else {
      return false;
    }
    steps.push_back(std::move(step));
  }
  return false;
}

}  // namespace

bool read(std::istream& text, Program& program) {
  for (std::string word; text >> word;) {
    if (word == "steps") return read_steps(text, program, program.steps);
    const bool known = word == "comm"   ? read_comm(text, program)
                       : word == "type" ? read_type(text, program)
                       : word == "call" ? read_call(text, program)
                                        : read_event(text, word, program);
    if (!known) return false;
  }
  return false;
}

}  // namespace bench::replay
