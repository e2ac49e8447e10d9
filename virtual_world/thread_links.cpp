#include "virtual_world/thread_links.h"

#include <algorithm>
#include <cstring>

namespace crossrail::virtual_world {

ThreadLinks::ThreadLinks(Exchange& exchange, int rank, int slot) : exchange_(exchange), rank_(rank), slot_(slot) {
  posted_.reserve(4 * exchange.ranks_.size());
  long_sends_.resize(exchange.queues_ * exchange.ranks_.size());
}

Status ThreadLinks::open_messages() {
  if (messages_open()) return {};
  if (fiber_ != nullptr) return failed(Code::unsupported, "messages cannot be opened by a pending call");
  if (exchange_.options_.open_messages != nullptr) CROSSRAIL_TRY(exchange_.options_.open_messages(rank_));
  exchange_.ranks_[rank_]->open = true;
  return {};
}

Status ThreadLinks::post_send(int rank, const void* data, std::size_t bytes, Channel channel) {
  if (!messages_open()) return failed(Code::invalid, "a message before open_messages");
  counters().sends += 1;
  counters().sent_bytes += bytes;
  if (exchange_.options_.sending != nullptr) exchange_.options_.sending(rank_, data);
  if (take_device_memory()) data = exchange_.options_.touchable(data);
  const bool is_long = bytes > exchange_.options_.eager_bytes;
  const Exchange::Address address{rank_, rank, queue_of(channel)};
  posted_.push_back({Posted::sent, address, nullptr, bytes, is_long ? ++long_sends_[exchange_.place_of(rank, address.queue)] : 0});
  exchange_.send(address, {data, bytes, call_});
  return {};
}

Status ThreadLinks::post_recv(int rank, void* data, std::size_t bytes, Channel channel) {
  if (!messages_open()) return failed(Code::invalid, "a message before open_messages");
  if (take_device_memory()) data = exchange_.options_.touchable(data);
  posted_.push_back({Posted::receive, {rank, rank_, queue_of(channel)}, data, bytes, 0});
  return {};
}

Status ThreadLinks::post_recv_up_to(int rank, const UpTo& what, Channel channel) {
  CROSSRAIL_TRY(post_recv(rank, what.data, what.bytes, channel));
  const bool ended = std::any_of(posted_.begin(), posted_.end(), [&](const Posted& before) { return before.came == &what.came && before.shorter; });
  posted_.back().came = &what.came;
  if (ended) posted_.back().kind = Posted::done;
  return {};
}

void ThreadLinks::give_up(const std::size_t& came) {
  for (Posted& one : posted_) {
    if (one.came == &came) one.kind = Posted::done;
  }
}

// Between two ranks, on a channel, messages are received in the order posted.
Status ThreadLinks::try_receive(std::size_t at) {
  Posted& one = posted_[at];
  const bool first = std::none_of(posted_.begin(), posted_.begin() + static_cast<std::ptrdiff_t>(at), [&](const Posted& before) {
    return before.kind == Posted::receive && before.address == one.address;
  });
  if (!first) return {};
  std::size_t came = 0;
  bool done = false;
  CROSSRAIL_TRY(exchange_.receive({one.address, one.data, one.bytes, one.came != nullptr, call_}, came, done));
  if (!done) return {};
  one.kind = Posted::done;
  if (one.came == nullptr) return {};
  *one.came += came;
  one.shorter = came < one.bytes;
  if (one.shorter) give_up(*one.came);
  return {};
}

Status ThreadLinks::sweep() {
  if (!failed_.ok()) return failed_;
  if (exchange_.broken_) return failed_ = failed(Code::broken, "another rank met an error in a message");
  for (std::size_t at = 0; at < posted_.size() && failed_.ok(); ++at) {
    Posted& one = posted_[at];
    bool done = one.kind == Posted::sent && one.number == 0;
    if (one.kind == Posted::receive) {
      failed_ = try_receive(at);
      if (failed_.code == Code::peer_lost && may_be_given_up(at)) failed_ = {};
    } else if (one.kind == Posted::sent && one.number > 0) {
      failed_ = exchange_.taken(one.address, one.number, done);
    }
    if (done) one.kind = Posted::done;
  }
  if (!failed_.ok()) exchange_.withdraw(rank_, slot_);
  return failed_;
}

// Returns whether a receive may come shorter and is not waited for: perhaps nothing comes (leader_pipelined).
bool ThreadLinks::may_be_given_up(std::size_t at) const { return posted_[at].came != nullptr && (at < first_awaited_ || at >= end_awaited_); }

Status ThreadLinks::wait_until_done(Request first, Request end) {
  first_awaited_ = first;
  end_awaited_ = end;
  if (fiber_ != nullptr) fiber_->before_wait();
  Status trouble;
  while (true) {
    const std::uint64_t known = exchange_.events(rank_);
    CROSSRAIL_TRY(sweep());
    const auto begin = posted_.begin();
    if (std::all_of(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end),
                    [](const Posted& one) { return one.kind == Posted::done; })) {
      end_awaited_ = 0;
      return {};
    }
    CROSSRAIL_TRY(trouble);  // What had been sent before has not come, either.
    CROSSRAIL_TRY(wait_event(known, trouble));
  }
}

