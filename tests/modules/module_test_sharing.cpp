// These tests give memory of every kind to another process, and check ids of memory that comes and goes.
//
// The child opens what the parent describes, sends back the bytes it finds there, writes others, and
// closes it. Both use the module's table only.

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "module_test_mapped.h"

extern char** environ;

namespace module_test {
namespace {

struct Message {
  crossrail_handle handle;
  std::uint64_t offset, bytes;  // They say what to look at; 0 bytes are the end.
};

void put(int socket, const void* from, std::size_t bytes) {
  require(write(socket, from, bytes) == static_cast<ssize_t>(bytes) ? nullptr : "short", "write");
}
void get(int socket, void* to, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes;) {
    const ssize_t came = read(socket, static_cast<char*>(to) + at, bytes - at);
    require(came > 0 ? nullptr : "the other process has gone", "read");
    at += static_cast<std::size_t>(came);
  }
}

void put_chunk(int socket, const crossrail_chunk& chunk) {
  iovec data{const_cast<crossrail_chunk*>(&chunk), sizeof chunk};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &chunk.descriptor, sizeof(int));
  require(sendmsg(socket, &message, 0) == sizeof chunk ? nullptr : "failed", "sendmsg");
}

crossrail_chunk get_chunk(int socket) {
  crossrail_chunk chunk{};
  iovec data{&chunk, sizeof chunk};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  require(recvmsg(socket, &message, MSG_WAITALL) == sizeof chunk ? nullptr : "failed", "recvmsg");
  require(CMSG_FIRSTHDR(&message) == nullptr ? "no descriptor" : nullptr, "recvmsg");
  std::memcpy(&chunk.descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
  return chunk;
}

void serve(Queue& queue, int socket, const Message& message) {
  std::vector<crossrail_chunk> chunks;
  for (std::uint32_t i = 0; i < message.handle.chunk_count; ++i) chunks.push_back(get_chunk(socket));
  void* mapped = nullptr;
  const char* error = module->open_memory(queue, &message.handle, chunks.data(), &mapped);
  for (const crossrail_chunk& chunk : chunks) close(chunk.descriptor);
  const char right = error == nullptr ? 1 : 0;
  if (error != nullptr) std::fprintf(stderr, "child: open_memory: %s\n", error);
  put(socket, &right, 1);
  if (error != nullptr) return;
  Bytes found(message.bytes);
  char* at = static_cast<char*>(mapped) + message.offset;
  Memory mine(far_device(), message.bytes);
  const crossrail_block here{mine.at, at, message.bytes};
  const crossrail_exchange fetch{work_of(CROSSRAIL_WORK_EXCHANGE, queue.flag(), ++queue.value), &here, 1, CROSSRAIL_ENGINE_KERNEL, 0};
  enqueue(queue, fetch, "child: exchange");
  queue.await(queue.value);
  require(copy(found.data(), mine.at, found.size()), "child: copy");
  put(socket, found.data(), found.size());
  mine.fill(pattern(message.bytes, 77));
  for (const crossrail_engine engine : {CROSSRAIL_ENGINE_COPY, CROSSRAIL_ENGINE_KERNEL}) {
    const std::size_t half = message.bytes / 2;
    const std::size_t start = engine == CROSSRAIL_ENGINE_COPY ? 0 : half;
    const crossrail_block block{at + start, mine.at + start, start == 0 ? half : message.bytes - half};
    const crossrail_exchange exchange{work_of(CROSSRAIL_WORK_EXCHANGE, queue.flag(), ++queue.value), &block, 1, engine, 0};
    enqueue(queue, exchange, "child: exchange");
    queue.await(queue.value);
  }
  require(module->free(mapped), "child: free");
  put(socket, &right, 1);
}

struct Offered {
  const char* name;
  char* at;
  std::size_t bytes;
};

void share(int socket, const Offered& offered) {
  const crossrail_memory memory = facts_of(offered.at, offered.bytes);
  if (!expect(memory.shareable == 1, "%s is not shareable", offered.name)) return;
  const char* base = static_cast<char*>(memory.base);
  const bool inside = base <= offered.at && offered.at + offered.bytes <= base + memory.bytes;
  if (!expect(inside, "%s: base and bytes do not hold the range", offered.name)) return;
  const Bytes image = pattern(offered.bytes, 55);
  require(copy(offered.at, image.data(), image.size()), "copy");
  Message message{};
  std::vector<crossrail_chunk> chunks(CROSSRAIL_MOST_CHUNKS);
  require(module->export_memory(&memory, &message.handle, chunks.data()), offered.name);
  message.offset = static_cast<std::uint64_t>(offered.at - base);
  message.bytes = offered.bytes;
  put(socket, &message, sizeof message);
  for (std::uint32_t i = 0; i < message.handle.chunk_count; ++i) {
    put_chunk(socket, chunks[i]);
    close(chunks[i].descriptor);
  }
  char opened = 0;
  get(socket, &opened, 1);
  if (!expect(opened == 1, "%s: the child cannot open it", offered.name)) return;
  Bytes found(offered.bytes);
  get(socket, found.data(), found.size());
  expect(found == image, "%s: the child sees other bytes", offered.name);
  get(socket, &opened, 1);
  require(copy(found.data(), offered.at, found.size()), "copy");
  expect(found == pattern(offered.bytes, 77), "%s: what the child wrote is not here", offered.name);
}

pid_t start_child(const char* program, const char* library, int socket) {
  const std::string number = std::to_string(socket);
  const char* arguments[] = {program, library, "--child", number.c_str(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, program, nullptr, nullptr, const_cast<char**>(arguments), environ);
  require(failed == 0 ? nullptr : std::strerror(failed), "posix_spawn");
  return child;
}

void share_all(int socket) {
  Memory plain(0, 3 << 20);
  Mapped mapped(3, true);
  const crossrail_memory near = facts_of(plain.at, 1);
  void* own = nullptr;
  require(module->alloc(&near, 100000, &own), "alloc");
  for (int again = 0; again < 2; ++again) {
    share(socket, {"cudaMalloc", plain.at, plain.bytes});
    share(socket, {"a part of cudaMalloc", plain.at + 70000, 12345});
    share(socket, {"alloc", static_cast<char*>(own), 100000});
    share(socket, {"three chunks", mapped.at, mapped.bytes});
    share(socket, {"a part of two chunks", mapped.at + Mapped::kChunk + 1000, Mapped::kChunk});
    share(socket, {"a part of one chunk", mapped.at + 2 * Mapped::kChunk + 5, 99});
  }
  require(module->free(own), "free");
}

void lies_at_home(const Pooled& pooled) {
  const int home = facts_of(pooled.at, 1).device;
  require(cudaSetDevice(devices - 1), "cudaSetDevice");
  expect(facts_of(pooled.at, 1).device == home, "a pool's memory lies on device %d, whichever is current", home);
  require(cudaSetDevice(0), "cudaSetDevice");
}

void refuse_others() {
  Mapped mapped(2, false);
  Pooled pooled(1 << 20, false), exportable(1 << 20, true);
  void *managed = nullptr, *pinned = nullptr;
  require(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal), "managed");
  require(cudaMallocHost(&pinned, 4096), "pinned");
  int host = 0;
  expect(facts_of(mapped.at, 4096).shareable == 0 && facts_of(mapped.at, 1).kind == CROSSRAIL_MEMORY_DEVICE, "chunks not to be shared");
  expect(facts_of(pooled.at, 4096).shareable == 0 && facts_of(pooled.at, 1).kind == CROSSRAIL_MEMORY_DEVICE, "a pool not to be shared");
  lies_at_home(pooled);
  expect(facts_of(exportable.at, 4096).shareable == 0, "a pool, since its memory would have to be freed here first");
  expect(facts_of(managed, 4096).shareable == 0 && kind_of(managed) == CROSSRAIL_MEMORY_MANAGED, "managed memory");
  expect(facts_of(pinned, 4096).shareable == 0 && kind_of(pinned) == CROSSRAIL_MEMORY_HOST, "pinned memory");
  expect(facts_of(&host, 4).shareable == 0 && kind_of(&host) == CROSSRAIL_MEMORY_HOST, "host memory");
  require(cudaFree(managed), "free");
  require(cudaFreeHost(pinned), "free");
}

}  // namespace

