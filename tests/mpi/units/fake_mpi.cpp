#include "tests/mpi/units/fake_mpi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <set>

#include "mpi/library/library.h"

namespace crossrail::mpi::fake {
namespace {

template <class Handle>
Handle made_of(std::uintptr_t number) {
  return (Handle)number;  // It is a pointer or an int, by flavour.
}

struct Message {
  int tag;
  std::vector<std::byte> bytes;
  MPI_Request request;  // It is the sender's.
};

struct State {
  std::map<MPI_Datatype, std::unique_ptr<Type>> types;
  std::map<MPI_Datatype, MPI_Datatype> copies;  // MPI_Type_get_contents handed them out, of the type given.
  std::set<MPI_Datatype> refused;
  std::map<int, std::deque<Message>> queues;  // The receiver's rank is the key.
  std::set<MPI_Request> pending;
  std::uintptr_t last_handle = 0x70000000;
  int last_keyval = 100, tag_limit = 2147483647;
};
State& state() {
  static State& one = *new State;
  return one;
}

constexpr std::uintptr_t kComms = 0x60000000;
int rank_of(MPI_Comm comm) { return static_cast<int>((std::uintptr_t)comm - kComms); }

template <class Handle>
Handle next_handle() {
  return made_of<Handle>(state().last_handle += 16);
}

void add_predefined(MPI_Datatype handle, const std::vector<Run>& map, std::ptrdiff_t extent) {
  auto made = std::make_unique<Type>();
  made->map = map;
  made->extent = extent;
  state().types[handle] = std::move(made);
}

void add_all_predefined() {
  for (const auto& [handle, bytes] : std::vector<std::pair<MPI_Datatype, std::size_t>>{{MPI_BYTE, 1}, {MPI_CHAR, 1}, {MPI_SHORT, 2}, {MPI_INT, 4}, {MPI_FLOAT, 4}, {MPI_DOUBLE, 8}}) {
    add_predefined(handle, {{0, bytes}}, static_cast<std::ptrdiff_t>(bytes));
  }
  add_predefined(MPI_SHORT_INT, {{0, 2}, {4, 4}}, 8);
  add_predefined(MPI_DOUBLE_INT, {{0, 12}}, 16);
}

const Type& known(MPI_Datatype handle) { return type(handle); }

// ---- These define MPI's functions. ----

int type_size(MPI_Datatype handle, int* bytes) {
  std::size_t sum = 0;
  for (const Run& run : known(handle).map) sum += run.bytes;
  *bytes = static_cast<int>(sum);
  return MPI_SUCCESS;
}

int type_get_extent(MPI_Datatype handle, MPI_Aint* lower, MPI_Aint* extent) {
  *lower = known(handle).lower;
  *extent = known(handle).extent;
  return MPI_SUCCESS;
}

int type_get_true_extent(MPI_Datatype handle, MPI_Aint* lower, MPI_Aint* extent) {
  std::ptrdiff_t lowest = PTRDIFF_MAX, end = PTRDIFF_MIN;
  for (const Run& run : known(handle).map) {
    lowest = std::min(lowest, run.offset);
    end = std::max(end, run.offset + static_cast<std::ptrdiff_t>(run.bytes));
  }
  *lower = known(handle).map.empty() ? 0 : lowest;
  *extent = known(handle).map.empty() ? 0 : end - lowest;
  return MPI_SUCCESS;
}

int type_get_envelope(MPI_Datatype handle, int* integers, int* addresses, int* types, int* combiner) {
  const Type& its = known(handle);
  *integers = static_cast<int>(its.integers.size());
  *addresses = static_cast<int>(its.addresses.size());
  *types = static_cast<int>(its.types.size());
  *combiner = its.combiner;
  return MPI_SUCCESS;
}

int type_get_contents(MPI_Datatype handle, int, int, int, int* integers, MPI_Aint* addresses, MPI_Datatype* types) {
  const Type& its = known(handle);
  if (state().refused.contains(handle)) return MPI_ERR_OTHER;
  std::copy(its.integers.begin(), its.integers.end(), integers);
  std::copy(its.addresses.begin(), its.addresses.end(), addresses);
  for (const MPI_Datatype one : its.types) {
    const bool predefined = known(one).combiner == MPI_COMBINER_NAMED;
    *types = predefined ? one : next_handle<MPI_Datatype>();
    if (!predefined) state().copies[*types] = one;
    ++types;
  }
  return MPI_SUCCESS;
}

int type_free(MPI_Datatype* handle) {
  if (state().copies.erase(*handle) == 0 && state().types.erase(*handle) == 0) ADD_FAILURE() << "a type is freed twice";
  *handle = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

int comm_get_attr(MPI_Comm, int keyval, void* value, int* found) {
  *found = keyval == MPI_TAG_UB && state().tag_limit != 0;
  if (*found != 0) *static_cast<void**>(value) = &state().tag_limit;
  return MPI_SUCCESS;
}

int issend(const void* bytes, int count, MPI_Datatype, int to, int tag, MPI_Comm, MPI_Request* request) {
  const auto* const from = static_cast<const std::byte*>(bytes);
  *request = next_request();
  state().pending.insert(*request);
  state().queues[to].push_back({tag, {from, from + count}, *request});
  return MPI_SUCCESS;
}

int iprobe(int, int tag, MPI_Comm comm, int* there, MPI_Status*) {
  const auto& queue = state().queues[rank_of(comm)];
  *there = std::any_of(queue.begin(), queue.end(), [tag](const Message& one) { return one.tag == tag; });
  return MPI_SUCCESS;
}

int recv(void* bytes, int count, MPI_Datatype, int, int tag, MPI_Comm comm, MPI_Status*) {
  auto& queue = state().queues[rank_of(comm)];
  const auto found = std::find_if(queue.begin(), queue.end(), [tag](const Message& one) { return one.tag == tag; });
  if (found == queue.end()) {
    ADD_FAILURE() << "a receive that would wait for ever";
    return MPI_ERR_OTHER;
  }
  if (found->bytes.size() > static_cast<std::size_t>(count)) return MPI_ERR_TRUNCATE;
  std::memcpy(bytes, found->bytes.data(), found->bytes.size());
  state().pending.erase(found->request);
  queue.erase(found);
  return MPI_SUCCESS;
}

int testall(int count, MPI_Request* requests, int* done, MPI_Status*) {
  *done = std::none_of(requests, requests + count, [](MPI_Request one) { return state().pending.contains(one); });
  return MPI_SUCCESS;
}

// These are needed functions that no unit may call. Those that are not needed are absent.
#define FUNCTION(name, needed)                                      \
  int unexpected_##name() {                                         \
    ADD_FAILURE() << "MPI_" #name " is called, which is not faked"; \
    return MPI_ERR_OTHER;                                           \
  }
#include "mpi/library/functions.def"
#undef FUNCTION

void* address_of(const std::string& name) {
  static const std::map<std::string, void*>& all = *new std::map<std::string, void*>{
      {"Type_size", (void*)type_size},
      {"Type_get_extent", (void*)type_get_extent},
      {"Type_get_true_extent", (void*)type_get_true_extent},
      {"Type_get_envelope", (void*)type_get_envelope},
      {"Type_get_contents", (void*)type_get_contents},
      {"Type_free", (void*)type_free},
      {"Comm_get_attr", (void*)comm_get_attr},
      {"Issend", (void*)issend},
      {"Iprobe", (void*)iprobe},
      {"Recv", (void*)recv},
      {"Testall", (void*)testall}};
  const auto found = all.find(name);
  if (found != all.end()) return found->second;
#define FUNCTION(its_name, needed) \
  if (needed && name == #its_name) return (void*)unexpected_##its_name;
#include "mpi/library/functions.def"
#undef FUNCTION
  return nullptr;
}

}  // namespace

Type& type(MPI_Datatype handle) {
  if (state().types.empty()) add_all_predefined();
  const auto copy = state().copies.find(handle);
  const auto found = state().types.find(copy == state().copies.end() ? handle : copy->second);
  if (found == state().types.end()) throw std::out_of_range("no such type");
  return *found->second;
}

MPI_Datatype keep(std::unique_ptr<Type> made) {
  const auto handle = next_handle<MPI_Datatype>();
  state().types[handle] = std::move(made);
  return handle;
}

int contents_not_freed() { return static_cast<int>(state().copies.size()); }
void refuse_contents(MPI_Datatype handle) { state().refused.insert(handle); }
MPI_Comm communicator_of(int rank) { return made_of<MPI_Comm>(kComms + static_cast<std::uintptr_t>(rank)); }
MPI_Request next_request() { return next_handle<MPI_Request>(); }
void set_tag_limit(int limit) { state().tag_limit = limit; }

std::size_t messages_under_way() {
  std::size_t sum = 0;
  for (const auto& [rank, queue] : state().queues) sum += queue.size();
  return sum;
}

void forget_all() {
  const std::uintptr_t last = state().last_handle;  // Handles are not used again.
  state() = {};
  state().last_handle = last;
}

}  // namespace crossrail::mpi::fake

namespace crossrail::mpi {

const Library& library() {
  static const Library& one = *new Library{nullptr, CROSSRAIL_FLAVOUR, "a library of the tests", true};
  return one;
}
int mpich_version() { return 0; }
bool mpi_takes_device_memory() { return false; }
void* next_function(const char*) { return nullptr; }
void* library_function(const char* name) { return fake::address_of(name); }

void* library_symbol(const char* name) {
  constexpr char kPrefix[] = "PMPI_";
  return std::strncmp(name, kPrefix, sizeof kPrefix - 1) == 0 ? fake::address_of(name + sizeof kPrefix - 1) : nullptr;
}

// Predefined handles of Open MPI are addresses, so each name has another one.
void* library_data(const char* name) {
  static std::map<std::string, std::unique_ptr<char[]>>& all = *new std::map<std::string, std::unique_ptr<char[]>>;
  auto& place = all[name];
  if (!place) place = std::make_unique<char[]>(512);
  return place.get();
}

}  // namespace crossrail::mpi
