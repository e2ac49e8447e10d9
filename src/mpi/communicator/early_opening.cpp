#include "mpi/communicator/early_opening.h"

#include <sched.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/settings.h"
#include "mpi/communicator/communicators.h"
#include "mpi/communicator/open_communicator.h"
#include "mpi/communicator/unanswered.h"
#include "mpi/library/pmpi.h"
#include "mpi/observe/counters.h"

namespace crossrail::mpi {
namespace {

constexpr std::int64_t kLingerNs = 100'000, kLingerInAllNs = 400'000;

std::string first_kind_of_segment() {
  const std::string& kinds = process_settings().segment;
  return kinds.substr(0, kinds.find(','));
}

}  // namespace

EarlyOpening::EarlyOpening(MPI_Comm comm) : comm_(comm) {
  if (pmpi().Comm_size(comm, &ranks_) != MPI_SUCCESS || pmpi().Comm_rank(comm, &rank_) != MPI_SUCCESS) stage_ = Stage::given_up;
}

Invitation::Message EarlyOpening::place_to_meet() {
  Invitation::Message message;
  const std::string kind = first_kind_of_segment();
  if (kind == "none" || !memory_.create(kind.c_str(), OpeningTable::bytes(ranks_)).ok()) return message;
  const Location here = discover_location(-1);
  message.machine = here.machine;
  message.pid_space = here.pid_space;
  message.address = memory_.address();
  return message;
}

void EarlyOpening::invite(bool wanted) {
  const bool told_before = std::exchange(told_, told_ || wanted), tells = wanted && rank_ == 0 && !told_before;
  if (wanted && !told_before) may_linger_ns_ = kLingerInAllNs;
  Invitation::Message nothing;
  nothing.later = 1;
  if (ranks_ > 1) Unanswered::asked();
  const auto sent = Invitation::send(comm_, tells ? place_to_meet() : nothing);
  if (sent != nullptr) invitations_.push_back(sent);
  else if (stage_ == Stage::waiting) stage_ = Stage::given_up;
}

// A communicator must not be freed while a collective is under way on it.
EarlyOpening::~EarlyOpening() {
  if (!finalizing()) leave_nothing_under_way(Invitation::kMostNs);
  cancelled_ = true;
  while (fiber_ != nullptr && !fiber_->finished()) fiber_->resume();
}

void EarlyOpening::leave_nothing_under_way(std::int64_t most_ns) {
  const std::int64_t began = now_ns();
  for (const auto& one : invitations_) one->end(most_ns == Invitation::kForEver ? most_ns : std::max<std::int64_t>(0, began + most_ns - now_ns()));
}

void EarlyOpening::open(void* opening) {
  auto& mine = *static_cast<EarlyOpening*>(opening);
  FiberExchange exchange(*mine.table_, *mine.fiber_, mine.cancelled_);
  mine.communicator = open_communicator(mine.comm_, exchange);
}

void EarlyOpening::join(const Invitation::Message& message) {
  stage_ = Stage::given_up;
  if (!message.is_from(discover_location(-1)) || message.address.bytes != OpeningTable::bytes(ranks_)) return;
  if (rank_ != 0 && !memory_.attach(message.address).ok()) return;
  fiber_ = std::make_unique<Fiber>();
  if (!fiber_->usable()) return;
  table_ = std::make_unique<OpeningTable>(memory_.data(), rank_, ranks_);
  stage_ = Stage::opening;
  may_linger_ns_ = kLingerInAllNs;
  fiber_->start(open, this, FloatMode{});
}

void EarlyOpening::look_at_invitations() {
  if (!invitations_.empty()) Invitation::look_at_all();
  for (; !invitations_.empty() && invitations_.front()->arrived(); invitations_.pop_front()) {
    const Invitation::Message& message = invitations_.front()->message();
    if (message.is_strangers()) complain_of_strangers();
    if (message.is_crossrails() && rank_ != 0) Unanswered::answered();
    if (stage_ == Stage::waiting && message.later == 0) join(message);
  }
}

bool EarlyOpening::nothing_under_way() {
  look_at_invitations();
  return invitations_.empty();
}

void EarlyOpening::go_on(std::uint64_t calls_begun) {
  look_at_invitations();
  if (stage_ != Stage::opening) return;
  fiber_->resume();
  if (!fiber_->finished()) return;
  table_->finish(communicator != nullptr, calls_begun);
  stage_ = Stage::finished;
  if (ranks_ > 1) Unanswered::answered();
}

bool EarlyOpening::carries(std::uint64_t call) {
  const std::int64_t began = now_ns(), most = std::min(kLingerNs, may_linger_ns_);
  std::int64_t spent = 0;
  go_on(call - 1);
  while ((stage_ == Stage::opening || (stage_ == Stage::waiting && !invitations_.empty())) && spent < most) {
    let_mpi_progress(comm_);  // The other ranks may be waiting for calls of this rank.
    go_on(call - 1);
    spent = now_ns() - began;
  }
  may_linger_ns_ -= spent;
  return stage_ == Stage::finished && table_->carries(call);
}

bool EarlyOpening::conclude(std::uint64_t calls_begun) {
  for (; stage_ == Stage::waiting && !invitations_.empty(); sched_yield()) go_on(calls_begun);
  const bool may_come = stage_ == Stage::waiting;  // No rank has said where to meet.
  int refused = may_come || stage_ == Stage::given_up ? 1 : 0, worst = 1;
  const int code = pmpi().Allreduce(&refused, &worst, 1, handles().whole_number, handles().maximum, comm_);
  if (code != MPI_SUCCESS && table_ != nullptr && refused == 0) {  // The others may have gone on in the table.
    cancelled_ = true;
    while (!fiber_->finished()) fiber_->resume();
    table_->finish(false, calls_begun);
  }
  if (code != MPI_SUCCESS || worst != 0) {
    if (!may_come) stage_ = Stage::given_up;
    communicator.reset();
    return false;
  }
  // Although this rank has returned from MPI's collective, it may still have to forward messages for ranks that are inside it.
  for (; stage_ == Stage::opening || !table_->decided(); sched_yield()) {
    go_on(calls_begun);
    let_mpi_progress(comm_);
  }
  return !table_->carries_none();
}

}  // namespace crossrail::mpi
