// Captures of streams of the device that is made of host memory.

#include <algorithm>
#include <map>
#include <set>

#include "virtual_world/host_graphs.h"
#include "virtual_world/host_queue.h"

namespace crossrail::virtual_world {
namespace {

struct CapturedStream {
  GraphHandle* graph;
  Nodes last;
};
struct All {
  std::map<void*, CapturedStream> captured;
  std::uint64_t captures = 0;
};
All& all() {
  static All& one = *new All;
  return one;
}

// The functions from here on are called with the mutex held.
CapturedStream* captured(void* stream) {
  const auto found = all().captured.find(stream);
  return found == all().captured.end() ? nullptr : &found->second;
}

Node& add_node(CapturedStream& stream) {
  Node& node = (*stream.graph)->add(stream.last);
  stream.last = {&node};
  return node;
}

void add_missing(Nodes& nodes, const Nodes& more) {
  for (void* const one : more) {
    if (std::find(nodes.begin(), nodes.end(), one) == nodes.end()) nodes.push_back(one);
  }
}

bool is_joined(const Nodes& nodes, const Nodes& into) {
  std::set<void*> reached;
  Nodes open = into;
  while (!open.empty()) {
    void* const next = open.back();
    open.pop_back();
    if (!reached.insert(next).second) continue;
    for (void* const before : static_cast<Node*>(next)->before) open.push_back(before);
  }
  return std::all_of(nodes.begin(), nodes.end(), [&](void* node) { return reached.count(node) != 0; });
}

void capture_from_now_on(void* stream) {
  redirect(stream, [stream](std::function<void()> work) {
    const std::lock_guard lock(graphs_mutex());
    add_node(*captured(stream)).work = std::move(work);
  });
}

}  // namespace

bool record_captured(void* stream, Event& event) {
  const std::lock_guard lock(graphs_mutex());
  const CapturedStream* const from = captured(stream);
  if (from == nullptr) return false;
  event.capture = (*from->graph)->number;
  event.nodes = from->last;
  return true;
}

// A stream that waits for a part of a capture joins it.
bool wait_captured(void* stream, Event& event) {
  std::unique_lock lock(graphs_mutex());
  const auto of_event = [&](const auto& one) { return (*one.second.graph)->number == event.capture; };
  const auto other = std::find_if(all().captured.begin(), all().captured.end(), of_event);
  if (event.capture == 0 || other == all().captured.end()) return false;
  const bool joins = captured(stream) == nullptr;
  CapturedStream& mine = all().captured.try_emplace(stream, CapturedStream{other->second.graph, {}}).first->second;
  add_missing(mine.last, event.nodes);
  lock.unlock();
  if (joins) capture_from_now_on(stream);
  return true;
}

int wait_at_launches(void* stream, const std::shared_ptr<Event>& event) {
  const std::lock_guard lock(graphs_mutex());
  CapturedStream* const mine = captured(stream);
  if (mine == nullptr) return kInvalid;
  add_node(*mine).waits = event;
  return 0;
}

}  // namespace crossrail::virtual_world

using namespace crossrail::virtual_world;

extern "C" {

int cuThreadExchangeStreamCaptureMode(int*) { return 0; }

int cuStreamBeginCapture_v2(void* stream, int) {
  {
    const std::lock_guard lock(graphs_mutex());
    if (stream == nullptr || captured(stream) != nullptr) return kInvalid;
    auto* const graph = new GraphHandle(std::make_shared<Graph>());
    (*graph)->number = ++all().captures;
    (*graph)->origin = stream;
    all().captured[stream] = {graph, {}};
  }
  capture_from_now_on(stream);
  return 0;
}

int cuStreamEndCapture(void* stream, void** graph) {
  std::vector<void*> streams;
  bool joined = true;
  {
    const std::lock_guard lock(graphs_mutex());
    const CapturedStream* const origin = captured(stream);
    if (origin == nullptr || (*origin->graph)->origin != stream) return kInvalid;
    *graph = origin->graph;
    for (const auto& [other, part] : all().captured) {
      if (part.graph != origin->graph) continue;
      streams.push_back(other);
      joined = joined && is_joined(part.last, origin->last);
    }
  }
  for (void* const other : streams) redirect(other, {});
  const std::lock_guard lock(graphs_mutex());
  for (void* const other : streams) all().captured.erase(other);
  return joined ? 0 : kUnjoined;
}

int cuStreamIsCapturing(void* stream, int* status) {
  const std::lock_guard lock(graphs_mutex());
  *status = captured(stream) == nullptr ? 0 : 1;
  return 0;
}

int cuStreamGetCaptureInfo_v2(void* stream, int* status, std::uint64_t* number, void** graph, void* const** nodes, std::size_t* count) {
  const std::lock_guard lock(graphs_mutex());
  const CapturedStream* const mine = captured(stream);
  *status = mine == nullptr ? 0 : 1;
  if (mine == nullptr) return 0;
  if (number != nullptr) *number = (*mine->graph)->number;
  if (graph != nullptr) *graph = mine->graph;
  if (nodes != nullptr) *nodes = mine->last.data();
  if (count != nullptr) *count = mine->last.size();
  return 0;
}

int cuStreamUpdateCaptureDependencies(void* stream, void* const* nodes, std::size_t count, unsigned flags) {
  const std::lock_guard lock(graphs_mutex());
  CapturedStream* const mine = captured(stream);
  if (mine == nullptr || flags != 0) return kInvalid;
  add_missing(mine->last, Nodes(nodes, nodes + count));
  return 0;
}
}

extern "C" {
int cuGraphInstantiateWithFlags(void** made, void* graph, unsigned long long flags);
int cuGraphLaunch(void* made, void* stream);
int cuGraphDestroy(void* graph);
int cuGraphExecDestroy(void* made);
}

#define HOST_DEVICE_VISIBLE extern "C" __attribute__((visibility("default")))

HOST_DEVICE_VISIBLE void host_device_begin_capture(void* stream) { (void)cuStreamBeginCapture_v2(stream, 0); }

HOST_DEVICE_VISIBLE void* host_device_end_capture(void* stream) {
  void *graph = nullptr, *made = nullptr;
  const int result = cuStreamEndCapture(stream, &graph);
  if (result == 0) (void)cuGraphInstantiateWithFlags(&made, graph, 0);
  if (graph != nullptr) (void)cuGraphDestroy(graph);
  return made;
}

HOST_DEVICE_VISIBLE void host_device_follow(void* stream, void* other) {
  Event event;
  if (record_captured(other, event)) (void)wait_captured(stream, event);
}
HOST_DEVICE_VISIBLE void host_device_launch(void* graph, void* stream) { (void)cuGraphLaunch(graph, stream); }
HOST_DEVICE_VISIBLE void host_device_close_graph(void* graph) { (void)cuGraphExecDestroy(graph); }
