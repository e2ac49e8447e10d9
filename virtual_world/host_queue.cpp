#include "virtual_world/host_queue.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "virtual_world/host_kernels.h"

namespace crossrail::virtual_world {
namespace {

// Does what it is asked, in order, on a thread of its own.
class Worker {
 public:
  Worker() : number_(++workers()), draw_(static_cast<unsigned>(number_)), thread_([this] { run(); }) {}
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  std::uint64_t number() const { return number_; }
  void post(std::function<void()> one) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(one));
    changed_.notify_all();
  }
  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return work_.empty() && !busy_; });
  }

 private:
  static std::atomic<std::uint64_t>& workers() {
    static std::atomic<std::uint64_t> all{0};
    return all;
  }
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ends_ || !work_.empty(); });
      if (work_.empty()) return;
      const auto next = std::move(work_.front());
      work_.pop_front();
      busy_ = true;
      lock.unlock();
      if (const unsigned most = device_options().delay_us; most > 0) std::this_thread::sleep_for(std::chrono::microseconds(draw_() % most));
      next();
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool busy_ = false, ends_ = false;
  std::uint64_t number_;
  std::mt19937 draw_;
  std::thread thread_;
};

// Ranks may be threads: each has its own device, and that its own default stream.
Worker& stream_of(void* stream) {
  static thread_local Worker own;
  return stream == nullptr ? own : *static_cast<Worker*>(stream);
}

std::uint64_t number_of_thread() {
  static std::atomic<std::uint64_t> threads{0};
  static thread_local const std::uint64_t mine = ++threads;
  return mine;
}

}  // namespace
}  // namespace crossrail::virtual_world

// When its worker came to both ends of a piece of work; 0: not yet.
struct Marks {
  std::atomic<std::int64_t> began_ns{0}, ended_ns{0};
};

struct crossrail_queue {
  std::vector<std::shared_ptr<Marks>> marks;  // of all pieces
  crossrail::virtual_world::Worker worker;
  int generation = crossrail::virtual_world::device_options().generation;
  std::uint64_t opened_by = crossrail::virtual_world::number_of_thread();
};

