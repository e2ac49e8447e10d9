#include "mpi/communicator/mpi_links.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "mpi/communicator/communicators.h"
#include "mpi/communicator/private_communicators.h"
#include "mpi/library/fault_tolerance.h"
#include "mpi/library/pmpi.h"
#include "mpi/library/progress_hook.h"
#include "mpi/observe/counters.h"

namespace crossrail::mpi {
namespace {

constexpr std::size_t kMostMessageBytes = Links::kMostPiece;  // MPI counts are int.
// A tag holds the slot, the call and the kind of message, so that an unexpected message cannot be mistaken for one of a later call. Kind 1 is a
// notice. message_space.h says where a communicator's tags begin.
constexpr std::uint64_t kSlotsInTags = 256;
constexpr std::uint64_t kCallsInTags = 31;
constexpr int kTagsACall = 4;
static_assert(MpiLinks::kMostSlots <= kSlotsInTags && kTagsACall * kSlotsInTags * kCallsInTags == kTagsACommunicator);
constexpr int kAgreementTag = 3;
constexpr std::uint64_t kCallsAClosing = 64;
constexpr int kTestsBetweenYields = 1000;
constexpr std::int64_t kMostCancelNs = 2'000'000'000;
constexpr std::int64_t kMostVerdictPatiences = 20;
// If the sender has said that it has gone on, its message is given up after this many looks, which are half a patience apart.
constexpr int kMostSuspicions = 40;

}  // namespace

MpiLinks::~MpiLinks() = default;

void MpiLinks::reserve() {
  const auto most = static_cast<std::size_t>(2 * peers_->size());
  if (requests_.capacity() >= most) return;
  requests_.reserve(most);
  posted_.reserve(most);
  statuses_.resize(most);
}

Status MpiLinks::open_messages() {
  if (!placement_.messages) return failed(Code::unsupported, "calls of this slot send no messages");
  if (!peers_->messages_open()) {
    if (fiber_ != nullptr) return failed(Code::unsupported, "messages cannot be opened by a pending call");
    CROSSRAIL_TRY(peers_->open_messages());
    tell_call();
  }
  reserve();
  return {};
}

trace::Number MpiLinks::trace_message(const Message& message, std::size_t bytes) const {
  return trace::begin({message.receive ? "receive" : "send", trace::Kind::message, bytes, message.peer, traced_call()});
}

void MpiLinks::trace_ends(Span span) const {
  for (std::size_t one = span.first; one < span.end; ++one) trace::end(posted_[one].traced);
}

int MpiLinks::tag_of_call() const { return kTagsACall * static_cast<int>(call_.number % kCallsInTags * kSlotsInTags + placement_.slot); }

// A message that is longer than MPI's counts allow is sent in parts.
Status MpiLinks::post(const Message& message, std::byte* data, std::size_t bytes) {
  const MessageSpace& space = peers_->notices->space();
  const int rank = space.rank_of(message.peer);
  const int tag = space.first_tag(message.receive ? space.own_key : space.key_of(message.peer)) + tag_of_call() + message.tag;
  int number = 0;
  do {
    const int part = static_cast<int>(std::min(bytes, kMostMessageBytes));
    requests_.push_back(handles().request_null);
    const trace::Number traced = trace::on() ? trace_message(message, static_cast<std::size_t>(part)) : 0;
    posted_.push_back({message.receive ? part : -1, message.peer, number++, traced, message.came});
    const int code = message.receive ? pmpi().Irecv(data, part, handles().byte, rank, tag, space.box->comm(), &requests_.back())
                                     : pmpi().Isend(data, part, handles().byte, rank, tag, space.box->comm(), &requests_.back());
    CROSSRAIL_TRY(from_mpi(code, message.receive ? "MPI_Irecv" : "MPI_Isend"));
    data += part;
    bytes -= static_cast<std::size_t>(part);
  } while (bytes > 0);
  return {};
}

Status MpiLinks::post_send(int rank, const void* data, std::size_t bytes, Channel channel) {
  return post({rank, tag_of(channel), false}, static_cast<std::byte*>(const_cast<void*>(data)), bytes);
}

Status MpiLinks::post_recv(int rank, void* data, std::size_t bytes, Channel channel) {
  return post({rank, tag_of(channel), true}, static_cast<std::byte*>(data), bytes);
}

// A message that may be shorter counts as awaited only while the rank waits for it, because before that it may still be given up.
bool MpiLinks::awaits(int peer) const {
  for (std::size_t one = 0; one < posted_.size(); ++one) {
    if (posted_[one].peer != peer || requests_[one] == handles().request_null) continue;
    if (posted_[one].came == nullptr || (one >= waited_for_.first && one < waited_for_.end)) return true;
  }
  return false;
}

// A rank's own statement comes by MPI, behind what it has sent before. To know that it is in a later call is not enough: an MPI library may keep a
// sent message until its process calls MPI again.
Status MpiLinks::check_awaited() {
  for (int peer = 0; peer < peers_->size(); ++peer) {
    if (!awaits(peer)) continue;
    if (messages_open() && peers_->notices->is_ahead(placement_.slot, peer)) {
      return failure(Code::mismatch, "rank %d is in a later call, rank %d still waits for it", peer, peers_->rank);
    }
    if (!alive(peer)) return failure(Code::peer_lost, "rank %d has ended while rank %d waits for it", peer, peers_->rank);
  }
  return {};
}

Status MpiLinks::look_around(Doubt& doubt) {
  const std::int64_t now = now_ns();
  if (doubt.looked_ns == 0) doubt.looked_ns = now;
  if (!doubt.certain && now - doubt.looked_ns < static_cast<std::int64_t>(placement_.patience_ms) * 500'000) return {};
  doubt.looked_ns = now;
  Status trouble = control_ == nullptr ? Status{} : control_->check_health();
  if (trouble.ok()) trouble = check_health();
  // The rank looks once more first, because a message that was sent before the trouble may complete the wait.
  if (!trouble.ok()) return std::exchange(doubt.certain, true) ? trouble : Status{};
  doubt.certain = false;
  const Status suspicion = check_awaited();
  doubt.suspicions = suspicion.ok() ? 0 : doubt.suspicions + 1;
  return doubt.suspicions < kMostSuspicions ? Status{} : suspicion;
}

Status MpiLinks::test(Span span, bool& done) {
  if (pieces_) CROSSRAIL_TRY(end_pieces(span));
  const int count = static_cast<int>(span.end - span.first);
  int all = 0;
  const int code = pmpi().Testall(count, &requests_[span.first], &all, &statuses_[span.first]);
  done = all != 0;
  return code == MPI_SUCCESS ? Status{} : failed(Code::mismatch, "a message was longer than this rank's blocks");
}

Status MpiLinks::wait_requests(Span span) {
  if (statuses_.size() < requests_.size()) statuses_.resize(requests_.size());
  const trace::Slice waiting(trace::on() ? trace::begin({.name = "wait for messages", .kind = trace::Kind::wait, .of = traced_call()}) : 0);
  if (fiber_ != nullptr) return wait_suspended(span);
  const int tests_between_yields = placement_.oversubscribed ? 1 : kTestsBetweenYields;
  Doubt doubt;
  for (int tests = 1;; ++tests) {
    bool done = false;
    CROSSRAIL_TRY(test(span, done));
    if (done) return {};
    if (tests % tests_between_yields != 0) continue;
    sched_yield();
    CROSSRAIL_TRY(look_around(doubt));
  }
}

// Does the same on a fiber, which is resumed from inside the MPI library.
Status MpiLinks::wait_suspended(Span span) {
  const int count = static_cast<int>(span.end - span.first);
  Status tested;
  bool done = false;
  Doubt doubt;
  doubt.looked_ns = now_ns();
  for (int asked = 0;;) {
    const auto can_go_on = [&] {
      if (may_test_in_hook(&requests_[span.first], count)) tested = test(span, done);
      return done || !tested.ok() || ++asked % kTestsBetweenYields == 0;
    };
    if (!can_go_on()) fiber_->wait_until(can_go_on);
    CROSSRAIL_TRY(tested);
    if (done) return {};
    CROSSRAIL_TRY(look_around(doubt));
  }
}

// A receive that has been matched cannot be cancelled and ends with its message. If its sender has gone, it may never end and is abandoned after a
// while. Sends are left to their receivers.
void MpiLinks::cancel_posted() {
  for (std::size_t one = 0; one < requests_.size(); ++one) {
    if (requests_[one] == handles().request_null) continue;
    const bool receive = posted_[one].expected_bytes >= 0;
    if (receive) {
      (void)pmpi().Cancel(&requests_[one]);
    } else {
      (void)pmpi().Request_free(&requests_[one]);
    }
  }
  const int count = static_cast<int>(requests_.size());
  const std::int64_t began = now_ns();
  if (statuses_.size() < requests_.size()) statuses_.resize(requests_.size());
  const auto ended = [&] {
    int all = 0;
    if (fiber_ == nullptr || may_test_in_hook(requests_.data(), count)) (void)pmpi().Testall(count, requests_.data(), &all, statuses_.data());
    return all != 0 || now_ns() - began > kMostCancelNs;
  };
  if (fiber_ != nullptr) {
    if (count > 0 && !ended()) fiber_->wait_until(ended);
  } else {
    while (count > 0 && !ended()) sched_yield();
  }
  for (MPI_Request& request : requests_) {
    if (request != handles().request_null) (void)pmpi().Request_free(&request);
  }
  trace_ends({0, posted_.size()});
  forget_posted();
}

void MpiLinks::forget_posted() {
  requests_.clear();
  posted_.clear();
  pieces_ = false;
}

Status MpiLinks::finish(Span span) {
  if (span.first == span.end) return {};
  waited_for_ = span;
  CROSSRAIL_TRY(wait_requests(span));
  waited_for_ = {};
  if (trace::on()) trace_ends(span);
  return check_sizes(span);
}

Status MpiLinks::wait_for(Request request) {
  return finish({request - static_cast<std::size_t>(posted_[request].part), request + 1});
}

Status MpiLinks::wait_posted() {
  CROSSRAIL_TRY(finish({0, requests_.size()}));
  forget_posted();
  return {};
}

Status MpiLinks::exchange_agreement(int to, int from) {
  CROSSRAIL_TRY(post({from, kAgreementTag, true}, reinterpret_cast<std::byte*>(&agreement_.in), sizeof agreement_.in));
  CROSSRAIL_TRY(post({to, kAgreementTag, false}, reinterpret_cast<std::byte*>(&agreement_.out), sizeof agreement_.out));
  return wait_posted();
}

// The ranks agree by dissemination: after ceil(log2 p) rounds every rank has heard of every other one, through others. The messages belong to the
// slot, since all ranks would have to call a collective of MPI in the same order.
Status MpiLinks::agree_on_largest(std::uint32_t mine, std::uint32_t& largest) {
  CROSSRAIL_TRY(open_messages());
  const int size = peers_->size();
  largest = mine;
  for (int distance = 1; distance < size; distance *= 2) {
    agreement_ = {largest, 0};
    const Status exchanged = exchange_agreement((peers_->rank + distance) % size, (peers_->rank - distance + size) % size);
    if (!exchanged.ok()) cancel_posted();
    CROSSRAIL_TRY(exchanged);
    largest = std::max(largest, agreement_.in);
  }
  return {};
}

void MpiLinks::begin_call(std::uint64_t shape_hash, std::uint64_t block_bytes, bool in_place) {
  call_ = {call_.number + 1, shape_hash, block_bytes, in_place ? 1u : 0u};
  if (messages_open()) tell_call();
  if (fiber_ == nullptr && call_.number % kCallsAClosing == 0) close_private_communicators();
}

void MpiLinks::tell_call() {
  judges_ = control_ == nullptr || control_->node_size() < peers_->size();
  peers_->notices->begin_call(placement_.slot, call_);
}

Status MpiLinks::check_health() {
  CROSSRAIL_TRY(look_for_failures(peers_->user));
  if (!messages_open()) return {};
  awaited_.clear();
  for (int peer = 0; peer < peers_->size() && !posted_.empty(); ++peer) {
    if (awaits(peer)) awaited_.push_back(peer);
  }
  return peers_->notices->look(placement_.slot, awaited_);
}

void MpiLinks::report_error(Code code) {
  if (peers_->messages_open()) peers_->notices->leave_messages();
  if (!judges_) return;
  peers_->notices->report_error(placement_.slot, code, control_ == nullptr ? ControlBlock::Met::here : control_->met());
}

Status MpiLinks::judge() {
  CROSSRAIL_TRY(look_for_failures(peers_->user));  // After a failure, some ranks will not answer.
  return peers_->notices->judge(kMostVerdictPatiences * static_cast<std::int64_t>(placement_.patience_ms) * 1'000'000);
}

// On a fiber, MPI is already making progress or soon will.
void MpiLinks::progress() {
  if (fiber_ == nullptr) let_mpi_progress(peers_->user);
}

}  // namespace crossrail::mpi
