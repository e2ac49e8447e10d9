#include "mpi/observe/recorded_events.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/device.h"
#include "mpi/buffers/reductions.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

constexpr const char* kForms[] = {"blocking", "nonblocking", "persistent"};
constexpr const char* kRequests[] = {"complete", "start", "free"};
constexpr std::int64_t kFirstOfRequests = 100;  // It stands in a key's first place, where calls have their function.
enum { kFunction, kForm, kComm, kInPlace, kMemory, kOperation, kElement, kSentRows, kHead };

// Returns ranks of MPI_COMM_WORLD as [[first, count, step], ...], or an empty text if one is in another world.
std::string ranges_of(const std::vector<int>& ranks) {
  std::string json;
  for (std::size_t at = 0; at < ranks.size();) {
    if (ranks[at] < 0) return {};
    const int step = at + 1 < ranks.size() ? ranks[at + 1] - ranks[at] : 1;
    std::size_t end = at + 1;
    while (end < ranks.size() && ranks[end] - ranks[end - 1] == step) ++end;
    json += (json.empty() ? "[" : ",[") + std::to_string(ranks[at]) + "," + std::to_string(end - at) + "," + std::to_string(step) + "]";
    at = end;
  }
  return json;
}

std::vector<int> world_ranks(MPI_Comm comm, int size) {
  std::vector<int> own(size), world(size, -1);
  for (int rank = 0; rank < size; ++rank) own[rank] = rank;
  MPI_Group group{}, all{};
  if (pmpi().Comm_group(comm, &group) != MPI_SUCCESS) return world;
  if (pmpi().Comm_group(handles().comm_world, &all) == MPI_SUCCESS) {
    if (pmpi().Group_translate_ranks(group, size, own.data(), all, world.data()) != MPI_SUCCESS) world.assign(size, -1);
    (void)pmpi().Group_free(&all);
  }
  (void)pmpi().Group_free(&group);
  return world;
}

constexpr std::size_t kMostRecordedPieces = 256;

// Returns a member of the type's object, or an empty text if the type has too many pieces.
std::string pieces_json(const TypeFacts& facts) {
  const std::string name = ",\"pieces\":";
  if (facts.in_a_row) return name + "[[" + std::to_string(facts.lower) + "," + std::to_string(facts.bytes) + ",1,0]]";
  if (facts.layout == nullptr || facts.layout->pieces.size() > kMostRecordedPieces) return "";
  std::string json;
  for (const Pieces& one : facts.layout->pieces) {
    json += (json.empty() ? "[" : ",[") + std::to_string(one.offset) + "," + std::to_string(one.bytes) + "," + std::to_string(one.count) + "," +
            std::to_string(one.stride) + "]";
  }
  return name + "[" + json + "]";
}

bool on_device(Word64 address) { return address != 0 && device::driver_present() && device::is_device_memory(reinterpret_cast<void*>(address)); }

}  // namespace

int RecordedEvents::communicator(MPI_Comm comm) {
  const auto [at, fresh] = communicators_.try_emplace(word_of(comm), static_cast<int>(communicator_texts_.size()));
  if (!fresh) return at->second;
  int size = 0, inter = 0;
  (void)pmpi().Comm_test_inter(comm, &inter);
  (void)pmpi().Comm_size(comm, &size);
  const std::string ranks = inter != 0 ? "" : ranges_of(world_ranks(comm, size));
  communicator_texts_.push_back("{\"size\":" + std::to_string(size) + ",\"ranks\":[" + ranks + "]}");
  sizes_.push_back(inter != 0 ? 0 : size);
  return at->second;
}

std::int64_t RecordedEvents::type(MPI_Datatype type, MPI_Comm comm) {
  TypeFacts facts;
  if (type == handles().type_null || describe_whole(type, comm, facts) != MPI_SUCCESS || !facts.usable) return -1;
  std::string text = "{\"bytes\":" + std::to_string(facts.bytes);
  if (!facts.contiguous) {
    MPI_Aint lower = 0, extent = 0;
    (void)pmpi().Type_get_extent(type, &lower, &extent);
    text += ",\"extent\":" + std::to_string(static_cast<long long>(extent)) + pieces_json(facts);
  }
  const auto [at, fresh] = types_.try_emplace(text + "}", static_cast<int>(type_texts_.size()));
  if (fresh) type_texts_.push_back(&at->first);
  return at->second;
}

// A row is (count, type, how many ranks in sequence have these).
void RecordedEvents::add_row(Key& key, std::int64_t count, std::int64_t type) const {
  const std::size_t size = key.size();
  const bool has_row = size >= static_cast<std::size_t>(kHead) + 3 && (key[kSentRows] == 0 || size > kHead + 3 * static_cast<std::size_t>(key[kSentRows]));
  if (has_row && key[size - 3] == count && key[size - 2] == type) {
    ++key[size - 1];
  } else {
    key.insert(key.end(), {count, type, 1});
  }
}

void RecordedEvents::add_side(Key& key, const ObservedCall& call, bool receives, int peers) {
  const MpiFunction& function = call.entry.function;
  const bool large = call.entry.large_counts, many = function.has('T');
  const int first = receives ? function.place('r') : 0;
  const Word64* const words = call.words + first;
  const MPI_Comm comm = handle_from<MPI_Comm>(call.entry.comm(call.words));
  if (function.arguments[static_cast<std::size_t>(first) + 1] == 'n') {
    add_row(key, count_from(words[1], large), type(handle_from<MPI_Datatype>(words[2]), comm));
    key.back() = peers;
    return;
  }
  const Numbers counts(words[1], large);
  const auto* const types = reinterpret_cast<const MPI_Datatype*>(words[3]);
  const std::int64_t one_type = many ? 0 : type(handle_from<MPI_Datatype>(words[3]), comm);
  MPI_Datatype last{};
  std::int64_t number = -1;
  for (int peer = 0; peer < peers; ++peer) {
    const std::int64_t count = counts[peer];
    if (many && count != 0 && (number < 0 || types[peer] != last)) number = type(last = types[peer], comm);
    add_row(key, count, count == 0 ? 0 : many ? number : one_type);
  }
}

