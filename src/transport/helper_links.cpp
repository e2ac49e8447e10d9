#include "transport/helper_links.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/bytes.h"

namespace crossrail {
namespace {

constexpr std::size_t kLeastStretch = 64 * 1024;  // A shorter stretch is not worth a command and a message of its own.
constexpr std::size_t kMostStretch = std::size_t{1} << 30;
constexpr std::size_t kLeastLent = std::size_t{1} << 20;
constexpr int kLooksBetweenYields = 64;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPatience{200};
constexpr std::chrono::seconds kMostCancel{2};

}  // namespace

HelperLinks::HelperLinks(Links& own, const HelperTeam& team, int processes) : own_(own), team_(team), processes_(processes) {}

HelperLinks::~HelperLinks() {
  for (HelperProcesses::Pages& pages : lent_) HelperProcesses::of_process().give_back(pages);
}

std::size_t HelperLinks::stretch_bytes(std::size_t bytes) const {
  const std::size_t stretches = std::min<std::size_t>(bytes / kLeastStretch, static_cast<std::size_t>(processes_));
  if (stretches < 2) return 0;
  const std::size_t each = round_up((bytes + stretches - 1) / stretches, kCacheLineBytes);
  return each <= kMostStretch ? each : 0;
}

Status HelperLinks::post_send(int rank, const void* data, std::size_t bytes, Channel channel) {
  return post({rank, static_cast<std::byte*>(const_cast<void*>(data)), bytes, false}, channel);
}

Status HelperLinks::post_recv(int rank, void* data, std::size_t bytes, Channel channel) {
  return post({rank, static_cast<std::byte*>(data), bytes, true}, channel);
}

Status HelperLinks::post_recv_up_to(int rank, const UpTo& what, Channel channel) {
  if (channel == Channel::blocks && stretch_bytes(what.bytes) != 0) {
    CROSSRAIL_TRY(post({rank, static_cast<std::byte*>(what.data), what.bytes, true}, channel));
    messages_.back().came = &what.came;
    messages_.back().bytes = what.bytes;
    return {};
  }
  CROSSRAIL_TRY(own_.post_recv_up_to(rank, what, channel));
  messages_.push_back({own_.last_posted(), true, rank, stretches_.size(), 0});
  return {};
}

void HelperLinks::give_up(const std::size_t& came) { own_.give_up(came); }

// The helper processes come first, so that they begin while this rank posts its own stretch.
Status HelperLinks::post(const Asked& asked, Channel channel) {
  const std::size_t each = channel == Channel::blocks ? stretch_bytes(asked.bytes) : 0;
  const std::size_t own = each == 0 ? asked.bytes : each;
  const std::size_t first = stretches_.size();
  int helper = 0;
  for (std::size_t at = own; at < asked.bytes; at += each) {
    CROSSRAIL_TRY(give({asked.rank, asked.data + at, std::min(each, asked.bytes - at), asked.receive}, helper++));
  }
  CROSSRAIL_TRY(asked.receive ? own_.post_recv(asked.rank, asked.data, own, channel) : own_.post_send(asked.rank, asked.data, own, channel));
  messages_.push_back({own_.last_posted(), asked.receive, asked.rank, first, stretches_.size() - first});
  return {};
}

Status HelperLinks::give(const Asked& stretch, int helper) {
  HelperProcesses& helpers = HelperProcesses::of_process();
  std::byte* memory = stretch.data;
  HelperProcesses::Stretch seen{};
  if (!helpers.find(memory, stretch.bytes, seen)) {
    CROSSRAIL_TRY(borrow(stretch.bytes, memory));
    if (!helpers.find(memory, stretch.bytes, seen)) {
      CROSSRAIL_TRY(helpers.check_alive());
      return failed(Code::system, "memory cannot be announced to a helper process");
    }
    if (!stretch.receive) copy_block(memory, stretch.data, stretch.bytes);
  }
  const HelperCommand command{stretch.receive ? HelperCommand::Kind::receive : HelperCommand::Kind::send,
                               team_.numbers[static_cast<std::size_t>(stretch.rank)],
                               static_cast<std::int32_t>(team_.tag * Links::kMostSlots + own_.slot_number()), seen.pages, seen.offset, stretch.bytes};
  Stretch given{0, stretch.receive && memory != stretch.data ? stretch.data : nullptr, memory, stretch.bytes, helper};
  CROSSRAIL_TRY(helpers.post(helper, command, given.number));
  stretches_.push_back(given);
  return {};
}

Status HelperLinks::borrow(std::size_t bytes, std::byte*& memory) {
  const std::size_t wanted = round_up(bytes, kPageBytes);
  if (lent_.empty() || lent_bytes_ + wanted > lent_.back().bytes) {
    const std::size_t twice = lent_.empty() ? kLeastLent : 2 * lent_.back().bytes;
    lent_.emplace_back();
    CROSSRAIL_TRY(HelperProcesses::of_process().make_pages(std::max(wanted, twice), lent_.back()));
    lent_bytes_ = 0;
  }
  memory = lent_.back().data + lent_bytes_;
  lent_bytes_ += wanted;
  return {};
}

Status HelperLinks::wait_for(const Stretch& stretch, const Message& message) {
  HelperProcesses& helpers = HelperProcesses::of_process();
  HelperDesk::Outcome outcome = HelperDesk::Outcome::none;
  const auto ended = [&] {
    outcome = helpers.outcome(stretch.helper, stretch.number);
    return outcome != HelperDesk::Outcome::none;
  };
  Clock::time_point since = Clock::now();
  for (int looks = 1; !ended(); ++looks) {
    if (Fiber* const fiber = own_.fiber(); fiber != nullptr) {
      fiber->wait_until([&] { return ended() || Clock::now() - since > kPatience; });
    } else if (looks % kLooksBetweenYields == 0) {
      sched_yield();
      own_.progress();
    }
    if (Clock::now() - since <= kPatience) continue;
    CROSSRAIL_TRY(helpers.check_alive());
    CROSSRAIL_TRY(own_.check_health());
    since = Clock::now();
  }
  if (outcome == HelperDesk::Outcome::wrong_length) {
    return failure(Code::mismatch, "rank %d has sent a different number of bytes from what this rank expects", message.rank);
  }
  if (outcome == HelperDesk::Outcome::failed) return failure(Code::system, "a helper process could not move a message of rank %d", message.rank);
  if (stretch.copied_to != nullptr) copy_block(stretch.copied_to, stretch.from, stretch.bytes);
  return {};
}

Status HelperLinks::wait_for(Message& message) {
  if (std::exchange(message.waited, true)) return {};
  CROSSRAIL_TRY(own_.wait_for(message.own));
  for (std::size_t one = 0; one < message.stretches; ++one) CROSSRAIL_TRY(wait_for(stretches_[message.first_stretch + one], message));
  if (message.came != nullptr) *message.came += message.bytes;
  return {};
}

Status HelperLinks::wait_for(Request request) { return wait_for(messages_[request]); }

Status HelperLinks::wait_posted() {
  for (Message& message : messages_) CROSSRAIL_TRY(wait_for(message));
  begin_anew();
  return own_.wait_posted();
}

void HelperLinks::begin_anew() {
  messages_.clear();
  stretches_.clear();
  // The last one is the largest.
  while (lent_.size() > 1) {
    HelperProcesses::of_process().give_back(lent_.front());
    lent_.erase(lent_.begin());
  }
  lent_bytes_ = 0;
}

// Helper processes finish or abandon what they have begun. Nothing arrives in
// memory that is about to be freed, because they have a mapping of their own.
void HelperLinks::cancel_posted() {
  HelperProcesses& helpers = HelperProcesses::of_process();
  for (int helper = 0; helper < processes_ - 1 && !stretches_.empty(); ++helper) {
    std::uint64_t number = 0;
    if (!helpers.post(helper, {HelperCommand::Kind::cancel, 0, 0, 0, 0, 0}, number).ok()) continue;
    const Clock::time_point began = Clock::now();
    const auto ended = [&] { return helpers.outcome(helper, number) != HelperDesk::Outcome::none || Clock::now() - began > kMostCancel; };
    while (!ended()) sched_yield();
  }
  begin_anew();
  own_.cancel_posted();
}

}  // namespace crossrail
