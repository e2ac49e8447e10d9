// Events and graphs of the device that is made of host memory. A graph does its nodes one after the other, in an order that differs from launch to
// launch and from process to process as far as its edges allow that.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace crossrail::virtual_world {

// It is open once its stream has come to where it was recorded.
struct Gate {
  std::mutex mutex;
  std::condition_variable opened;
  bool open = false;
};
void open(Gate& gate);
void await(Gate& gate);

struct Event {
  std::shared_ptr<Gate> gate();   // It is null until the event has been recorded.
  std::shared_ptr<Gate> renew();  // A new one stands for what is recorded now.

  bool gone = false;
  std::uint64_t capture = 0;  // It was last recorded in that capture, after these nodes.
  std::vector<void*> nodes;

 private:
  std::mutex mutex_;
  std::shared_ptr<Gate> last_;
};

// Programs know nodes by their addresses.
using Nodes = std::vector<void*>;
struct Node {
  std::function<void()> work;
  std::shared_ptr<Event> waits, records;
  Nodes before;
};

struct UserObject {
  void* data;
  void (*gone)(void* data);
  UserObject(void* of, void (*then)(void*)) : data(of), gone(then) {}
  ~UserObject() { gone(data); }
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;
};

// It goes when the program has destroyed it and what it has made of it, and no launch is under way.
struct Graph {
  Node& add(Nodes before);

  std::uint64_t number = 0;
  void* origin = nullptr;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::shared_ptr<UserObject>> objects;
};
using GraphHandle = std::shared_ptr<Graph>;

// It guards all captures, and graphs that are not complete.
std::mutex& graphs_mutex();

constexpr int kInvalid = 1, kUnjoined = 904;  // They are errors of the driver's.

// These return false if the stream is not captured, or need not be.
bool record_captured(void* stream, Event& event);
bool wait_captured(void* stream, Event& event);
// It returns an error of the driver's if the stream is not captured.
int wait_at_launches(void* stream, const std::shared_ptr<Event>& event);

}  // namespace crossrail::virtual_world
