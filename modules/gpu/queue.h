// A queue has streams of our own in one place, and what its kernels need. One thread at a time uses it.
//
// We keep two streams and the persistent kernel in order: `order` waits for whichever the next piece of work does not follow by itself.
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

constexpr uint64_t kLineBytes = 128;     // The device's caches have lines of this length.
constexpr unsigned kCtaThreads = 512;    // Kernels that several CTAs share have this many threads.

// The device writes to this host memory.
struct Pages {
  char* host;
  size_t bytes;
  char* mapped;
  void* registered;  // These are the same pages, as the driver knows them.
};

// This stream makes copies within the device, beside those to others. It is tied to the stream of those by the events.
struct SideStream {
  Stream stream = nullptr;
  Event fork = nullptr, join = nullptr;
};

// This says how a kernel is started on the queue's own stream.
enum class Way { kernel, update, graph };

// This is a graph of one kernel. `task` is what it was last told.
struct KernelGraph {
  Graph graph = nullptr;
  Executable executable = nullptr;
  Node node = nullptr;
  Kernel kernel{};
  unsigned grid = 0, threads = 0;
  std::vector<char> task;
};

// This is a datatype's list of runs, as the kernel wants it.
struct Layout {
  bool even = false;        // They are equally long and equally spaced.
  uint64_t grain = 0;       // It is the power of two up to 16 that divides all offsets and lengths.
  crossrail_runs runs{};    // They hold if the list is even.
  uint64_t run_count = 0;
  struct Lists {            // They are on the device and count in units, whose length in bytes is the map's key.
    int64_t* offsets;
    uint64_t* starts;
  };
  std::unordered_map<uint32_t, Lists> lists;  // They are indexed by unit.
};

struct Persistent {
  Stream stream = nullptr;
  kernels::PersistentBoard* board = nullptr;
  kernels::PersistentBoard* mapped = nullptr;
  uint32_t number = 0;   // It is the number of the last command.
  uint32_t seen = 0;     // It is the number of the last command seen done.
  uint64_t launch = 0;   // It is the number of the last launch. It is 0 if there was none yet.
};

struct Counters {  // They are on the device.
  uint64_t last;      // kernels::Signal explains it.
  uint32_t arrivals;
  uint32_t taken;     // kernels::PersistentTask explains it.
};

}  // namespace gpu

struct crossrail_queue {
  gpu::Place* place = nullptr;
  gpu::Stream stream = nullptr;  // It takes kernels and copies.
  std::vector<gpu::SideStream> sides;  // The first is that of `stream`, then come those of the program's streams.
  gpu::Counters* counters = nullptr;
  gpu::Way way = gpu::Way::graph;
  bool last_known = false;       // It is known what `counters->last` will be once all kernels launched are done.
  uint64_t last = 0;
  bool stream_used = false;      // Something may be under way there.
  std::vector<gpu::Pages> pages;
  std::vector<gpu::KernelGraph> graphs;
  size_t oldest_graph = 0;
  gpu::Persistent persistent;
  std::unordered_map<uint64_t, gpu::Layout> layouts;
  bool timed = false;  // There are times of pieces of work.
  gpu::Times times;
};

namespace gpu {

// These are the table's functions.
const char* open_queue(const crossrail_memory* near, int timed, crossrail_queue** queue, crossrail_queue_facts* facts);
void close_queue(crossrail_queue* queue);
const char* open_pages(crossrail_queue* queue, void* pages, size_t bytes, void** mapped);
void close_pages(crossrail_queue* queue, void* pages);
const char* supports(crossrail_queue* queue, const crossrail_work* work, size_t* buffer_bytes);
const char* enqueue(crossrail_queue* queue, const crossrail_work* work);
const char* sync(crossrail_queue* queue, crossrail_sync how);
int times(crossrail_queue* queue, uint64_t piece, crossrail_times* times);

// Returns where the device reaches a word of opened pages. NULL stays NULL.
const char* translate(const crossrail_queue& queue, const uint64_t* word, uint64_t** mapped);

// Returns the program's stream in what is asked of a module. The driver also writes the default one as null.
inline Stream program_stream(void* asked) { return asked == CROSSRAIL_DEFAULT_STREAM ? Stream{} : static_cast<Stream>(asked); }

// launch.cpp launches one kernel. `signal` is a part of the task (null if there is none), of which the caller has set flag and value. On
// the program's stream, where our counters could be in use by another stream, a kernel of its own tells the flag, unless the task brings
// its own counters.
struct Work {
  Kernel kernel;
  unsigned grid, threads;
  void* task;
  size_t task_bytes;
  kernels::Signal* signal;
  bool own_counters;
};
const char* launch_work(crossrail_queue& queue, const Work& work, void* stream);
void open_graphs(crossrail_queue& queue);  // They belong to the queue's own stream. There are none where the driver makes no graphs.
void close_graphs(crossrail_queue& queue);
// Tells the host after all that is in the stream.
const char* announce(crossrail_queue& queue, const kernels::Signal& signal, Stream stream);

inline uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// As many CTAs fill the links. More only make up for those that come late (measured on two H100), and wait where the program's own kernels
// have the rest of the device: 256 KiB between four H200 take 50 us beside a kernel on half of them, not 12. So only what is long has more.
constexpr uint64_t kFillingCtas = 64;

// cut.cpp cuts blocks into pieces for a kernel. Empty blocks have been left out.
struct Cut {
  unsigned grid, threads, lanes;
};
Cut cut(kernels::Blocks& list, kernels::Block* blocks, unsigned most_grid);
// This is for one CTA, with a warp for each piece.
Cut cut_for_one(kernels::Blocks& list, kernels::Block* blocks);

// receive_buffers.cpp checks what is wrong with a barrier, if anything, and gives the kernel's words for it.
const char* check(const crossrail_barrier& barrier);
template <unsigned kMost>
const char* tell_barrier(const crossrail_queue& queue, const crossrail_barrier& barrier, kernels::BarrierTask<kMost>& task);
inline unsigned barrier_threads(const crossrail_barrier& barrier) {
  return (static_cast<unsigned>(barrier.ranks) + kernels::kWarpLanes - 1) / kernels::kWarpLanes * kernels::kWarpLanes;
}

// These are the barriers that are asked for around a piece of work in the program's stream.
struct Meetings {
  const crossrail_barrier *before, *after;

