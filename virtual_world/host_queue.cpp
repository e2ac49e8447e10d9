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
#include "virtual_world/host_messages.h"

namespace crossrail::virtual_world {
namespace {

// It does what it is asked, in order, on a thread of its own.
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
  void redirect(Redirection to) {
    const std::lock_guard lock(mutex_);
    redirection_ = std::move(to);
  }
  void post(std::function<void()> one) {
    const std::lock_guard lock(mutex_);
    if (redirection_) return redirection_(std::move(one));
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
  Redirection redirection_;
  bool busy_ = false, ends_ = false;
  std::uint64_t number_;
  std::mt19937 draw_;
  std::thread thread_;
};

// Ranks may be threads. Each has its own device, and that device has its own default stream.
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

void post(void* stream, std::function<void()> work) { stream_of(stream).post(std::move(work)); }
void redirect(void* stream, Redirection to) { stream_of(stream).redirect(std::move(to)); }

}  // namespace crossrail::virtual_world

// This says when its worker came to both ends of a piece of work, and how many parts of it are still to come.
struct Marks {
  std::atomic<std::int64_t> began_ns{0}, ended_ns{0};
  std::atomic<int> to_come{0};
};

struct crossrail_queue {
  std::vector<std::shared_ptr<Marks>> marks;  // They are those of all pieces.
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

constexpr const char* kGone = "the program has reset the device";
constexpr const char* kUnknownKind = "a kind of work that this module does not know";

static bool is_alive(const crossrail_queue* queue) { return queue->generation == device_options().generation; }

static std::uint64_t identity_of(const crossrail_queue* queue) {
  const auto shared = static_cast<std::uint64_t>(device_options().devices);
  return shared != 0 ? queue->worker.number() % shared + 1 : static_cast<std::uint64_t>(getpid()) << 20 | queue->worker.number();
}

// Ranks may be threads, each with a context of its own.
static std::uint64_t place_of(const crossrail_queue* queue) { return queue->opened_by << 8 | static_cast<std::uint64_t>(queue->generation + 1); }

const char* open_queue(const crossrail_memory*, int, crossrail_queue** queue, crossrail_queue_facts* facts) {
  if (host_device_queue_allowed() == 0) return "out of memory";
  *queue = new crossrail_queue;
  *facts = {identity_of(*queue), place_of(*queue), device_options().concurrent};
  return nullptr;
}

void close_queue(crossrail_queue* queue) { delete queue; }
const char* open_pages(crossrail_queue*, void* pages, size_t, void** mapped) {
  *mapped = pages;
  return nullptr;
}
void close_pages(crossrail_queue*, void*) {}

namespace {

// This is what a kernel does, with copies of the lists that it was asked with. It returns false if it has given up waiting for other ranks.
using Kernel = std::function<bool()>;

Kernel kernel_of(const crossrail_exchange& asked) {
  return [blocks = std::vector<crossrail_block>(asked.blocks, asked.blocks + asked.block_count)] {
    for (const crossrail_block& block : blocks) {
      if (block.bytes > 0) std::memmove(touch(block.to), touch(block.from), block.bytes);
    }
    return true;
  };
}

Kernel kernel_of(const crossrail_movements& asked) {
  const auto list_of = [](const crossrail_elements& side) {
    return side.segments == nullptr ? std::vector<crossrail_segment>{} : std::vector<crossrail_segment>(side.segments, side.segments + side.segment_count);
  };
  std::vector<KeptMovement> kept;
  for (int i = 0; i < asked.count; ++i) kept.push_back({asked.all[i], list_of(asked.all[i].from), list_of(asked.all[i].to)});
  return [kept = std::move(kept)] {
    for (const KeptMovement& one : kept) run_movement(one);
    return true;
  };
}

Kernel kernel_of(const crossrail_combination& asked) {
  return [asked, from = std::vector<const void*>(asked.from, asked.from + asked.from_count), to = std::vector<void*>(asked.to, asked.to + asked.to_count)] {
    run_combination(asked, from, to);
    return true;
  };
}

Kernel kernel_of(const crossrail_packets& asked) {
  return [asked, buffers = std::vector<void*>(asked.buffers, asked.buffers + asked.ranks)] { return run_packets(asked, buffers); };
}

Kernel kernel_of(const crossrail_counted_exchange& asked) {
  return [work = counted_work(asked), buffers = std::vector<void*>(asked.barrier.buffers, asked.barrier.buffers + asked.barrier.ranks)] {
    run_counted(work);
    run_barrier(work.asked.barrier, buffers);
    return true;
  };
}

Kernel kernel_of(const crossrail_messages& asked) {
  return [work = KeptMessages(asked)] { return run_messages(work); };
}

// Returns nothing if the kind is not known.
Kernel kernel_of(const crossrail_work& work) {
  switch (work.kind) {
    case CROSSRAIL_WORK_EXCHANGE: return kernel_of(reinterpret_cast<const crossrail_exchange&>(work));
    case CROSSRAIL_WORK_MOVE: return kernel_of(reinterpret_cast<const crossrail_movements&>(work));
    case CROSSRAIL_WORK_COMBINE: return kernel_of(reinterpret_cast<const crossrail_combination&>(work));
    case CROSSRAIL_WORK_PACKETS: return kernel_of(reinterpret_cast<const crossrail_packets&>(work));
    case CROSSRAIL_WORK_COUNTED: return kernel_of(reinterpret_cast<const crossrail_counted_exchange&>(work));
    case CROSSRAIL_WORK_MESSAGES: return kernel_of(reinterpret_cast<const crossrail_messages&>(work));
    case CROSSRAIL_WORK_BARRIER: return [] { return true; };
    default: return nullptr;
  }
}

void meet(Worker& worker, const crossrail_barrier* asked) {
  if (asked == nullptr) return;
  worker.post([copy = *asked, buffers = std::vector<void*>(asked->buffers, asked->buffers + asked->ranks)] { run_barrier(copy, buffers); });
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The first part of a piece of work begins it.
void begin_part(crossrail_queue* queue, std::uint64_t* piece) {
  const bool first = *piece == 0;
  if (first) queue->marks.push_back(std::make_shared<Marks>());
  *piece = queue->marks.size();
  ++queue->marks.back()->to_come;
  if (first) queue->worker.post([marks = queue->marks.back()] { marks->began_ns = now_ns(); });
}

void end_part(crossrail_queue* queue) {
  queue->worker.post([marks = queue->marks.back()] {
    marks->ended_ns = now_ns();
    --marks->to_come;
  });
}

}  // namespace

const char* supports(crossrail_queue*, const crossrail_work* work, size_t* buffer_bytes) {
  if (work->kind < CROSSRAIL_WORK_EXCHANGE || work->kind > CROSSRAIL_WORK_MESSAGES) return kUnknownKind;
  constexpr size_t kChunkBytes = size_t{256} << 10;
  constexpr const char* kNoKernels = "no kernel combines such elements";
  if (work->kind == CROSSRAIL_WORK_COMBINE) return combines(reinterpret_cast<const crossrail_combination*>(work)->reduction) ? nullptr : kNoKernels;
  if (work->kind == CROSSRAIL_WORK_MESSAGES) return supports_messages(reinterpret_cast<const crossrail_messages*>(work)->ranks, buffer_bytes);
  if (work->kind != CROSSRAIL_WORK_PACKETS) return nullptr;
  const auto& packets = *reinterpret_cast<const crossrail_packets*>(work);
  if (packets.form == CROSSRAIL_PACKETS_LL128 && device_options().break_lines != 0) return "packets of 128 bytes may arrive in pieces";
  if (packets.reduction.operation != 0 && !combines(packets.reduction)) return kNoKernels;
  if (buffer_bytes != nullptr) *buffer_bytes = packets_bytes(packets.ranks, packets.form == CROSSRAIL_PACKETS_CHUNKS ? kChunkBytes : packets.block_bytes);
  return nullptr;
}

const char* enqueue(crossrail_queue* queue, const crossrail_work* work) {
  if (!is_alive(queue)) return kGone;
  Kernel kernel = kernel_of(*work);
  if (kernel == nullptr) return kUnknownKind;
  Worker& worker = worker_for(queue, work->stream);
  const bool timed = work->piece != nullptr && work->stream == nullptr;
  if (timed) begin_part(queue, work->piece);
  meet(worker, work->before);
  worker.post([kernel = std::move(kernel), flag = work->flag, value = work->value] {
    const bool stayed = kernel();
    if (flag != nullptr) write_word(flag, stayed ? value : ~value);
  });
  meet(worker, work->after);
  if (timed) end_part(queue);
  return nullptr;
}

const char* sync(crossrail_queue* queue, crossrail_sync how) {
  if (how == CROSSRAIL_SYNC_ALIVE) return is_alive(queue) ? nullptr : kGone;
  if (how == CROSSRAIL_SYNC_DRAIN) queue->worker.drain();
  return nullptr;
}

int times(crossrail_queue* queue, std::uint64_t piece, crossrail_times* times) {
  const Marks& marks = *queue->marks.at(piece - 1);
  if (marks.to_come != 0) return 0;
  *times = {marks.began_ns, marks.ended_ns};
  return 1;
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
