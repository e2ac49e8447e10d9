#include "replay_player.h"

#include <algorithm>

#include "calls.h"
#include "turn.h"

namespace bench::replay {

std::uint64_t number_of(const std::vector<std::byte>& bytes) {
  std::uint64_t number = 1469598103934665603ull;
  for (const std::byte byte : bytes) number = (number ^ static_cast<std::uint64_t>(byte)) * 1099511628211ull;
  return number;
}

Player::Player(const Program& program, const Data& data, bool native) : program_(program), data_(data), native_(native), comms_(make_comms(program)) {
  limits_.resize(comms_.size());
  done_.resize(comms_.size());
  count(program_.steps);
  limits_ = done_;
  persistent_.clear();
  std::vector<std::size_t> order(comms_.size());
  for (std::size_t one = 0; one < order.size(); ++one) order[one] = one;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return program.comms[a].place < program.comms[b].place; });
  for (const std::size_t one : order) {
    if (comms_[one] == MPI_COMM_NULL) limits_[one] = 0;
    else PMPI_Allreduce(MPI_IN_PLACE, &limits_[one], 1, MPI_UINT64_T, MPI_MIN, comms_[one]);
  }
}

Player::~Player() {
  for (MPI_Comm& comm : comms_) {
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
}

// Counts the calls on each communicator, including starts of persistent ones.
void Player::count(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    for (std::uint64_t turn = 0; turn < step.times && step.event < 0; ++turn) count(step.body);
    if (step.event < 0) continue;
    const Event& event = program_.events[static_cast<std::size_t>(step.event)];
    if (event.what == Event::What::call) {
      ++done_[event.comm];
      if (event.form == kPersistent) persistent_.push_back(std::make_shared<Call>(Call{static_cast<std::size_t>(step.event), {}}));
    } else if (event.what == Event::What::start) {
      for (const std::size_t place : event.places) ++done_[program_.events[persistent_.at(place)->event].comm];
    } else if (event.what == Event::What::free) {
      persistent_.erase(persistent_.begin() + static_cast<std::ptrdiff_t>(event.places.at(0)));
    }
  }
}

Taken Player::play(const How& how) {
  how_ = how;
  taken_ = {};
  results_.clear();
  std::fill(done_.begin(), done_.end(), 0);
  PMPI_Barrier(MPI_COMM_WORLD);
  const double began = last_ended_ = now();
  play(program_.steps);
  finish();
  taken_.wall = now() - began;
  return taken_;
}

void Player::play(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    for (std::uint64_t turn = 0; turn < step.times && step.event < 0; ++turn) play(step.body);
    if (step.event < 0) continue;
    wait_gap(step.gap);
    perform(static_cast<std::size_t>(step.event));
    last_ended_ = now();
  }
}

void Player::wait_gap(double seconds) const {
  if (!how_.gaps) return;
  while (now() - last_ended_ < seconds) {
  }
}

void Player::perform(std::size_t event) {
  const Event& its = program_.events[event];
  switch (its.what) {
    case Event::What::call: return call(event);
    case Event::What::complete: return complete(its);
    case Event::What::start: return start(its);
    case Event::What::free: return release(its);
  }
}

// The ranks may have recorded different numbers of calls, if some were killed or had no room.
bool Player::skips(int comm) { return done_[comm]++ >= std::min(limits_[comm], how_.most_calls); }

std::shared_ptr<Player::Call> Player::take(std::size_t event) {
  Calls& free = free_[event];
  if (free.empty()) {
    auto fresh = std::make_shared<Call>(Call{event, data_.buffers(event)});
    data_.fill(event, fresh->buffers, 1);
    return fresh;
  }
  auto one = free.back();
  free.pop_back();
  return one;
}

void Player::give(const std::shared_ptr<Call>& one) { free_[one->event].push_back(one); }

void Player::fill(Call& one) {
  one.seed = done_[program_.events[one.event].comm];
  if (how_.checked) data_.fill(one.event, one.buffers, one.seed);
}

void Player::note_result(const Call& one) {
  if (how_.checked) results_.push_back({one.event, one.seed, number_of(one.buffers.received)});
}

void Player::spent(std::size_t name, double began, int code) {
  taken_.inside[name] += now() - began;
  taken_.failed += code != MPI_SUCCESS;
}

