// This file starts kernels as cheaply as the driver allows. A graph of one kernel starts sooner than a kernel, and a graph that was told
// the same before needs no telling. All graphs of a queue are made when it is opened, because a driver that needs memory for one waits for
// all kernels of the device, the program's too.

#include <cstring>

#include "later.h"
#include "queue.h"

namespace gpu {
namespace {

constexpr size_t kGraphs = 32;  // Programs go through a few dozens of buffers again and again.

bool tells_same(const KernelGraph& graph, const Work& work) {
  return graph.kernel == work.kernel && graph.grid == work.grid && graph.threads == work.threads &&
         graph.task.size() == work.task_bytes && std::memcmp(graph.task.data(), work.task, work.task_bytes) == 0;
}

void remember(KernelGraph& graph, const Work& work) {
  graph.kernel = work.kernel;
  graph.grid = work.grid;
  graph.threads = work.threads;
  const char* task = static_cast<const char*>(work.task);
  graph.task.assign(task, task + work.task_bytes);
}

bool waits_for_ranks(Kernel kernel) {
  switch (kernel) {
    case Kernel::packets_few: case Kernel::packets_many: case Kernel::combine_packets: case Kernel::lines: case Kernel::combine_lines: case Kernel::counted_between:
    case Kernel::exchange_chunks: case Kernel::combine_chunks:
    case Kernel::barrier_few: case Kernel::barrier_many: case Kernel::meet_many:
    case Kernel::exchange_between: case Kernel::combine_between: case Kernel::messages: return true;
    default: return false;
  }
}

Launch launch_of(const crossrail_queue& queue, const Work& work) {
  return {kernel_of(*queue.place, work.kernel), work.grid, work.threads, work.task, work.task_bytes};
}

void close_graph(KernelGraph& graph) {
  if (graph.executable != nullptr) (void)driver().destroy_executable(graph.executable);
  if (graph.graph != nullptr) (void)driver().destroy_graph(graph.graph);
}

Result open_graph(crossrail_queue& queue, const Work& work, KernelGraph& graph) {
  const Uncaptured uncaptured;
  Result result = driver().make_graph(&graph.graph, 0);
  if (result == kSuccess) result = add_node(&graph.node, graph.graph, launch_of(queue, work));
  if (result == kSuccess) result = driver().make_executable(&graph.executable, graph.graph, 0);
  if (result != kSuccess) close_graph(graph);
  return result;
}

// Returns a graph that tells `work`, either kept or told anew. It is null where the driver makes no graphs.
KernelGraph* graph_for(crossrail_queue& queue, const Work& work, bool keep) {
  if (queue.graphs.empty()) return nullptr;
  if (keep) {
    for (KernelGraph& graph : queue.graphs) {
      if (tells_same(graph, work)) return &graph;
    }
  }
  KernelGraph& oldest = queue.graphs[queue.oldest_graph];
  queue.oldest_graph = (queue.oldest_graph + 1) % queue.graphs.size();
  if (set_node(oldest.executable, oldest.node, launch_of(queue, work)) != kSuccess) return nullptr;
  if (keep) remember(oldest, work);
  return &oldest;
}

const char* launch_own(crossrail_queue& queue, const Work& work) {
  kernels::Signal* signal = work.signal;
  const bool told = signal != nullptr && signal->flag != nullptr;
  const uint64_t value = told ? signal->value : 0;
  if (told) {
    signal->last = &queue.counters->last;
    if (!work.own_counters) signal->arrivals = &queue.counters->arrivals;
    signal->is_step = queue.way == Way::graph && queue.last_known ? 1 : 0;
    if (signal->is_step != 0) signal->value = value - queue.last;
    queue.last_known = false;
  }
  const KernelGraph* graph = queue.way == Way::kernel ? nullptr : graph_for(queue, work, queue.way == Way::graph);
  if (graph == nullptr) queue.way = Way::kernel;
  if (graph == nullptr) {
    GPU_TRY(launch(launch_of(queue, work), queue.stream));
  } else {
    GPU_TRY(driver().launch_graph(graph->executable, queue.stream));
  }
  if (told) {
    queue.last = value;
    queue.last_known = true;
  }
  return nullptr;
}

}  // namespace

const char* announce(crossrail_queue& queue, const kernels::Signal& signal, Stream stream) {
  kernels::Signal told{};
  told.flag = signal.flag;
  told.value = signal.value;
  return text(launch({kernel_of(*queue.place, Kernel::announce), 1, 1, &told, sizeof told}, stream));
}

const char* launch_work(crossrail_queue& queue, const Work& work, void* stream) {
  if (queue.place->kernels_wrong != nullptr) return queue.place->kernels_wrong;
  const LaunchOfWaiting now(waits_for_ranks(work.kernel));
  if (stream == nullptr) {
    if (const char* wrong = follow_persistent(queue); wrong != nullptr) return wrong;
    return launch_own(queue, work);
  }
  kernels::Signal later{};
  if (work.signal != nullptr && work.grid > 1 && !work.own_counters) std::swap(later, *work.signal);
  GPU_TRY(launch(launch_of(queue, work), program_stream(stream)));
  return later.flag == nullptr ? nullptr : announce(queue, later, program_stream(stream));
}

// The graphs are opened with the longest task there is, which nobody launches.
void open_graphs(crossrail_queue& queue) {
  if (queue.place->kernels_wrong != nullptr || queue.way == Way::kernel) return;
  kernels::ManyBlocks none{};
  const Work longest{Kernel::exchange_many, 1, 32, &none, sizeof none, nullptr, false};
  queue.graphs.reserve(kGraphs);
  while (queue.graphs.size() < (queue.way == Way::graph ? kGraphs : 1)) {
    KernelGraph graph;
    if (open_graph(queue, longest, graph) != kSuccess) return;
    queue.graphs.push_back(std::move(graph));
  }
}

void close_graphs(crossrail_queue& queue) {
  for (KernelGraph& graph : queue.graphs) close_graph(graph);
  queue.graphs.clear();
}

}  // namespace gpu
