// A queue: streams of our own in one place, and what its kernels need. Used by one thread at a time.
//
// Two streams and the persistent kernel are kept in order by us: `order` waits for whichever the next
// piece of work does not follow by itself.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "crossrail/device_module.h"
#include "gpu.h"
#include "kernels/tasks.h"
#include "place.h"
#include "times.h"

namespace gpu {

constexpr uint64_t kLineBytes = 128;     // of the device's caches
constexpr unsigned kCtaThreads = 512;    // of kernels that several CTAs share

// Host memory that the device writes to.
struct Pages {
  char* host;
  size_t bytes;
  char* mapped;
  void* registered;  // the same pages, as the driver knows them
};

// A stream for copies within the device, beside those to others, and how it is tied to the stream of those.
struct SideStream {
  Stream stream = nullptr;
  Event fork = nullptr, join = nullptr;
};

// How a kernel is started on the queue's own stream.
enum class Way { kernel, update, graph };

// A graph of one kernel; `task` is what it was last told.
struct KernelGraph {
  Graph graph = nullptr;
  Executable executable = nullptr;
  Node node = nullptr;
  Kernel kernel{};
  unsigned grid = 0, threads = 0;
  std::vector<char> task;
};

// A datatype's list of runs, as the kernel wants it.
struct Layout {
  bool even = false;        // equally long and equally spaced
  uint64_t grain = 0;       // power of two up to 16 that divides all offsets and lengths
  crossrail_runs runs{};    // where even
  uint64_t run_count = 0;
  struct Lists {            // on the device, in units of so many bytes
    int64_t* offsets;
    uint64_t* starts;
  };
  std::unordered_map<uint32_t, Lists> lists;  // by unit
};

struct Persistent {
  Stream stream = nullptr;
  kernels::PersistentBoard* board = nullptr;
  kernels::PersistentBoard* mapped = nullptr;
  uint32_t number = 0;   // of the last command
  uint32_t seen = 0;     // of the last command seen done
  uint64_t launch = 0;   // of the last launch; 0: none yet
};

struct Counters {  // on the device
  uint64_t last;      // see kernels::Signal
  uint32_t arrivals;
  uint32_t taken;     // see kernels::PersistentTask
};

}  // namespace gpu

struct crossrail_queue {
  gpu::Place* place = nullptr;
  gpu::Stream stream = nullptr;  // kernels and copies
  std::vector<gpu::SideStream> sides;  // of `stream`; then those of the program's streams
  gpu::Counters* counters = nullptr;
  gpu::Way way = gpu::Way::graph;
  bool last_known = false;       // what `counters->last` will be once all kernels launched are done
  uint64_t last = 0;
  bool stream_used = false;      // something may be under way there
  std::vector<gpu::Pages> pages;
  std::vector<gpu::KernelGraph> graphs;
  size_t oldest_graph = 0;
  gpu::Persistent persistent;
  std::unordered_map<uint64_t, gpu::Layout> layouts;
  bool timed = false;  // there are times of pieces of work
  gpu::Times times;
};