void Player::call(std::size_t event) {
  const Event& its = program_.events[event];
  auto one = take(event);
  one->skipped = skips(its.comm);
  if (!one->skipped) {
    if (its.form != kPersistent) fill(*one);
    const double began = now();
    const int code = make(its, *one);
    spent(name_of(its), began, code);
    taken_.calls[name_of(its)] += its.form != kPersistent;
  }
  if (its.form == kNonblocking) active_.push_back(one);
  if (its.form == kPersistent) persistent_.push_back(one);
  if (its.form != kBlocking) return;
  if (!one->skipped) note_result(*one);
  give(one);
}

void Player::complete(const Event& event) {
  Calls done;
  for (const std::size_t place : event.places) done.push_back(active_.at(place));
  for (const auto& one : done) active_.erase(std::find(active_.begin(), active_.end(), one));
  for (const auto& one : done) {
    const Event& its = program_.events[one->event];
    if (!one->skipped) {
      const double began = now();
      const int code = choose(PMPI_Wait, MPI_Wait)(&one->request, MPI_STATUS_IGNORE);
      spent(name_of(its), began, code);
      note_result(*one);
    }
    if (its.form == kNonblocking) give(one);
  }
}

void Player::start(const Event& event) {
  for (const std::size_t place : event.places) {
    const auto one = persistent_.at(place);
    const Event& its = program_.events[one->event];
    one->skipped = skips(its.comm) || one->request == MPI_REQUEST_NULL;
    if (!one->skipped) {
      fill(*one);
      const double began = now();
      const int code = choose(PMPI_Start, MPI_Start)(&one->request);
      spent(name_of(its), began, code);
      ++taken_.calls[name_of(its)];
    }
    active_.push_back(one);
  }
}

void Player::release(const Event& event) {
  const auto one = persistent_.at(event.places.at(0));
  persistent_.erase(std::find(persistent_.begin(), persistent_.end(), one));
  if (one->request != MPI_REQUEST_NULL) choose(PMPI_Request_free, MPI_Request_free)(&one->request);
  one->request = MPI_REQUEST_NULL;
  give(one);
}

// Finishes what the recording has left under way.
void Player::finish() {
  while (!active_.empty()) complete({Event::What::complete, {}, {}, 0, false, {}, {}, {}, {}, {0}});
  while (!persistent_.empty()) release({Event::What::free, {}, {}, 0, false, {}, {}, {}, {}, {0}});
}

int Player::make(const Event& event, Call& one) {
  const Prepared& ready = data_.prepared(one.event);
  const Side &out = event.in_place && event.kind != kAllreduce ? ready.received : ready.sent, &in = ready.received;
  const void* const from = data_.sent(one.event, one.buffers);
  void* const to = data_.received(one.event, one.buffers);
  const MPI_Comm comm = comms_[event.comm];
  if (event.form == kPersistent) return init(event, ready, one);
  const bool later = event.form == kNonblocking;
  switch (event.kind) {
    case kAlltoall:
      return later ? choose(PMPI_Ialltoall, MPI_Ialltoall)(from, out.counts[0], out.types[0], to, in.counts[0], in.types[0], comm, &one.request)
                   : choose(PMPI_Alltoall, MPI_Alltoall)(from, out.counts[0], out.types[0], to, in.counts[0], in.types[0], comm);
    case kAlltoallw:
      return later ? choose(PMPI_Ialltoallw, MPI_Ialltoallw)(from, out.counts.data(), out.places.data(), out.types.data(), to, in.counts.data(),
                                                             in.places.data(), in.types.data(), comm, &one.request)
                   : choose(PMPI_Alltoallw, MPI_Alltoallw)(from, out.counts.data(), out.places.data(), out.types.data(), to, in.counts.data(),
                                                           in.places.data(), in.types.data(), comm);
    case kAllreduce:
      return later ? choose(PMPI_Iallreduce, MPI_Iallreduce)(from, to, in.counts[0], in.types[0], ready.op, comm, &one.request)
                   : choose(PMPI_Allreduce, MPI_Allreduce)(from, to, in.counts[0], in.types[0], ready.op, comm);
    default: break;
  }
  return later ? choose(PMPI_Ialltoallv, MPI_Ialltoallv)(from, out.counts.data(), out.places.data(), out.one_type(), to, in.counts.data(), in.places.data(),
                                                         in.one_type(), comm, &one.request)
               : choose(PMPI_Alltoallv, MPI_Alltoallv)(from, out.counts.data(), out.places.data(), out.one_type(), to, in.counts.data(), in.places.data(),
                                                       in.one_type(), comm);
}

}  // namespace bench::replay
