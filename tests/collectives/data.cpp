#include "tests/collectives/data.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "base/bytes.h"

namespace crossrail::tests {
namespace {

// Returns scratch of this thread, as large as needed so far. It is no container: those of the tests, which sanitizers are to see, would be one with
// it.
std::byte* scratch(std::size_t bytes) {
  struct Memory {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
    ~Memory() { std::free(begin); }
  };
  static thread_local Memory memory;
  if (bytes > memory.bytes) {
    std::free(memory.begin);
    memory.begin = static_cast<std::byte*>(std::malloc(bytes));
    memory.bytes = bytes;
  }
  return memory.begin;
}

std::int64_t number(const Numbers& numbers, int rank, std::size_t place) {
  const std::uint64_t mixed = mix_word(numbers.call * 1024 + static_cast<std::uint64_t>(rank), place * 64 + static_cast<std::uint64_t>(numbers.block));
  return static_cast<std::int64_t>(mixed >> 50) - 8192;
}

std::int64_t combined(Operation operation, std::int64_t one, std::int64_t other) {
  switch (operation) {
    case Operation::sum: return one + other;
    case Operation::product: return static_cast<std::int32_t>(static_cast<std::uint32_t>(one) * static_cast<std::uint32_t>(other));
    case Operation::minimum: return one < other ? one : other;
    case Operation::maximum: return one > other ? one : other;
    case Operation::bitwise_xor: return one ^ other;
    default: std::abort();
  }
}

void store(std::byte* base, std::size_t place, Element element, std::int64_t value) {
  const auto integer = static_cast<std::int32_t>(value);
  const auto real = static_cast<double>(value);
  if (element == Element::int32) std::memcpy(base + place * sizeof integer, &integer, sizeof integer);
  else std::memcpy(base + place * sizeof real, &real, sizeof real);
}

std::int64_t load(const std::byte* base, std::size_t place, Element element) {
  std::int32_t integer = 0;
  double real = 0;
  if (element == Element::int32) std::memcpy(&integer, base + place * sizeof integer, sizeof integer);
  else std::memcpy(&real, base + place * sizeof real, sizeof real);
  return element == Element::int32 ? integer : static_cast<std::int64_t>(real);
}

// Operation and element are known where it is compiled, and so are not asked for at every place.
template <Operation operation, Element element>
void combine_all(std::byte* to, std::size_t count, const Numbers& numbers, int ranks) {
  for (std::size_t place = 0; place < count; ++place) {
    std::int64_t value = number(numbers, 0, place);
    for (int rank = 1; rank < ranks; ++rank) value = combined(operation, value, number(numbers, rank, place));
    store(to, place, element, value);
  }
}

template <Operation operation>
void combine_all(std::byte* to, std::size_t count, const Numbers& numbers, int ranks) {
  if (numbers.reduction.element == Element::int32) combine_all<operation, Element::int32>(to, count, numbers, ranks);
  else combine_all<operation, Element::float64>(to, count, numbers, ranks);
}

void combine_all(std::byte* to, std::size_t count, const Numbers& numbers, int ranks) {
  switch (numbers.reduction.operation) {
    case Operation::sum: return combine_all<Operation::sum>(to, count, numbers, ranks);
    case Operation::product: return combine_all<Operation::product>(to, count, numbers, ranks);
    case Operation::minimum: return combine_all<Operation::minimum>(to, count, numbers, ranks);
    case Operation::maximum: return combine_all<Operation::maximum>(to, count, numbers, ranks);
    case Operation::bitwise_xor: return combine_all<Operation::bitwise_xor>(to, count, numbers, ranks);
    default: std::abort();
  }
}

// What the ranks of a world are to have is the same on all of them. One makes it, and the others compare with that.
struct Made {
  Numbers numbers;
  int ranks;
  std::size_t bytes;
  std::byte* wanted;

  bool holds(const Numbers& other, int of_ranks, std::size_t of_bytes) const {
    return wanted != nullptr && bytes == of_bytes && ranks == of_ranks && numbers.call == other.call && numbers.block == other.block &&
           numbers.reduction.operation == other.reduction.operation && numbers.reduction.element == other.reduction.element;
  }
};
constexpr std::size_t kKept = 4;  // Ranks go on to the next call or two while others compare this one's.
Made kept[kKept];
std::size_t next_kept = 0;
pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;

bool same_as_kept(const std::byte* found, std::size_t bytes, const Numbers& numbers, int ranks) {
  pthread_mutex_lock(&keeping);
  bool same = false;
  for (const Made& made : kept) same = same || (made.holds(numbers, ranks, bytes) && std::memcmp(found, made.wanted, bytes) == 0);
  pthread_mutex_unlock(&keeping);
  return same;
}

void keep(const std::byte* wanted, std::size_t bytes, const Numbers& numbers, int ranks) {
  pthread_mutex_lock(&keeping);
  Made& made = kept[next_kept++ % kKept];
  made = {numbers, ranks, bytes, static_cast<std::byte*>(std::realloc(made.wanted, bytes))};
  std::memcpy(made.wanted, wanted, bytes);
  pthread_mutex_unlock(&keeping);
}

}  // namespace

void fill_block(std::byte* block, std::size_t bytes, std::uint64_t call, int source, int destination) {
  if (bytes == 0) return;
  std::byte* const made = scratch(bytes + sizeof(std::uint64_t));
  std::uint64_t state = hash_word(hash_word(hash_word(kHashSeed, call), static_cast<std::uint64_t>(source)), static_cast<std::uint64_t>(destination));
  for (std::size_t at = 0; at < bytes; at += sizeof state) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const std::uint64_t word = state ^ state >> 29;
    std::memcpy(made + at, &word, sizeof word);
  }
  std::memcpy(block, made, bytes);
}

bool same_bytes(const std::byte* one, const std::byte* other, std::size_t bytes) { return bytes == 0 || std::memcmp(one, other, bytes) == 0; }

void fill_numbers(std::byte* to, std::size_t bytes, const Numbers& numbers, int rank) {
  if (bytes == 0) return;
  const Element element = numbers.reduction.element;
  std::byte* const made = scratch(bytes);
  for (std::size_t place = 0; place < bytes / bytes_of(element); ++place) store(made, place, element, number(numbers, rank, place));
  std::memcpy(to, made, bytes);
}

std::string wrong_number(const std::byte* found, std::size_t bytes, const Numbers& numbers, int ranks) {
  const Element element = numbers.reduction.element;
  const std::size_t count = bytes / bytes_of(element);
  if (count == 0 || same_as_kept(found, bytes, numbers, ranks)) return {};
  std::byte* const wanted = scratch(bytes);
  combine_all(wanted, count, numbers, ranks);
  keep(wanted, bytes, numbers, ranks);
  if (same_bytes(found, wanted, bytes)) return {};
  for (std::size_t place = 0; place < count; ++place) {
    const std::int64_t its = load(found, place, element), right = load(wanted, place, element);
    if (its != right) return std::to_string(its) + " at " + std::to_string(place) + " of " + std::to_string(count) + ", not " + std::to_string(right);
  }
  return "another form of the same numbers";
}

}  // namespace crossrail::tests
