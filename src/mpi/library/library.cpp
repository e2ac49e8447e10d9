#include "mpi/library/library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
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

// An MPI library defines this function, while tools and crossrail do not.
constexpr char kOwnFunction[] = "PMPI_Comm_rank";

// Returns the name by which the loader knows the object that holds `address`.
const char* object_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

int note_object(dl_phdr_info* object, std::size_t, void* names) {
  if (object->dlpi_name == nullptr || std::strstr(object->dlpi_name, "mpi") == nullptr) return 0;
  static_cast<std::vector<std::string>*>(names)->emplace_back(object->dlpi_name);
  return 0;
}

// Returns the object's handle if the object itself, and not one of its dependencies, defines kOwnFunction.
void* handle_of_mpi(const std::string& object) {
  void* handle = dlopen(object.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  const void* entry = dlsym(handle, kOwnFunction);
  if (entry != nullptr && object == object_of(entry)) return handle;
  dlclose(handle);
  return nullptr;
}

// Python loads the MPI library privately (RTLD_LOCAL), where RTLD_NEXT does not see it; then all objects are searched. They are opened only
// after the walk, because dlopen takes the loader's locks in another order.
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

// Returns whether this is rank 0, which launchers say in the environment. Only rank 0 logs.
bool first_of_the_job() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const char* rank = std::getenv(name);
    if (rank != nullptr) return std::strcmp(rank, "0") == 0;
  }
  return true;
}

// Returns how many ranks the launcher says it has started, or 0 if it does not say. Slurm's number of tasks is not used, since it holds for
// a whole batch job.
int ranks_started() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const size = std::getenv(name);
    if (size != nullptr) return std::atoi(size);
  }
  return 0;
}

// Returns the address of a variable of the library. The program may have its own copy, which is then the one in use.
const void* data_of(const Library& of, const char* name) {
  const void* const address = dlsym(RTLD_DEFAULT, name);
  return address != nullptr ? address : dlsym(of.handle, name);
}

// Returns the size of MPI_COMM_WORLD for any flavour, or 0 if MPI does not run. The handle is known for all flavours.
int world_size(const Library& of) {
  constexpr std::intptr_t kMpich = 0x44000000, kAbi = 0x101;
  const auto initialized = reinterpret_cast<int (*)(int*)>(dlsym(of.handle, "PMPI_Initialized"));
  const auto comm_size = reinterpret_cast<int (*)(std::intptr_t, int*)>(dlsym(of.handle, "PMPI_Comm_size"));
  const std::string_view flavour = of.flavour;
  const auto world = flavour == "openmpi" ? reinterpret_cast<std::intptr_t>(data_of(of, "ompi_mpi_comm_world")) : flavour == "abi" ? kAbi : kMpich;
  int runs = 0, size = 0;
  if (initialized == nullptr || comm_size == nullptr || world == 0 || initialized(&runs) != 0 || runs == 0) return 0;
  return comm_size(world, &size) == 0 ? size : 0;
}

// Recognizes what a launcher of another MPI does: every process is rank 0 of 1.
const char* if_alone(const Library& found) {
  return ranks_started() > 1 && world_size(found) == 1 ? "; each process is alone in its MPI_COMM_WORLD: the launcher belongs to another MPI" : "";
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
             "preload what 'crossrail lib --mpi %s' prints%s",
             CROSSRAIL_FLAVOUR, found.flavour, found.version, found.flavour, if_alone(found));
  }
  return found;
}

}  // namespace

const Library& library() {
  // The search is repeated until it succeeds, because the first call may come before MPI is loaded.
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

int mpich_version() {
  const char* const at = std::strstr(library().version, "MPICH Version:");
  return at == nullptr ? 0 : std::atoi(at + std::strcspn(at, "0123456789"));
}

void* library_symbol(const char* name) {
  return library().handle == nullptr ? nullptr : dlsym(library().handle, name);
}

void* library_data(const char* name) {
  void* address = dlsym(RTLD_DEFAULT, name);
  return address != nullptr ? address : library_symbol(name);
}

void* library_function(const char* name) {
  void* const standard = library_symbol((std::string("PMPI_") + name).c_str());
  return standard != nullptr ? standard : library_symbol((std::string("PMPIX_") + name).c_str());
}

namespace {

void* next_symbol(const char* name) {
  void* const next = dlsym(RTLD_NEXT, name);
  return next != nullptr ? next : library_symbol(name);
}

// Turns MPI_ into MPIX_, PMPI_ into PMPIX_, mpi_ into mpix_ and ompi_ into ompix_.
std::string extension_name(std::string name) {
  const std::size_t at = name.find_first_of("iI");
  if (at != std::string::npos) name.insert(at + 1, 1, name[at] == 'i' ? 'x' : 'X');
  return name;
}

}  // namespace

void* next_function(const char* name) {
  void* const next = next_symbol(name);
  return next != nullptr ? next : next_symbol(extension_name(name).c_str());
}

bool mpi_takes_device_memory() {
  using Query = int (*)();
  static const auto query = reinterpret_cast<Query>(library_symbol("MPIX_Query_cuda_support"));
  static const bool takes = query != nullptr && query() != 0;
  return takes;
}

}  // namespace crossrail::mpi
