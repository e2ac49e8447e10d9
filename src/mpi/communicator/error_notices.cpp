#include "mpi/communicator/error_notices.h"

#include <time.h>

#include "mpi/communicator/communicators.h"
#include "mpi/communicator/notice_reader.h"
#include "mpi/library/pmpi.h"
#include "mpi/library/progress_hook.h"
#include "mpi/observe/counters.h"
#include "transport/unlike_calls.h"

namespace crossrail::mpi {
namespace {

constexpr std::size_t kBlockingSlot = 0;
constexpr timespec kNap{0, 50'000};
constexpr std::uint64_t kCallsAReading = 16;

}  // namespace

ErrorNotices::~ErrorNotices() {
  space_.box->forget(space_.own_key);
  if (messages_left()) number_.retire();
}

ErrorNotices::Record& ErrorNotices::record(std::size_t slot) {
  if (records_.size() <= slot) records_.resize(slot + 1);
  return records_[slot];
}

void ErrorNotices::begin_call(std::size_t slot, const Call& call) {
  const std::lock_guard lock(mutex_);
  record(slot).mine = {0, slot, call.number, call.shape, call.bytes, 0, rank_, {}};
  if (slot != kBlockingSlot || said_) return;
  own_.begun = call.number;
  own_.in_place = call.in_place;
  // A rank that is always late never waits, so it reads notices only here, while other ranks ask it again and again.
  if (++begun_ % kCallsAReading != 0 || inside_ > 0) return;
  ++inside_;
  read_all();
  drop_sent();
  --inside_;
}

bool ErrorNotices::end_call(std::size_t slot) {
  if (slot != kBlockingSlot) return true;
  const std::lock_guard lock(mutex_);
  if (!said_) own_.ended = own_.begun;
  return !said_;
}

// Removes postings that have been sent, to free their memory. A nested call must not do it, because the outer one is iterating over them.
void ErrorNotices::drop_sent() {
  if (inside_ > 1 || !may_make_progress()) return;
  for (auto at = postings_.begin(); at != postings_.end();) {
    int done = 0;
    (void)pmpi().Testall(static_cast<int>(at->requests.size()), at->requests.data(), &done, MPI_STATUSES_IGNORE);
    at = done != 0 ? postings_.erase(at) : std::next(at);
  }
}

void ErrorNotices::post(const Notice& notice, std::span<const int> peers) {
  drop_sent();
  Posting& posting = postings_.emplace_back();
  posting.notices.reserve(peers.size());
  posting.requests.reserve(peers.size());
  for (const int peer : peers) {
    Notice& its = posting.notices.emplace_back(notice);
    its.to = space_.key_of(peer);
    space_.box->send(its, space_.rank_of(peer), posting.requests.emplace_back(handles().request_null));
  }
}

void ErrorNotices::tell(Record& own, std::span<const int> peers) {
  own.told_in_call.resize(static_cast<std::size_t>(size_));
  for (const int peer : peers) {
    std::uint64_t& told = own.told_in_call[static_cast<std::size_t>(peer)];
    if (told == own.mine.call) continue;
    told = own.mine.call;
    post(own.mine, {&peer, 1});
  }
}

void ErrorNotices::state(std::size_t slot, Code code, Met met) {
  if (said_) return;
  said_ = true;
  if (slot == kBlockingSlot && !verdict_.heard_any()) {
    if (met == Met::here) own_.met = own_.begun;
    if (met == Met::native) own_.native = own_.begun;
  }
  verdict_.hear(rank_, own_);
  Notice notice = record(slot).mine;
  notice.code = static_cast<std::uint64_t>(code);
  notice.statement = own_;
  std::vector<int> others;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_) others.push_back(peer);
  }
  post(notice, others);
}

void ErrorNotices::report_error(std::size_t slot, Code code, Met met) {
  const std::lock_guard lock(mutex_);
  ++inside_;
  state(slot, code, met);
  --inside_;
}

Status ErrorNotices::look(std::size_t slot, std::span<const int> awaited) {
  const std::lock_guard lock(mutex_);
  if (inside_ > 0) return {};  // The outer call is already looking.
  ++inside_;
  Record& own = record(slot);
  ++own.looks;
  tell(own, awaited);
  read_all();
  --inside_;
  if (error_ != 0) return failure(static_cast<Code>(error_), "rank %d met an error on this communicator", error_from_);
  return find_mismatch(own);
}

bool ErrorNotices::drain() {
  const std::lock_guard lock(mutex_);
  if (!may_make_progress()) return true;  // The state of the messages is unknown here.
  space_.box->fetch();
  for (Notice notice{}; space_.box->take(space_.own_key, notice);) {
    if (notice.code != 0) leave_messages();
  }
  drop_sent();
  return postings_.empty();
}

void ErrorNotices::read_all() {
  if (may_make_progress()) {
    space_.box->fetch();
  } else {
    NoticeReader::of_process().read(space_.box);
  }
  for (Notice notice{}; space_.box->take(space_.own_key, notice);) {
    const auto from = static_cast<int>(notice.from);
    Record& known = record(notice.slot);
    known.others.resize(static_cast<std::size_t>(size_));
    Told& told = known.others[static_cast<std::size_t>(from)];
    if (notice.call >= told.notice.call) told = {notice, known.looks};
    if (notice.code == 0) {
      // The sender waits for a call that this rank has already left.
      if (notice.call < known.mine.call) tell(known, {&from, 1});
      continue;
    }
    leave_messages();
    verdict_.hear(from, notice.statement);
    if (error_ != 0) continue;
    error_ = notice.code;
    error_from_ = from;
  }
}

Status ErrorNotices::find_mismatch(const Record& known) const {
  const Notice& mine = known.mine;
  for (std::size_t from = 0; from < known.others.size(); ++from) {
    const Notice& its = known.others[from].notice;
    if (its.call != mine.call || its.shape == mine.shape) continue;
    return unlike_calls(mine.call, {rank_, mine.bytes}, {static_cast<int>(from), its.bytes});
  }
  return {};
}

// Messages that a peer sent before its notice may arrive after it by another route, but no later than one whole look.
bool ErrorNotices::is_ahead(std::size_t slot, int peer) {
  const std::lock_guard lock(mutex_);
  const Record& known = record(slot);
  if (known.others.empty()) return false;
  const Told& told = known.others[static_cast<std::size_t>(peer)];
  return told.notice.call > known.mine.call && known.looks > told.look;
}

Status ErrorNotices::judge(std::int64_t most_ns) {
  for (const std::int64_t began = now_ns();; (void)nanosleep(&kNap, nullptr)) {
    const std::lock_guard lock(mutex_);
    ++inside_;
    state(kBlockingSlot, Code::broken, Met::on_another_slot);
    read_all();
    const Verdict::On found = verdict_.on(record(kBlockingSlot).mine.call);
    if (found == Verdict::On::unknown && now_ns() - began > most_ns) {
      own_.met = Verdict::kAllCalls;
      said_ = false;
      state(kBlockingSlot, Code::broken, Met::on_another_slot);
    }
    --inside_;
    if (found == Verdict::On::given_back) return failed(Code::given_back, "another rank met an error in an earlier call");
    if (found == Verdict::On::error) return failed(Code::broken, "another rank met an error on this communicator");
  }
}

}  // namespace crossrail::mpi
