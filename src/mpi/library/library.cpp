#include "mpi/library/library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace crossrail::mpi {
namespace {

// What an MPI library defines, and nothing in front of it: not tools, and not crossrail.
constexpr char kOwnFunction[] = "PMPI_Comm_rank";

// The object that holds `address`, as the loader names it.
const char* object_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

int note_object(dl_phdr_info* object, std::size_t, void* names) {
  if (object->dlpi_name == nullptr || std::strstr(object->dlpi_name, "mpi") == nullptr) return 0;
  static_cast<std::vector<std::string>*>(names)->emplace_back(object->dlpi_name);
  return 0;
}

// Its handle, if the object itself (not one of its dependencies) defines kOwnFunction.
void* handle_of_mpi(const std::string& object) {
  void* handle = dlopen(object.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  const void* entry = dlsym(handle, kOwnFunction);
  if (entry != nullptr && object == object_of(entry)) return handle;
  dlclose(handle);
  return nullptr;
}

// Python loads the MPI library privately (RTLD_LOCAL), where RTLD_NEXT does not see it: then look
// through all objects. They are opened afterwards: dlopen takes the loader's locks in another order than the walk.
void* find_handle() {
  const void* entry = dlsym(RTLD_NEXT, kOwnFunction);
  if (entry != nullptr) {
    void* handle = dlopen(object_of(entry), RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) return handle;
  }
  std::vector<std::string> objects;
  dl_iterate_phdr(note_object, &objects);
  for (const std::string& object : objects) {
    if (void* const handle = handle_of_mpi(object); handle != nullptr) return handle;
  }
  return nullptr;
}

void read_version(Library& library) {
  using Get = int (*)(char*, int*);
  const auto get = reinterpret_cast<Get>(dlsym(library.handle, "MPI_Get_library_version"));
  if (get == nullptr) return;
  static char text[16384];
  int length = 0;
  if (get(text, &length) != 0) return;
  text[std::strcspn(text, ",\n")] = '\0';
  for (char* at = text; *at != '\0'; ++at) {
    if (*at == '\t' || *at == '"') *at = ' ';
  }
  std::snprintf(library.version, sizeof library.version, "%.*s", static_cast<int>(sizeof library.version) - 1, text);
}

const char* flavour_of(const Library& library) {
  if (std::strstr(library.version, "Open MPI") != nullptr) {
    return dlsym(library.handle, "ompi_mpi_comm_world") != nullptr ? "openmpi" : "abi";
  }
  const char* object = object_of(dlsym(library.handle, kOwnFunction));
  return std::strstr(object, "mpi_abi") != nullptr ? "abi" : "mpich";
}

// Launchers tell the rank in the environment; only rank 0 speaks.
bool first_of_the_job() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const char* rank = std::getenv(name);
    if (rank != nullptr) return std::strcmp(rank, "0") == 0;
  }
  return true;
}

Library find() {
  Library found;
  found.handle = find_handle();
  if (found.handle == nullptr) return found;
  read_version(found);
  found.flavour = flavour_of(found);
  found.ours = std::string_view(found.flavour) == CROSSRAIL_FLAVOUR;
  if (!found.ours && first_of_the_job()) {
    log_line(LogLevel::error,
             "this library is for the %s flavour of MPI, the program runs %s (%s): its calls go to MPI untouched; "
             "preload what 'crossrail lib --mpi %s' prints",
             CROSSRAIL_FLAVOUR, found.flavour, found.version, found.flavour);
  }
  return found;
}

}  // namespace

const Library& library() {
  // Looked for again until found: the first call may come before MPI is loaded.
  static std::mutex mutex;
  static Library known;
  static bool done = false;
  if (__atomic_load_n(&done, __ATOMIC_ACQUIRE)) return known;
  const std::lock_guard lock(mutex);
  if (!done) {
    known = find();
    if (known.handle != nullptr) __atomic_store_n(&done, true, __ATOMIC_RELEASE);
  }
  return known;
}

void* library_symbol(const char* name) {
  return library().handle == nullptr ? nullptr : dlsym(library().handle, name);
}

void* library_data(const char* name) {
  void* address = dlsym(RTLD_DEFAULT, name);
  return address != nullptr ? address : library_symbol(name);
}

void* next_symbol(const char* name) {
  void* next = dlsym(RTLD_NEXT, name);
  if (next == nullptr) next = library_symbol(name);
  return next;
}

}  // namespace crossrail::mpi
