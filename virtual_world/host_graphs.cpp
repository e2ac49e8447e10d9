#include "virtual_world/host_graphs.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "virtual_world/host_queue.h"

namespace crossrail::virtual_world {
namespace {

using Step = std::function<void()>;

// A launch waits for what its events stand for now, not for what it records itself.
std::map<void*, Step> steps_of(const Graph& graph) {
  std::map<void*, Step> steps;
  for (const auto& node : graph.nodes) {
    const std::shared_ptr<Event>& event = node->waits != nullptr ? node->waits : node->records;
    if (event != nullptr && event->gone) {
      std::fputs("host device: a graph is launched whose event has been destroyed\n", stderr);
      std::abort();
    }
    if (node->work) steps[node.get()] = node->work;
    if (node->waits == nullptr || node->waits->gate() == nullptr) continue;
    steps[node.get()] = [gate = node->waits->gate()] { await(*gate); };
  }
  for (const auto& node : graph.nodes) {
    if (node->records != nullptr) steps[node.get()] = [gate = node->records->renew()] { open(*gate); };
  }
  return steps;
}

// Any node that comes after none that is left may be the next one.
Nodes some_order(const Graph& graph) {
  static thread_local std::mt19937 draw(static_cast<unsigned>(getpid()));
  std::set<void*> done;
  Nodes order;
  while (order.size() < graph.nodes.size()) {
    Nodes ready;
    for (const auto& node : graph.nodes) {
      const auto is_done = [&](void* before) { return done.count(before) != 0; };
      if (!is_done(node.get()) && std::all_of(node->before.begin(), node->before.end(), is_done)) ready.push_back(node.get());
    }
    order.push_back(ready.at(draw() % ready.size()));
    done.insert(order.back());
  }
  return order;
}

}  // namespace

std::mutex& graphs_mutex() {
  static std::mutex& one = *new std::mutex;
  return one;
}

Node& Graph::add(Nodes before) {
  nodes.push_back(std::make_unique<Node>());
  nodes.back()->before = std::move(before);
  return *nodes.back();
}

void open(Gate& gate) {
  const std::lock_guard lock(gate.mutex);
  gate.open = true;
  gate.opened.notify_all();
}

void await(Gate& gate) {
  std::unique_lock lock(gate.mutex);
  gate.opened.wait(lock, [&] { return gate.open; });
}

std::shared_ptr<Gate> Event::gate() {
  const std::lock_guard lock(mutex_);
  return last_;
}

std::shared_ptr<Gate> Event::renew() {
  const std::lock_guard lock(mutex_);
  capture = 0;
  return last_ = std::make_shared<Gate>();
}

}  // namespace crossrail::virtual_world

using namespace crossrail::virtual_world;

extern "C" {

int cuGraphAddEventRecordNode(void** node, void* graph, void* const* before, std::size_t count, void* event) {
  const std::lock_guard lock(graphs_mutex());
  Node& added = (*static_cast<GraphHandle*>(graph))->add(Nodes(before, before + count));
  added.records = *static_cast<std::shared_ptr<Event>*>(event);
  *node = &added;
  return 0;
}

int cuGraphAddDependencies(void*, void* const* from, void* const* to, std::size_t count) {
  const std::lock_guard lock(graphs_mutex());
  for (std::size_t at = 0; at < count; ++at) {
    Nodes& before = static_cast<Node*>(to[at])->before;
    if (std::find(before.begin(), before.end(), from[at]) != before.end()) return kInvalid;
    before.push_back(from[at]);
  }
  return 0;
}

int cuGraphRemoveDependencies(void*, void* const* from, void* const* to, std::size_t count) {
  const std::lock_guard lock(graphs_mutex());
  for (std::size_t at = 0; at < count; ++at) {
    if (std::erase(static_cast<Node*>(to[at])->before, from[at]) == 0) return kInvalid;
  }
  return 0;
}

int cuGraphNodeGetDependencies(void* node, void** before, std::size_t* count) {
  const std::lock_guard lock(graphs_mutex());
  const Nodes& known = static_cast<Node*>(node)->before;
  for (std::size_t at = 0; at < *count; ++at) before[at] = at < known.size() ? known[at] : nullptr;
  *count = std::min(*count, known.size());
  return 0;
}

int cuUserObjectCreate(void** object, void* data, void (*gone)(void*), unsigned, unsigned) {
  *object = new std::shared_ptr<UserObject>(std::make_shared<UserObject>(data, gone));
  return 0;
}
int cuUserObjectRelease(void* object, unsigned) {
  delete static_cast<std::shared_ptr<UserObject>*>(object);
  return 0;
}
int cuGraphRetainUserObject(void* graph, void* object, unsigned, unsigned flags) {
  constexpr unsigned kMove = 1;
  (*static_cast<GraphHandle*>(graph))->objects.push_back(*static_cast<std::shared_ptr<UserObject>*>(object));
  return flags == kMove ? cuUserObjectRelease(object, 1) : 0;
}

int cuGraphInstantiateWithFlags(void** made, void* graph, unsigned long long) {
  *made = new GraphHandle(*static_cast<GraphHandle*>(graph));
  return 0;
}

int cuGraphLaunch(void* made, void* stream) {
  const GraphHandle graph = *static_cast<GraphHandle*>(made);
  post(stream, [graph, steps = steps_of(*graph), order = some_order(*graph)] {
    for (void* const node : order) {
      const auto step = steps.find(node);
      if (step != steps.end()) step->second();
    }
  });
  return 0;
}

int cuGraphDestroy(void* graph) {
  delete static_cast<GraphHandle*>(graph);
  return 0;
}
int cuGraphExecDestroy(void* made) { return cuGraphDestroy(made); }
}
