#include "virtual_world/host_messages.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "virtual_world/host_kernels.h"
#include "virtual_world/host_queue.h"

namespace crossrail::virtual_world {

// A buffer has a part for each rank. A part is: pieces sent to the rank, pieces of them that it has read, pieces received from it | ring of pieces
// from it. A piece in the ring is: number | data.
static constexpr std::size_t kLine = 64, kPieceData = 4096, kPieces = 64;
static constexpr std::size_t kSent = 0, kCredit = kLine, kReceived = 2 * kLine, kRing = 3 * kLine;
static constexpr std::size_t kPartBytes = kRing + kPieces * (kLine + kPieceData);

const char* supports_messages(int ranks, size_t* buffer_bytes) {
  if (device_options().break_lines != 0) return "packets of 128 bytes may arrive in pieces";
  if (ranks > CROSSRAIL_MOST_COMBINING) return "too many ranks for messages";
  if (buffer_bytes != nullptr) *buffer_bytes = static_cast<std::size_t>(ranks) * kPartBytes;
  return nullptr;
}

namespace {

std::byte* part_of(const KeptMessages& work, int owner, int other) {
  return touch(work.buffers[static_cast<std::size_t>(owner)]) + static_cast<std::size_t>(other) * kPartBytes;
}
std::byte* piece_of(std::byte* part, std::uint64_t number) { return part + kRing + number % kPieces * (kLine + kPieceData); }

// These are all messages to one rank or from one, in order.
class Way {
 public:
  Way(const KeptMessages& work, int peer, bool receives)
      : own_(part_of(work, work.asked.rank, peer)), its_(part_of(work, peer, work.asked.rank)), receives_(receives) {
    for (const crossrail_message& one : receives ? work.recvs : work.sends) {
      if (one.peer == peer && one.bytes > 0) list_.push_back(one);
    }
    number_ = read_word(counter());
  }
  bool done() const { return message_ == list_.size(); }
  // Passes the next piece, if it has come or there is room for it.
  bool step() {
    if (done() || !(receives_ ? receive() : send())) return false;
    write_word(counter(), ++number_);
    at_ += kPieceData;
    if (at_ < list_[message_].bytes) return true;
    ++message_;
    at_ = 0;
    return true;
  }

 private:
  std::byte* counter() const { return own_ + (receives_ ? kReceived : kSent); }
  std::byte* here() const { return touch(list_[message_].address) + at_; }
  std::size_t bytes() const { return std::min(kPieceData, list_[message_].bytes - at_); }
  bool send() {
    if (number_ - read_word(own_ + kCredit) >= kPieces) return false;
    std::byte* const piece = piece_of(its_, number_);
    std::memcpy(piece + kLine, here(), bytes());
    write_word(piece, number_ + 1);
    return true;
  }
  bool receive() {
    std::byte* const piece = piece_of(own_, number_);
    if (read_word(piece) != number_ + 1) return false;
    std::memcpy(here(), piece + kLine, bytes());
    write_word(its_ + kCredit, number_ + 1);
    return true;
  }

  std::byte *own_, *its_;
  bool receives_;
  std::vector<crossrail_message> list_;
  std::uint64_t number_;  // It counts the pieces since the beginning.
  std::size_t message_ = 0, at_ = 0;
};

void copy_own(const KeptMessages& work) {
  auto from = work.sends.begin();
  for (const crossrail_message& to : work.recvs) {
    if (to.peer != work.asked.rank) continue;
    from = std::find_if(from, work.sends.end(), [&](const crossrail_message& one) { return one.peer == to.peer; });
    if (from->bytes > 0) std::memmove(touch(to.address), touch(from->address), from->bytes);
    ++from;
  }
}

}  // namespace

// All ways go on in turn, so that none waits for another.
bool run_messages(const KeptMessages& work) {
  copy_own(work);
  std::vector<Way> ways;
  for (int peer = 0; peer < work.asked.ranks; ++peer) {
    if (peer == work.asked.rank) continue;
    ways.emplace_back(work, peer, false);
    ways.emplace_back(work, peer, true);
  }
  while (!std::all_of(ways.begin(), ways.end(), [](const Way& way) { return way.done(); })) {
    bool moved = false;
    for (Way& way : ways) moved = way.step() || moved;
    if (moved) continue;
    if (read_word(work.asked.abort) != 0) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace crossrail::virtual_world
