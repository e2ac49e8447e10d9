#include "nccl/real.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/settings.h"

namespace crossrail::nccl {
namespace {

constexpr const char* kFile = "libnccl.so.2";
// A shim (nccl/shim.h) has this name, and NCCL does not.
constexpr const char* kOfAShim = "crossrail_nccl_shim";

std::atomic<const void*> first_caller{nullptr};

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

void add_folders(const std::string& list, const std::string& origin, std::vector<std::string>& files) {
  std::stringstream folders(list);
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    for (const char* const word : {"$ORIGIN", "${ORIGIN}"}) {
      if (const auto at = folder.find(word); at != std::string::npos) folder.replace(at, std::strlen(word), origin);
    }
    if (!folder.empty()) files.push_back(folder + "/" + kFile);
  }
}

std::string path_of(const link_map& object) {
  if (object.l_name != nullptr && object.l_name[0] != '\0') return object.l_name;
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  return length > 0 ? std::string(program, static_cast<std::size_t>(length)) : "";
}

// The object that contains `caller` may say where its libraries are (DT_RPATH, DT_RUNPATH).
void add_folders_of(const void* caller, std::vector<std::string>& files) {
  Dl_info info{};
  link_map* object = nullptr;
  if (caller == nullptr || dladdr1(caller, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0 || object == nullptr) return;
  const char* texts = nullptr;
  for (const ElfW(Dyn)* entry = object->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) texts = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  for (const ElfW(Dyn)* entry = object->l_ld; texts != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_RPATH || entry->d_tag == DT_RUNPATH) add_folders(texts + entry->d_un.d_val, folder_of(path_of(*object)), files);
  }
}

int note_loaded(dl_phdr_info* object, std::size_t, void* files) {
  const char* const slash = object->dlpi_name == nullptr ? nullptr : std::strrchr(object->dlpi_name, '/');
  if (slash != nullptr && std::strncmp(slash + 1, "libnccl.so", std::strlen("libnccl.so")) == 0) {
    static_cast<std::vector<std::string>*>(files)->emplace_back(object->dlpi_name);
  }
  return 0;
}

// A file that the user names is tried alone.
std::vector<std::string> places() {
  const std::string& named = process_settings().nccl;
  if (named.find('/') != std::string::npos) return {named};
  std::vector<std::string> files;
  dl_iterate_phdr(note_loaded, &files);
  add_folders_of(first_caller.load(), files);
  const char* const listed = std::getenv("LD_LIBRARY_PATH");
  if (listed != nullptr) add_folders(listed, "", files);
  add_folders("/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/local/cuda/lib64:/usr/local/lib:/usr/lib64:/usr/lib:/lib64:/lib", "", files);
  return files;
}

void* load() {
  for (const std::string& file : places()) {
    if (access(file.c_str(), R_OK) != 0) continue;
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr && dlsym(library, kOfAShim) == nullptr) {
      log_line(LogLevel::plan, "NCCL is %s", file.c_str());
      return library;
    }
    if (library == nullptr) log_line(LogLevel::error, "cannot load NCCL: %s", dlerror());
    else (void)dlclose(library);
  }
  log_line(LogLevel::error, "there is no %s in any place that this process would look for it: set CROSSRAIL_NCCL to its path", kFile);
  return nullptr;
}

void* library() {
  static void* const loaded = load();
  return loaded;
}

Real find_functions() {
  Real functions;
#define REAL(result, name, ...) functions.name = reinterpret_cast<decltype(functions.name)>(real_function(#name));
#include "nccl/real.def"
#undef REAL
  return functions;
}

}  // namespace

void asked_by(const void* caller) {
  const void* nobody = nullptr;
  (void)first_caller.compare_exchange_strong(nobody, caller);
}

void* real_function(const char* name) { return library() == nullptr ? nullptr : dlsym(library(), name); }

const Real& real() {
  static const Real functions = find_functions();
  return functions;
}

}  // namespace crossrail::nccl
