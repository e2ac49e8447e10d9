// The peers find NCCL here: it is the library that CROSSRAIL_NCCL names, or the dynamic loader's libnccl.so.2. Multicast is off, as it must be on
// machines that share their GPUs' switches with others.
#pragma once

#include <dlfcn.h>
#include <nccl.h>

#include <cstdlib>
#include <string>
#include <type_traits>

namespace nccl_library {

struct Library {
  decltype(&ncclGetVersion) version;
  decltype(&ncclGetErrorString) text;
  decltype(&ncclGetUniqueId) make_id;
  decltype(&ncclCommInitRankConfig) open;
  decltype(&ncclGroupStart) begin;
  decltype(&ncclGroupEnd) end;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) receive;
  decltype(&ncclAlltoAll) alltoall;
  decltype(&ncclAllReduce) allreduce;
  decltype(&ncclMemAlloc) allocate;
  decltype(&ncclMemFree) release;
  decltype(&ncclCommWindowRegister) add_window;
  decltype(&ncclCommWindowDeregister) remove_window;
  std::string problem;  // If it is empty, the library is complete.
};

inline Library load() {
  Library nccl{};
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  const char* named = std::getenv("CROSSRAIL_NCCL");
  void* library = dlopen(named != nullptr && *named != '\0' ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    nccl.problem = std::string(dlerror()) + " (CROSSRAIL_NCCL can name it)";
    return nccl;
  }
  const auto find = [&](auto& entry, const char* name) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(library, name));
    if (entry == nullptr) nccl.problem += std::string(nccl.problem.empty() ? "it lacks " : ", ") + name;
  };
  find(nccl.version, "ncclGetVersion");
  find(nccl.text, "ncclGetErrorString");
  find(nccl.make_id, "ncclGetUniqueId");
  find(nccl.open, "ncclCommInitRankConfig");
  find(nccl.begin, "ncclGroupStart");
  find(nccl.end, "ncclGroupEnd");
  find(nccl.send, "ncclSend");
  find(nccl.receive, "ncclRecv");
  find(nccl.allreduce, "ncclAllReduce");
  if (!nccl.problem.empty()) return nccl;
  // Older libraries do not have it, so those who need it check whether it is there.
  find(nccl.alltoall, "ncclAlltoAll");
  find(nccl.allocate, "ncclMemAlloc");
  find(nccl.release, "ncclMemFree");
  find(nccl.add_window, "ncclCommWindowRegister");
  find(nccl.remove_window, "ncclCommWindowDeregister");
  nccl.problem.clear();
  return nccl;
}

inline const Library& nccl() {
  static const Library loaded = load();
  return loaded;
}

}  // namespace nccl_library