int run_child(int socket) {
  Queue queue(far_device());
  for (;;) {
    Message message{};
    get(socket, &message, sizeof message);
    if (message.bytes == 0) return wrong == 0 ? 0 : 1;
    serve(queue, socket, message);
  }
}

void test_sharing(const char* program, const char* library) {
  refuse_others();
  int sockets[2];
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0 ? nullptr : "failed", "socketpair");
  const pid_t child = start_child(program, library, sockets[1]);
  close(sockets[1]);
  share_all(sockets[0]);
  const Message end{};
  put(sockets[0], &end, sizeof end);
  int status = 0;
  waitpid(child, &status, 0);
  expect(status == 0, "the child ends with status %d", status);
  close(sockets[0]);
}

void test_ids() {
  void* first = nullptr;
  std::uint64_t id = 0;
  int same = 0;
  for (int again = 0; again < 10; ++again) {
    void* made = nullptr;
    require(cudaMalloc(&made, 5 << 20), "cudaMalloc");
    const crossrail_memory memory = facts_of(static_cast<char*>(made) + 100, 1000);
    expect(facts_of(made, 5 << 20).allocation == memory.allocation, "two ids of one allocation");
    if (made == first) ++same;
    expect(memory.allocation != id, "cudaMalloc: the id of memory freed before");
    id = memory.allocation;
    first = made;
    require(cudaFree(made), "cudaFree");
  }
  std::printf("cudaMalloc gave the same address %d times of 9\n", same);
  Mapped mapped(3, true);
  const std::uint64_t all = facts_of(mapped.at, mapped.bytes).allocation;
  expect(facts_of(mapped.at, mapped.bytes).allocation == all, "chunks: another id for the same memory");
  for (const int chunk : {0, 1, 2}) {
    mapped.unmap(chunk);
    mapped.map(chunk);
    const std::uint64_t now = facts_of(mapped.at, mapped.bytes).allocation;
    expect(now != id && now != all, "chunks: the id of memory unmapped before");
    id = now;
  }
  Pooled pooled(1 << 20, true);
  for (int again = 0; again < 5; ++again) {
    const char* before = pooled.at;
    id = facts_of(pooled.at, 1000).allocation;
    pooled.release();
    pooled.allocate(1 << 20);
    expect(facts_of(pooled.at, 1000).allocation != id, "a pool: the id of memory freed before (%s address)",
           pooled.at == before ? "same" : "another");
  }
}

}  // namespace module_test
