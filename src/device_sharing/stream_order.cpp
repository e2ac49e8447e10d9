#include "device_sharing/stream_order.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/own_thread.h"

namespace crossrail {

namespace {

// Calls go otherwise where there is no such memory.
Status unless_missing(const Status& opened) { return opened.code == Code::unsupported || opened.code == Code::no_memory ? Status{} : opened; }

}  // namespace

// What messages need comes last, so that they are there only if all else is.
Status StreamOrder::open(const Longest& longest, WantsMessages messages) {
  CROSSRAIL_TRY(queue_.may_wait_in_streams());
  CROSSRAIL_TRY(buffers_.open(CROSSRAIL_PACKETS_LL, longest.ll));
  if (longest.ll128 > 0) CROSSRAIL_TRY(unless_missing(buffers_.open(CROSSRAIL_PACKETS_LL128, longest.ll128)));
  if (longest.chunks > 0) CROSSRAIL_TRY(unless_missing(buffers_.open(CROSSRAIL_PACKETS_CHUNKS, longest.chunks)));
  if (!watcher_.joinable()) watcher_ = start_own_thread("crossrail-peers", [this] { watch(stop_.get_token()); });
  Code worst = Code::ok;
  CROSSRAIL_TRY(control_.agree(watcher_.joinable() ? Code::ok : Code::unsupported, worst));
  if (worst != Code::ok) return failed(worst, "no thread to look after the ranks that calls in streams wait for");
  if (messages != WantsMessages::unasked) CROSSRAIL_TRY(unless_missing(buffers_.open_messages(messages == WantsMessages::yes)));
  open_ = true;
  return {};
}

void StreamOrder::stop_watching() {
  stop_.request_stop();
  if (watcher_.joinable()) watcher_.join();
}

Status StreamOrder::check_peers() const { return lost_.load() ? failed(Code::peer_lost, "a rank has ended") : Status{}; }

Status StreamOrder::exchange(void* stream, const std::vector<crossrail_block>& blocks, crossrail_engine engine, Meet meet) {
  const crossrail_barrier barrier = buffers_.barrier();
  return queue_.enqueue_exchange(stream, blocks, {engine, meet == Meet::after ? nullptr : &barrier, meet == Meet::before ? nullptr : &barrier});
}

Status StreamOrder::combination(void* stream, crossrail_combination combination, Meet meet) {
  const crossrail_barrier barrier = buffers_.barrier();
  combination.work.before = meet == Meet::after ? nullptr : &barrier;
  combination.work.after = meet == Meet::before ? nullptr : &barrier;
  return queue_.enqueue_combination(stream, combination);
}

Status StreamOrder::packets(void* stream, crossrail_packets packets) {
  buffers_.address(packets);
  return queue_.enqueue_packets(stream, packets);
}

Status StreamOrder::counted(void* stream, crossrail_counted_exchange exchange) {
  exchange.barrier = buffers_.barrier();
  return queue_.enqueue_counted(stream, exchange);
}

Status StreamOrder::messages(void* stream, const Messages& messages) {
  CROSSRAIL_TRY(check_peers());
  crossrail_messages asked{};
  buffers_.address(asked);
  asked.sends = messages.sends.data();
  asked.send_count = static_cast<int>(messages.sends.size());
  asked.recvs = messages.recvs.data();
  asked.recv_count = static_cast<int>(messages.recvs.size());
  return queue_.enqueue_messages(stream, asked);
}

void StreamOrder::watch(const std::stop_token& stop) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, kPause, [&] { return stop.stop_requested(); })) {
    for (int rank = 0; rank < control_.node_size(); ++rank) {
      if (queue_.has_left(rank) || links_.alive(control_.rank_of(rank))) continue;
      queue_.abort_waits();
      lost_ = true;
      return;
    }
  }
}

}  // namespace crossrail