void RecordedEvents::add_elements(Key& key, const ObservedCall& call, bool in_place, int peers) {
  const MpiFunction& function = call.entry.function;
  const Word64* const words = call.words;
  const MPI_Datatype element = handle_from<MPI_Datatype>(words[function.place('t')]);
  const MPI_Comm comm = handle_from<MPI_Comm>(call.entry.comm(words));
  const std::int64_t number = type(element, comm);
  const Reduction combining = combining_of(handle_from<MPI_Op>(words[function.place('o')]));
  TypeFacts facts;
  if (number >= 0 && combining.operation != Operation::none && describe(element, comm, facts) == MPI_SUCCESS && facts.predefined) {
    const Reduction reduction = reduction_of(combining, element, facts.bytes);
    key[kOperation] = static_cast<std::int64_t>(reduction.operation);
    key[kElement] = static_cast<std::int64_t>(reduction.element);
  }
  key[kInPlace] = in_place;
  if (!function.has('N')) {
    add_row(key, count_from(words[function.place('n')], call.entry.large_counts), number);
  } else {
    const Numbers counts(words[function.place('N')], call.entry.large_counts);
    for (int peer = 0; peer < peers; ++peer) add_row(key, counts[peer], number);
  }
  key[kSentRows] = static_cast<std::int64_t>((key.size() - kHead) / 3);
}

int RecordedEvents::call(const ObservedCall& call) {
  const MpiFunction& function = call.entry.function;
  const int comm = communicator(handle_from<MPI_Comm>(call.entry.comm(call.words)));
  const Word64 sent = call.words[0], received = call.words[function.place('r')];
  const bool in_place = sent == word_of(MPI_IN_PLACE);
  Key key{static_cast<int>(function.function), static_cast<int>(call.entry.form), comm, in_place,
          on_device(received) + (!in_place && on_device(sent) ? 2 : 0), 0, 0, 0};
  if (function.has('o')) {
    add_elements(key, call, in_place, sizes_[comm]);
  } else if (sizes_[comm] > 0) {
    if (!in_place) add_side(key, call, false, sizes_[comm]);
    key[kSentRows] = static_cast<std::int64_t>((key.size() - kHead) / 3);
    add_side(key, call, true, sizes_[comm]);
  }
  return number_of(std::move(key));
}

int RecordedEvents::of_requests(const char* what, const std::vector<std::int64_t>& places) {
  const auto at = std::find_if(std::begin(kRequests), std::end(kRequests), [&](const char* one) { return std::strcmp(one, what) == 0; });
  Key key{kFirstOfRequests + (at - std::begin(kRequests))};
  key.insert(key.end(), places.begin(), places.end());
  return number_of(std::move(key));
}

int RecordedEvents::number_of(Key key) {
  const auto known = events_.find(key);
  if (known != events_.end()) return known->second;
  if (numbers_ + key.size() > kMostNumbers) return -1;
  numbers_ += key.size();
  const auto at = events_.emplace(std::move(key), static_cast<int>(in_order_.size())).first;
  in_order_.push_back(&at->first);
  return at->second;
}

std::string RecordedEvents::event_json(const Key& key) const {
  const auto list = [&key](std::size_t from, std::size_t to, std::size_t group) {
    std::string json;
    for (std::size_t at = from; at < to; ++at) {
      json += at == from ? "" : ",";
      if (group > 1 && (at - from) % group == 0) json += "[";
      json += std::to_string(key[at]);
      if (group > 1 && (at - from) % group == group - 1) json += "]";
    }
    return "[" + json + "]";
  };
  if (key[kFunction] >= kFirstOfRequests) return "{\"" + std::string(kRequests[key[kFunction] - kFirstOfRequests]) + "\":" + list(1, key.size(), 1) + "}";
  const auto side = [](bool device) { return std::string(device ? "\"device\"" : "\"host\""); };
  const std::size_t sent = kHead + 3 * static_cast<std::size_t>(key[kSentRows]);
  const MpiFunction& function = kFunctions[key[kFunction]];
  std::string json = "{\"call\":\"" + std::string(function.word) + "\",\"form\":\"" + kForms[key[kForm]] + "\",\"comm\":" + std::to_string(key[kComm]) +
                     ",\"in_place\":" + (key[kInPlace] != 0 ? "true" : "false") + ",\"memory\":[" + side((key[kMemory] & 2) != 0) + "," +
                     side((key[kMemory] & 1) != 0) + "]";
  if (function.has('o')) {
    const auto operation = static_cast<Operation>(key[kOperation]);
    json += ",\"operation\":\"" + std::string(operation == Operation::none ? "user" : name_of(operation)) + "\",\"element\":\"" +
            name_of(static_cast<Element>(key[kElement])) + "\"";
  }
  return json + ",\"sent\":" + list(kHead, sent, 3) + ",\"received\":" + list(sent, key.size(), 3) + "}";
}

std::string RecordedEvents::json() const {
  std::string json = "\"communicators\":[";
  for (const std::string& one : communicator_texts_) json += (json.back() == '[' ? "" : ",") + one;
  json += "],\"types\":[";
  for (const std::string* one : type_texts_) json += (json.back() == '[' ? "" : ",") + *one;
  json += "],\"events\":[";
  for (const Key* one : in_order_) json += (json.back() == '[' ? "" : ",") + event_json(*one);
  return json + "]";
}

}  // namespace crossrail::mpi
