#include "mpi/communicator/message_space.h"

#include <algorithm>
#include <utility>

#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

constexpr std::size_t kMostNumbers = 65536;

// Returns for how many communicators the tags of the MPI library suffice.
std::size_t numbers_in_tags() {
  void* value = nullptr;
  int found = 0;
  if (pmpi().Comm_get_attr(handles().comm_world, MPI_TAG_UB, &value, &found) != MPI_SUCCESS || found == 0) return 1;
  const auto tags = static_cast<std::size_t>(*static_cast<int*>(value)) + 1;
  return std::clamp(tags / kTagsACommunicator, std::size_t{1}, kMostNumbers);
}

}  // namespace

CommonNumber::~CommonNumber() {
  if (serial_ != 0) CommonCommunicator::of_process().free(serial_);
}

CommonCommunicator& CommonCommunicator::of_process() {
  static CommonCommunicator& one = *new CommonCommunicator;  // It outlives every static object.
  return one;
}

bool CommonCommunicator::claim() {
  const std::size_t numbers = numbers_in_tags();
  const std::lock_guard lock(mutex_);
  if (state_ != State::none || numbers < 2) return false;
  state_ = State::claimed;
  in_use_.assign(numbers, false);
  in_use_[0] = true;
  return true;
}

void CommonCommunicator::unclaim() {
  const std::lock_guard lock(mutex_);
  state_ = State::none;
}

std::shared_ptr<NoticeBox> CommonCommunicator::settle(MPI_Comm made, std::uint64_t name, int rank) {
  const std::lock_guard lock(mutex_);
  state_ = State::settled;
  name_ = name;
  rank_ = rank;
  box_ = std::make_shared<NoticeBox>(made);
  // A rank that reports an error may have sent messages that were never received, so its number stays in use.
  box_->on_late_error([this](std::uint64_t serial) {
    const std::lock_guard locked(mutex_);
    in_use_[serial % in_use_.size()] = true;
  });
  return box_;
}

void CommonCommunicator::end() {
  const std::lock_guard lock(mutex_);
  state_ = State::ended;
}

std::shared_ptr<NoticeBox> CommonCommunicator::box() const {
  const std::lock_guard lock(mutex_);
  return box_;
}

std::size_t CommonCommunicator::numbers() const {
  const std::lock_guard lock(mutex_);
  return in_use_.size();
}

CommonNumber CommonCommunicator::number(Location& mine) {
  const std::lock_guard lock(mutex_);
  mine.common_name = mine.common_serial = 0;
  mine.common_rank = 0;
  if (state_ != State::settled) return {};
  for (std::size_t tries = 0; tries < in_use_.size(); ++tries) {
    const std::uint64_t serial = ++last_serial_;
    if (in_use_[serial % in_use_.size()]) continue;
    in_use_[serial % in_use_.size()] = true;
    box_->expect(serial);
    mine.common_name = name_;
    mine.common_serial = serial;
    mine.common_rank = rank_;
    return CommonNumber(serial);
  }
  return {};
}

void CommonCommunicator::free(std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  box_->forget(serial);
  in_use_[serial % in_use_.size()] = false;
}

MessageSpace common_space(const std::vector<Location>& locations, const CommonNumber& own) {
  MessageSpace space;
  bool same_ranks = true, same_keys = true;
  for (std::size_t rank = 0; rank < locations.size(); ++rank) {
    const Location& at = locations[rank];
    if (at.common_name == 0 || at.common_name != locations[0].common_name) return {};
    same_ranks = same_ranks && at.common_rank == static_cast<std::int64_t>(rank);
    same_keys = same_keys && at.common_serial == locations[0].common_serial;
  }
  const CommonCommunicator& common = CommonCommunicator::of_process();
  space.box = common.box();
  space.numbers = common.numbers();
  space.own_key = own.serial();
  for (const Location& at : locations) {
    if (!same_ranks) space.ranks.push_back(static_cast<int>(at.common_rank));
    if (!same_keys) space.keys.push_back(at.common_serial);
  }
  return space;
}

MessageSpace private_space(std::shared_ptr<NoticeBox> box, std::uint64_t name) {
  MessageSpace space;
  space.box = std::move(box);
  space.box->expect(name);
  space.own_key = name;
  return space;
}

}  // namespace crossrail::mpi