namespace gpu {

// The table's functions.
const char* open_queue(const crossrail_memory* near, int timed, crossrail_queue** queue, crossrail_queue_facts* facts);
void close_queue(crossrail_queue* queue);
const char* open_pages(crossrail_queue* queue, void* pages, size_t bytes, void** mapped);
void close_pages(crossrail_queue* queue, void* pages);
const char* supports(crossrail_queue* queue, const crossrail_work* work, size_t* buffer_bytes);
const char* enqueue(crossrail_queue* queue, const crossrail_work* work);
const char* sync(crossrail_queue* queue, crossrail_sync how);
int times(crossrail_queue* queue, uint64_t piece, crossrail_times* times);

// Where the device reaches a word of opened pages; NULL stays NULL.
const char* translate(const crossrail_queue& queue, const uint64_t* word, uint64_t** mapped);

// The program's stream in what is asked of a module; the driver too writes the default one as null.
inline Stream program_stream(void* asked) { return asked == CROSSRAIL_DEFAULT_STREAM ? Stream{} : static_cast<Stream>(asked); }

// launch.cpp: one kernel. `signal` is a part of the task (null: none), of which the caller has set flag
// and value. On the program's stream, where our counters could be in use by another stream, the flag
// is told by a kernel of its own, unless the task brings its own counters.
struct Work {
  Kernel kernel;
  unsigned grid, threads;
  void* task;
  size_t task_bytes;
  kernels::Signal* signal;
  bool own_counters;
};
const char* launch_work(crossrail_queue& queue, const Work& work, void* stream);
void open_graphs(crossrail_queue& queue);  // of the queue's own stream; none where the driver makes no graphs
void close_graphs(crossrail_queue& queue);
// Tells the host after all that is in the stream.
const char* announce(crossrail_queue& queue, const kernels::Signal& signal, Stream stream);

inline uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// As many CTAs fill the links. More only make up for those that come late (measured on two H100), and wait where the program's own kernels
// have the rest of the device: 256 KiB between four H200 take 50 us beside a kernel on half of them, not 12. So only what is long has more.
constexpr uint64_t kFillingCtas = 64;

// cut.cpp: blocks cut into pieces for a kernel. Empty blocks have been left out.
struct Cut {
  unsigned grid, threads, lanes;
};
Cut cut(kernels::Blocks& list, kernels::Block* blocks, unsigned most_grid);
// For one CTA, a warp a piece.
Cut cut_for_one(kernels::Blocks& list, kernels::Block* blocks);

// receive_buffers.cpp: what is wrong with a barrier, if anything; and the kernel's words for it.
const char* check(const crossrail_barrier& barrier);
template <unsigned kMost>
const char* tell_barrier(const crossrail_queue& queue, const crossrail_barrier& barrier, kernels::BarrierTask<kMost>& task);
inline unsigned barrier_threads(const crossrail_barrier& barrier) {
  return (static_cast<unsigned>(barrier.ranks) + kernels::kWarpLanes - 1) / kernels::kWarpLanes * kernels::kWarpLanes;
}

// The barriers that are asked for around a piece of work in the program's stream.
struct Meetings {
  const crossrail_barrier *before, *after;

  bool any() const { return before != nullptr || after != nullptr; }
  bool few_ranks() const { return (before != nullptr ? before : after)->ranks <= static_cast<int>(kernels::kFewRanks); }
};
const char* tell_meetings(const crossrail_queue& queue, const Meetings& meetings, kernels::MeetingTask& task);
// One of them as a kernel of its own, if there is one.
const char* meet_alone(crossrail_queue& queue, const crossrail_barrier* barrier, void* stream);

// combine.cpp: elements as kernels see them; `addresses` have in them every bit that some row's address has.
const char* tell_elements(const crossrail_reduction& reduction, size_t bytes, uint64_t addresses, kernels::Elements& elements);
// How threads of a CTA share rows of so many units: `rows` groups of `across` threads.
struct Groups {
  uint32_t rows, across;
  unsigned threads;
  uint64_t tile_units() const { return uint64_t{across} * kernels::kEach; }  // of a row
};
Groups groups_of(int rows, uint64_t units);

// persistent.cpp
bool persistent_fits(crossrail_queue& queue, const crossrail_exchange& exchange);
struct Command {
  const crossrail_exchange& exchange;
  uint64_t* flag;  // as the device sees it
};
const char* command(crossrail_queue& queue, const Command& command);
const char* await_persistent(crossrail_queue& queue);   // until all commands are done
const char* retire_persistent(crossrail_queue& queue);  // until the kernel has left
void close_persistent(crossrail_queue& queue);

// What is launched into the queue's own stream follows what the persistent kernel has been told.
inline const char* follow_persistent(crossrail_queue& queue) {
  queue.stream_used = true;
  return queue.persistent.number == queue.persistent.seen ? nullptr : await_persistent(queue);
}

// The kinds of work.
const char* exchange(crossrail_queue& queue, const crossrail_exchange& asked);
const char* move(crossrail_queue& queue, const crossrail_movements& asked);
const char* combine(crossrail_queue& queue, const crossrail_combination& asked);
const char* packets(crossrail_queue& queue, const crossrail_packets& asked);
const char* exchange_counted(crossrail_queue& queue, const crossrail_counted_exchange& asked);

const char* drain(crossrail_queue& queue);
const char* open_side(crossrail_queue& queue);
void close_sides(crossrail_queue& queue);
const char* exchange_by_copies(crossrail_queue& queue, const crossrail_exchange& exchange);
size_t packets_bytes(crossrail_packet_form form, int ranks, size_t block_bytes);
const char* supports_packets(const crossrail_queue& queue, const crossrail_packets& packets, size_t* buffer_bytes);
// NULL if there are kernels for it.
const char* combines(const crossrail_reduction& reduction);
// Of a block that is combined where it arrives: what travels.
size_t bytes_of_combined_packets(size_t block_bytes, const crossrail_reduction& reduction);
void close_layouts(crossrail_queue& queue);

}  // namespace gpu
