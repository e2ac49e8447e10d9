#include "nccl/messages.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "engine/engine.h"
#include "nccl/calls.h"
#include "nccl/joined_streams.h"
#include "nccl/real.h"
#include "nccl/results.h"

namespace crossrail::nccl {
namespace {

constexpr std::size_t kTypeBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

std::size_t bytes_of(const Message& message) { return message.count * kTypeBytes[static_cast<std::size_t>(message.type)]; }

// NCCL says what is wrong with others.
bool is_right(const Record& record, const Message& message) {
  constexpr std::size_t kMost = std::size_t{1} << 40;
  const bool known = static_cast<std::size_t>(message.type) < std::size(kTypeBytes) && message.count <= kMost;
  return known && message.peer >= 0 && message.peer < record.size && (message.address != nullptr || message.count == 0);
}

// NCCL wants both ends of a message to be captured in graphs, or none. The record's mutex is held.
bool handles(const Record& record, const Message& message) {
  const bool known = record.open && is_right(record, message) && takes_messages(*record.communicator);
  return known && place_of(message.stream).kind != Place::Kind::unknown;
}

// These are the messages of one communicator that crossrail handles, without the empty ones.
struct Lists {
  std::vector<crossrail_message> sends, recvs;
  JoinedStreams streams;
};
Lists lists_of(std::span<const Message* const> messages) {
  Lists lists;
  for (const Message* const one : messages) {
    lists.streams.add(one->stream);
    if (one->count > 0) (one->way == Message::Way::send ? lists.sends : lists.recvs).push_back({one->address, bytes_of(*one), one->peer});
  }
  return lists;
}

// What a rank sends to itself must be what it receives from itself in the same group.
bool own_match(const Lists& lists, int rank) {
  const auto lengths = [rank](const std::vector<crossrail_message>& all) {
    std::vector<std::size_t> own;
    for (const crossrail_message& one : all) {
      if (one.peer == rank) own.push_back(one.bytes);
    }
    return own;
  };
  return lengths(lists.sends) == lengths(lists.recvs);
}

// The record's mutex is held.
Result run(Record& record, std::span<const Message* const> messages) {
  if (messages.empty()) return Result::success;
  if (record.aborted) return Result::invalid_usage;
  const Lists lists = lists_of(messages);
  if (!own_match(lists, record.rank)) return Result::invalid_usage;
  counts().handled.fetch_add(messages.size(), std::memory_order_relaxed);
  if (lists.sends.empty() && lists.recvs.empty()) return Result::success;
  const Place place = place_of(lists.streams.first());
  if (!lists.streams.join() || !record.turns.begin(place)) return Result::unhandled_device_error;
  const Result result = result_of(record, messages_on_stream(*record.communicator, {lists.sends, lists.recvs}, place.stream));
  const bool followed = record.turns.end(place), parted = lists.streams.part();
  return worse(result, followed && parted ? Result::success : Result::unhandled_device_error);
}

// `messages` are all those of one communicator. It is null if crossrail does not know it.
Result make_all_of(Record* record, std::span<const Message* const> messages) {
  std::vector<const Message*> ours, left(messages.begin(), messages.end());
  Result result = Result::success;
  if (record != nullptr) {
    const std::lock_guard lock(record->mutex);
    const auto first_left = std::stable_partition(left.begin(), left.end(), [&](const Message* one) { return handles(*record, *one); });
    ours.assign(left.begin(), first_left);
    left.erase(left.begin(), first_left);
    record->left_messages = record->left_messages || !left.empty();
    result = run(*record, ours);
  }
  for (const Message* const one : left) result = worse(result, leave(*one, record == nullptr || !record->open ? Why::unopened : Why::message));  // NCCL may wait, and another thread may abort the communicator meanwhile.
  return result;
}

}  // namespace

Result leave(const Message& message, Why why) {
  counts().leave(why);
  const auto call = message.way == Message::Way::send ? real().ncclSend : real().ncclRecv;
  return call(message.address, message.count, message.type, message.peer, message.comm, message.stream);
}

// Ranks may name the communicators of a group in different orders, and must not wait for each other.
Result make_messages(std::span<const Message> messages) {
  std::vector<const Message*> all;
  for (const Message& one : messages) all.push_back(&one);
  std::stable_sort(all.begin(), all.end(), [](const Message* one, const Message* other) { return comes_before(find(one->comm), find(other->comm)); });
  Result result = Result::success;
  for (auto first = all.begin(); first != all.end();) {
    const auto end = std::find_if(first, all.end(), [&](const Message* one) { return one->comm != (*first)->comm; });
    result = worse(result, make_all_of(find((*first)->comm), {first, end}));
    first = end;
  }
  return result;
}

}  // namespace crossrail::nccl