Status ThreadLinks::check_awaited() {
  if (control_ == nullptr) return {};
  CROSSRAIL_TRY(control_->check_health());
  for (std::size_t at = 0; at < posted_.size(); ++at) {
    const Posted& one = posted_[at];
    if (one.kind != Posted::done && !may_be_given_up(at)) CROSSRAIL_TRY(control_->check_awaited(one.kind == Posted::receive ? one.address.from : one.address.to));
  }
  return {};
}

// Waits until something has happened to this rank, and looks around now and then.
Status ThreadLinks::wait_event(std::uint64_t known, Status& trouble) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPatience = std::chrono::milliseconds(20);
  const auto deadline = Clock::now() + exchange_.options_.hang_after;
  while (Clock::now() < deadline) {
    const auto look_at = Clock::now() + kPatience;
    if (fiber_ != nullptr) {
      fiber_->wait_until([&] { return exchange_.events(rank_) != known || Clock::now() > look_at; });
    } else {
      while (exchange_.events(rank_) == known && Clock::now() < look_at) {
        exchange_.meanwhile(rank_);
        exchange_.wait_event(rank_, known);
      }
    }
    if (exchange_.events(rank_) != known) return {};
    trouble = check_awaited();
    if (!trouble.ok()) return {};
  }
  return failed(Code::system, "deadlock: no message came");
}

void ThreadLinks::cancel_posted() {
  if (!posted_.empty()) exchange_.withdraw(rank_, slot_);
  posted_.clear();
  failed_ = {};
}

Status ThreadLinks::wait_for(Request request) { return wait_until_done(request, request + 1); }

Status ThreadLinks::wait_posted() {
  const Status status = wait_until_done(0, posted_.size());
  posted_.clear();
  failed_ = {};
  return status;
}

Status ThreadLinks::agree_on_largest(std::uint32_t mine, std::uint32_t& largest) {
  counters().agreements += 1;
  return exchange_.agree_on_largest(meeting(), mine, largest);
}

Status ThreadLinks::export_range(const void* data, std::size_t bytes, std::uint64_t& address) {
  const bool readable = exchange_.options_.readable == nullptr || exchange_.options_.readable(rank_);
  if (bytes != 0 && !readable) {
    exported_.assign(static_cast<const std::byte*>(data), static_cast<const std::byte*>(data) + bytes);
    data = exported_.data();
  }
  address = reinterpret_cast<std::uint64_t>(data);
  return {};
}

Status ThreadLinks::read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) {
  (void)rank;
  if (exchange_.options_.may_read != nullptr && !exchange_.options_.may_read(rank_)) {
    return failed(Code::system, "reading another rank's memory is not allowed");
  }
  counters().reads += 1;
  if (bytes > 0) std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
  return {};
}

Status ThreadLinks::write_peer(int rank, const void* from, std::uint64_t address, std::size_t bytes) {
  const LinkOptions& options = exchange_.options_;
  const bool writable = options.readable == nullptr || options.readable(rank);
  if (!writable || (options.may_read != nullptr && !options.may_read(rank_))) return failed(Code::system, "writing to another rank's memory is not allowed");
  counters().writes += 1;
  if (bytes > 0) std::memcpy(reinterpret_cast<void*>(address), from, bytes);
  return {};
}

void ThreadLinks::progress() {
  counters().progress_calls += 1;
  exchange_.meanwhile(rank_);
  if (!posted_.empty()) (void)sweep();  // The next wait tells an error.
}

}  // namespace crossrail::virtual_world
