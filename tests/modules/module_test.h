// The parts of module_test share this: the module under test, devices, memory and queues.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "crossrail/device_module.h"

namespace module_test {

inline const crossrail_device_module* module = nullptr;
inline int devices = 0;
inline int wrong = 0;

void require(cudaError_t result, const char* what);   // It ends the program.
void require(const char* error, const char* what);
[[gnu::format(printf, 2, 3)]] bool expect(bool right, const char* format, ...);  // It counts in `wrong`.

using Bytes = std::vector<unsigned char>;
constexpr unsigned char kPoison = 0xa5;
Bytes pattern(std::size_t bytes, unsigned seed);

// Returns the device that exchanges go to. It is another one where there is one.
inline int far_device() { return devices > 1 ? 1 : 0; }

// This is memory by cudaMalloc.
struct Memory {
  Memory(int device, std::size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  void fill(const Bytes& from);
  void fill(unsigned char value);
  Bytes read() const;
  char* at = nullptr;
  std::size_t bytes;
};

crossrail_memory facts_of(const void* pointer, std::size_t bytes);
crossrail_memory_kind kind_of(const void* pointer);
const char* copy(void* to, const void* from, std::size_t bytes);

// Returns what work of a kind is asked with.
crossrail_work work_of(crossrail_work_kind kind, std::uint64_t* flag = nullptr, std::uint64_t value = 0, void* stream = nullptr);
// Asks for it, and ends the program where it is refused.
template <class Asked>
void enqueue(crossrail_queue* queue, const Asked& asked, const char* what) {
  require(module->enqueue(queue, &asked.work), what);
}
// Returns the bytes of a receive buffer, for packets of this form.
std::size_t packets_bytes(crossrail_queue* queue, crossrail_packet_form form, int ranks, std::size_t block_bytes);

// This is a queue, and a page of flags.
struct Queue {
  explicit Queue(int device, bool timed = false);
  ~Queue();
  Queue(const Queue&) = delete;
  operator crossrail_queue*() const { return queue; }
  bool await(std::uint64_t value, int word = 0);  // Returns false after 10 s.
  std::uint64_t* flag(int word = 0) { return flags + 8 * word; }
  crossrail_queue* queue = nullptr;
  std::uint64_t* flags = nullptr;
  std::uint64_t value = 0;
  Memory near;
};

std::vector<crossrail_packet_form> forms();  // Returns the forms of packets that arrive whole on these devices.

double now_us();
double median(std::vector<double> times);

void test_exchange();
void test_streams();
void test_persistent();
void test_sharing(const char* program, const char* library);
void test_ids();
void test_receive_buffers();
void test_messages();
void test_movement();
void test_combining();
void test_device_times();
void measure();
int run_child(int socket);

}  // namespace module_test