  bool any() const { return before != nullptr || after != nullptr; }
  bool few_ranks() const { return (before != nullptr ? before : after)->ranks <= static_cast<int>(kernels::kFewRanks); }
};
const char* tell_meetings(const crossrail_queue& queue, const Meetings& meetings, kernels::MeetingTask& task);
// Runs one of them as a kernel of its own, if there is one.
const char* meet_alone(crossrail_queue& queue, const crossrail_barrier* barrier, void* stream);

// combine.cpp gives elements as kernels see them. `addresses` have in them every bit that some row's address has.
const char* tell_elements(const crossrail_reduction& reduction, size_t bytes, uint64_t addresses, kernels::Elements& elements);
// This says how threads of a CTA share rows of `units` units: `rows` groups of `across` threads.
struct Groups {
  uint32_t rows, across;
  unsigned threads;
  uint64_t tile_units() const { return uint64_t{across} * kernels::kEach; }  // It counts those of a row.
};
Groups groups_of(int rows, uint64_t units);

// These are in persistent.cpp.
bool persistent_fits(crossrail_queue& queue, const crossrail_exchange& exchange);
struct Command {
  const crossrail_exchange& exchange;
  uint64_t* flag;  // It is the flag as the device sees it.
};
const char* command(crossrail_queue& queue, const Command& command);
const char* await_persistent(crossrail_queue& queue);   // It waits until all commands are done.
const char* retire_persistent(crossrail_queue& queue);  // It waits until the kernel has left.
void close_persistent(crossrail_queue& queue);

// What is launched into the queue's own stream follows what the persistent kernel has been told.
inline const char* follow_persistent(crossrail_queue& queue) {
  queue.stream_used = true;
  return queue.persistent.number == queue.persistent.seen ? nullptr : await_persistent(queue);
}

// These are the kinds of work.
const char* exchange(crossrail_queue& queue, const crossrail_exchange& asked);
const char* move(crossrail_queue& queue, const crossrail_movements& asked);
const char* combine(crossrail_queue& queue, const crossrail_combination& asked);
const char* packets(crossrail_queue& queue, const crossrail_packets& asked);
// chunks.cpp serves one form of packets. Their receive buffers have so many bytes whatever the blocks are.
const char* exchange_in_chunks(crossrail_queue& queue, const crossrail_packets& packets);
size_t chunks_bytes(int ranks);
const char* exchange_counted(crossrail_queue& queue, const crossrail_counted_exchange& asked);
const char* messages(crossrail_queue& queue, const crossrail_messages& asked);

const char* drain(crossrail_queue& queue);
const char* open_side(crossrail_queue& queue);
void close_sides(crossrail_queue& queue);
const char* exchange_by_copies(crossrail_queue& queue, const crossrail_exchange& exchange);
size_t packets_bytes(crossrail_packet_form form, int ranks, size_t block_bytes);
const char* supports_packets(const crossrail_queue& queue, const crossrail_packets& packets, size_t* buffer_bytes);
const char* supports_messages(const crossrail_queue& queue, int ranks, size_t* buffer_bytes);
// Returns NULL if there are kernels for it.
const char* combines(const crossrail_reduction& reduction);
// average.cpp gives what becomes of each element of so many before it is combined, and of the result, if anything.
kernels::Scaling scaling_of(const crossrail_reduction& reduction, int elements);
// Returns the bytes that travel of a block that is combined where it arrives.
size_t bytes_of_combined_packets(size_t block_bytes, const crossrail_reduction& reduction);
void close_layouts(crossrail_queue& queue);

}  // namespace gpu