namespace crossrail::virtual_world {
namespace {

Worker& worker_for(crossrail_queue* queue, void* stream) {
  if (stream == nullptr) return queue->worker;
  return stream_of(stream == CROSSRAIL_DEFAULT_STREAM ? nullptr : stream);
}

}  // namespace

std::uint64_t identity(crossrail_queue* queue) {
  const auto shared = static_cast<std::uint64_t>(device_options().devices);
  return shared != 0 ? queue->worker.number() % shared + 1 : static_cast<std::uint64_t>(getpid()) << 20 | queue->worker.number();
}

constexpr const char* kGone = "the program has reset the device";

// Ranks may be threads, each with a context of its own.
std::uint64_t place(crossrail_queue* queue) {
  return queue->generation == device_options().generation ? queue->opened_by << 8 | static_cast<std::uint64_t>(queue->generation + 1) : 0;
}

const char* open_queue(const crossrail_memory*, crossrail_queue** queue) {
  if (host_device_queue_allowed() == 0) return "out of memory";
  *queue = new crossrail_queue;
  return nullptr;
}

void close_queue(crossrail_queue* queue) { delete queue; }
const char* open_pages(crossrail_queue*, void* pages, size_t, void** mapped) {
  *mapped = pages;
  return nullptr;
}
void close_pages(crossrail_queue*, void*) {}

static void meet(crossrail_queue* queue, const crossrail_barrier* asked, void* stream) {
  if (asked == nullptr) return;
  worker_for(queue, stream).post([copy = *asked, buffers = std::vector<void*>(asked->buffers, asked->buffers + asked->ranks)] { run_barrier(copy, buffers); });
}

const char* exchange(crossrail_queue* queue, const crossrail_exchange* asked) {
  if (place(queue) == 0) return kGone;
  meet(queue, asked->before, asked->stream);
  worker_for(queue, asked->stream)
      .post([blocks = std::vector<crossrail_block>(asked->blocks, asked->blocks + asked->block_count), flag = asked->flag,
             value = asked->value] {
        for (const crossrail_block& block : blocks) {
          if (block.bytes > 0) std::memmove(touch(block.to), touch(block.from), block.bytes);
        }
        if (flag != nullptr) write_word(flag, value);
      });
  meet(queue, asked->after, asked->stream);
  return nullptr;
}

const char* packets(crossrail_queue* queue, const crossrail_packets* asked) {
  if (place(queue) == 0) return kGone;
  worker_for(queue, asked->stream)
      .post([copy = *asked, buffers = std::vector<void*>(asked->buffers, asked->buffers + asked->ranks)] { run_packets(copy, buffers); });
  return nullptr;
}

const char* combine(crossrail_queue* queue, const crossrail_combination* asked) {
  if (place(queue) == 0) return kGone;
  meet(queue, asked->before, asked->stream);
  worker_for(queue, asked->stream)
      .post([copy = *asked, from = std::vector<const void*>(asked->from, asked->from + asked->from_count),
             to = std::vector<void*>(asked->to, asked->to + asked->to_count)] { run_combination(copy, from, to); });
  meet(queue, asked->after, asked->stream);
  return nullptr;
}

const char* combine_packets(crossrail_queue* queue, const crossrail_packets* asked, const crossrail_reduction* reduction) {
  if (place(queue) == 0) return kGone;
  worker_for(queue, asked->stream)
      .post([copy = *asked, wanted = *reduction, buffers = std::vector<void*>(asked->buffers, asked->buffers + asked->ranks)] {
        run_combine_packets(copy, buffers, wanted);
      });
  return nullptr;
}

const char* barrier(crossrail_queue* queue, const crossrail_barrier* asked) {
  meet(queue, asked, asked->stream);
  return nullptr;
}

const char* exchange_counted(crossrail_queue* queue, const crossrail_counted_exchange* asked) {
  if (place(queue) == 0) return kGone;
  worker_for(queue, asked->barrier.stream).post([work = counted_work(*asked)] { run_counted(work); });
  meet(queue, &asked->barrier, asked->barrier.stream);
  return nullptr;
}

const char* move(crossrail_queue* queue, const crossrail_movements* asked) {
  if (place(queue) == 0) return kGone;
  const auto list_of = [](const crossrail_elements& side) {
    return side.segments == nullptr ? std::vector<crossrail_segment>{} : std::vector<crossrail_segment>(side.segments, side.segments + side.segment_count);
  };
  std::vector<KeptMovement> kept;
  for (int i = 0; i < asked->count; ++i) kept.push_back({asked->all[i], list_of(asked->all[i].from), list_of(asked->all[i].to)});
  worker_for(queue, asked->stream).post([kept = std::move(kept), flag = asked->flag, value = asked->value] {
    for (const KeptMovement& one : kept) run_movement(one);
    if (flag != nullptr) write_word(flag, value);
  });
  return nullptr;
}

const char* look(crossrail_queue*) { return nullptr; }

const char* drain(crossrail_queue* queue) {
  queue->worker.drain();
  return nullptr;
}

static std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const char* open_times(crossrail_queue*) { return nullptr; }

const char* begin_times(crossrail_queue* queue, std::uint64_t* piece) {
  queue->marks.push_back(std::make_shared<Marks>());
  queue->worker.post([marks = queue->marks.back()] { marks->began_ns = now_ns(); });
  *piece = queue->marks.size();
  return nullptr;
}

const char* end_times(crossrail_queue* queue) {
  queue->worker.post([marks = queue->marks.back()] { marks->ended_ns = now_ns(); });
  return nullptr;
}

int times(crossrail_queue* queue, std::uint64_t piece, crossrail_times* times) {
  const Marks& marks = *queue->marks.at(piece - 1);
  times->ended_ns = marks.ended_ns;  // first: it comes last
  times->began_ns = marks.began_ns;
  return times->ended_ns != 0 ? 1 : 0;
}

}  // namespace crossrail::virtual_world

#define HOST_DEVICE_VISIBLE extern "C" __attribute__((visibility("default")))

using crossrail::virtual_world::Worker;

HOST_DEVICE_VISIBLE void* host_device_open_stream(void) { return new Worker; }
HOST_DEVICE_VISIBLE void host_device_close_stream(void* stream) { delete static_cast<Worker*>(stream); }
HOST_DEVICE_VISIBLE void host_device_wait(void* stream) { crossrail::virtual_world::stream_of(stream).drain(); }
HOST_DEVICE_VISIBLE void host_device_copy(void* stream, const crossrail_block* block) {
  crossrail::virtual_world::stream_of(stream).post([copy = *block] {
    std::memmove(crossrail::virtual_world::touch(copy.to), crossrail::virtual_world::touch(copy.from), copy.bytes);
  });
}
