// Rows of elements become one, and so do packets. Every operation is tested on all its elements and compared with what processors make of the same
// bits.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>

#include "collectives/combine.h"
#include "module_test_mapped.h"

namespace module_test {
namespace {

using crossrail::Element;
using crossrail::Operation;
using crossrail::Reduction;

crossrail_reduction asked_for(const Reduction& reduction) { return {static_cast<int>(reduction.operation), static_cast<int>(reduction.element)}; }

// Returns all reductions that MPI defines.
std::vector<Reduction> reductions() {
  std::vector<Reduction> all;
  for (int operation = 1; operation <= static_cast<int>(Operation::maximum_place); ++operation) {
    for (int element = 1; element <= static_cast<int>(Element::float8_e5m2); ++element) {
      const Reduction one{static_cast<Operation>(operation), static_cast<Element>(element)};
      if (crossrail::is_defined(one)) all.push_back(one);
    }
  }
  return all;
}

bool is_long(Element element) {
  return element == Element::long_double || element == Element::complex_long_double || element == Element::placed_long_double;
}

// `number` returns what the bits mean.
template <class Stored, class Number>
bool same_numbers(const Bytes& one, const Bytes& other, Number number) {
  bool same = one.size() == other.size();
  for (std::size_t at = 0; same && at + sizeof(Stored) <= one.size(); at += sizeof(Stored)) {
    Stored a, b;
    std::memcpy(&a, one.data() + at, sizeof a);
    std::memcpy(&b, other.data() + at, sizeof b);
    same = std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(number(a)) && std::isnan(number(b)));
  }
  return same;
}

// Returns whether the bits are the same. Bits of what is no number may differ: there processors differ, too.
bool same(Element element, const Bytes& one, const Bytes& other) {
  if (element == Element::float32 || element == Element::complex_float32) return same_numbers<float>(one, other, [](auto it) { return it; });
  if (element == Element::float64 || element == Element::complex_float64) return same_numbers<double>(one, other, [](auto it) { return it; });
  if (element == Element::float16) return same_numbers<std::uint16_t>(one, other, crossrail::Binary16::value);
  if (element == Element::bfloat16) return same_numbers<std::uint16_t>(one, other, crossrail::UpperHalf::value);
  if (element == Element::float8_e4m3) return same_numbers<std::uint8_t>(one, other, crossrail::Float8E4M3::value);
  if (element == Element::float8_e5m2) return same_numbers<std::uint8_t>(one, other, crossrail::Float8E5M2::value);
  return one == other;
}

// The bits are random. Every fourth real number of 32 and 64 bits is one that rules are made for, and the others have one magnitude, so that results
// are rounded.
template <class Real>
void make_numbers(Bytes& row, unsigned seed) {
  const Real special[] = {Real{0}, -Real{0}, Real(INFINITY), -Real(INFINITY), Real(NAN), Real(1e-40), Real(3e38), Real(1)};
  for (std::size_t place = 0; place < row.size() / sizeof(Real); ++place) {
    unsigned random = 0;
    std::memcpy(&random, row.data() + place * sizeof(Real), std::min(sizeof random, sizeof(Real)));
    random = random * 2654435761u + seed;
    const Real value = random % 4 == 0 ? special[random / 4 % 8] : static_cast<Real>(static_cast<int>(random)) / Real(7e8);
    std::memcpy(row.data() + place * sizeof(Real), &value, sizeof value);
  }
}

Bytes elements(const Reduction& reduction, std::size_t count, unsigned seed) {
  Bytes row = pattern(count * crossrail::bytes_of(reduction.element), seed);
  const Element element = reduction.element;
  const bool single = element == Element::float32 || element == Element::complex_float32;
  if (single) make_numbers<float>(row, seed);
  if (element == Element::float64 || element == Element::complex_float64) make_numbers<double>(row, seed);
  return row;
}

Bytes combined(const Reduction& reduction, const std::vector<Bytes>& rows) {
  Bytes sum = rows.front();
  const std::size_t count = sum.size() / crossrail::bytes_of(reduction.element);
  auto* const to = reinterpret_cast<std::byte*>(sum.data());
  for (std::size_t row = 1; row < rows.size(); ++row) {
    crossrail::combine_of(reduction)(to, reinterpret_cast<const std::byte*>(rows[row].data()), to, count);
  }
  return sum;
}

struct Rows {
  std::size_t rows, count, shift;  // `shift` is in bytes off 256.
};

// The result overwrites all rows, except a last one that has no result of its own.
bool run_combination(Queue& queue, const Reduction& reduction, const Rows& wanted) {
  std::vector<Bytes> rows;
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<const void*> from;
  std::vector<void*> to;
  const std::size_t bytes = wanted.count * crossrail::bytes_of(reduction.element);
  for (std::size_t row = 0; row <= wanted.rows; ++row) {
    rows.push_back(elements(reduction, wanted.count, static_cast<unsigned>(row * 31 + wanted.count)));
    memory.push_back(std::make_unique<Memory>(row % 2 == 0 ? 0 : far_device(), bytes + wanted.shift + 64));
    Bytes image(memory.back()->bytes, kPoison);
    std::copy(rows.back().begin(), rows.back().end(), image.begin() + static_cast<std::ptrdiff_t>(wanted.shift));
    memory.back()->fill(image);
    if (row < wanted.rows) from.push_back(memory.back()->at + wanted.shift);
    to.push_back(memory.back()->at + wanted.shift);
  }
  rows.pop_back();
  const crossrail_combination asked{work_of(CROSSRAIL_WORK_COMBINE, queue.flag(), ++queue.value), asked_for(reduction), from.data(), to.data(),
                                    static_cast<int>(from.size()), static_cast<int>(to.size()), static_cast<int>(wanted.count % 7), bytes};
  enqueue(queue, asked, "combine");
  if (!queue.await(queue.value)) return false;
  const Bytes expected = combined(reduction, rows);
  for (const auto& one : memory) {
    const Bytes whole = one->read();
    const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(wanted.shift), end = begin + static_cast<std::ptrdiff_t>(bytes);
    const bool guards = std::all_of(whole.begin(), begin, [](unsigned char byte) { return byte == kPoison; }) &&
                        std::all_of(end, whole.end(), [](unsigned char byte) { return byte == kPoison; });
    expect(guards && same(reduction.element, Bytes(begin, end), expected), "combine: %s of %zu %s, %zu rows, shift %zu%s",
           crossrail::name_of(reduction.operation), wanted.count, crossrail::name_of(reduction.element), wanted.rows, wanted.shift, guards ? "" : ", outside");
  }
  return true;
}

// This is two ranks on two devices, where there are two.
class Pair {
 public:
  explicit Pair(crossrail_packet_form form) : form_(form) {
    for (int rank = 0; rank < 2; ++rank) {
      const int device = devices > 1 ? rank : 0;
      queues_[rank] = std::make_unique<Queue>(device);
      buffer_bytes_ = packets_bytes(*queues_[rank], form_, 2, 160000);
      const crossrail_memory near = facts_of(queues_[rank]->near.at, 1);
      require(module->alloc(&near, buffer_bytes_, &buffers_[rank]), "alloc");
      let_all_devices_reach(buffers_[rank], device);
    }
  }
  ~Pair() {
    for (int rank = 0; rank < 2; ++rank) {
      queues_[rank].reset();
      require(module->free(buffers_[rank]), "free");
    }
  }
  bool run(const Reduction& reduction, std::size_t count, std::size_t shift, bool in_place) {
    std::vector<Bytes> rows;
    std::unique_ptr<Memory> send[2], recv[2];
    const std::size_t bytes = count * crossrail::bytes_of(reduction.element);
    const crossrail_reduction asked = asked_for(reduction);
    for (int rank = 0; rank < 2; ++rank) {
      rows.push_back(elements(reduction, count, static_cast<unsigned>(rank * 17) + static_cast<unsigned>(count)));
      send[rank] = std::make_unique<Memory>(devices > 1 ? rank : 0, bytes + shift + 64);
      recv[rank] = std::make_unique<Memory>(devices > 1 ? rank : 0, bytes + shift + 64);
      Bytes image(bytes + shift + 64, kPoison);
      recv[rank]->fill(image);
      std::copy(rows.back().begin(), rows.back().end(), image.begin() + static_cast<std::ptrdiff_t>(shift));
      send[rank]->fill(image);
      if (in_place) recv[rank].swap(send[rank]);
    }
    for (int rank = 0; rank < 2; ++rank) {
      Queue& queue = *queues_[rank];
      const crossrail_packets packets{work_of(CROSSRAIL_WORK_PACKETS, queue.flag(), ++queue.value), (in_place ? recv : send)[rank]->at + shift,
                                      recv[rank]->at + shift, bytes, 0, 0, rank, 2, buffers_, buffer_bytes_, queue.flag(1), form_, asked};
      enqueue(queue, packets, "combining packets");
    }
    for (auto& queue : queues_) {
      if (!queue->await(queue->value)) return false;
    }
    const Bytes expected = combined(reduction, rows);
    for (const auto& one : recv) {
      const Bytes whole = one->read();
      const Bytes found(whole.begin() + static_cast<std::ptrdiff_t>(shift), whole.begin() + static_cast<std::ptrdiff_t>(shift + bytes));
      expect(same(reduction.element, found, expected) && whole.back() == kPoison, "combine_packets, form %d: %s of %zu %s, shift %zu",
             static_cast<int>(form_), crossrail::name_of(reduction.operation), count, crossrail::name_of(reduction.element), shift);
    }
    return true;
  }

 private:
  crossrail_packet_form form_;
  std::size_t buffer_bytes_ = 0;
  std::unique_ptr<Queue> queues_[2];
  void* buffers_[2] = {};
};

bool run_all(Pair& pair) {
  for (const Reduction& reduction : reductions()) {
    if (is_long(reduction.element)) continue;
    for (const std::size_t count : {1, 5, 100, 2048, 9999}) {
      for (const std::size_t shift : {std::size_t{0}, crossrail::bytes_of(reduction.element), std::size_t{1}}) {
        if (count * crossrail::bytes_of(reduction.element) > 160000 / 2) continue;
        if (!pair.run(reduction, count, shift, count % 2 != 0)) return false;
      }
    }
  }
  return true;
}

}  // namespace

void test_combining() {
  {
    Queue queue(0);
    for (const Reduction& reduction : reductions()) {
      crossrail_combination asked{};
      asked.work.kind = CROSSRAIL_WORK_COMBINE;
      asked.reduction = asked_for(reduction);
      const bool combines = module->supports(queue, &asked.work, nullptr) == nullptr;
      expect(combines != is_long(reduction.element), "combines: %s", crossrail::name_of(reduction.element));
      if (is_long(reduction.element)) continue;
      const std::size_t element = crossrail::bytes_of(reduction.element);
      for (const Rows& rows : {Rows{2, 1, 0}, Rows{3, 1000, 0}, Rows{2, 4099, element}, Rows{1, 17, 4}, Rows{9, 333, 1}, Rows{4, 0, 0}}) {
        if (!run_combination(queue, reduction, rows)) return;
      }
    }
    if (!run_combination(queue, {Operation::sum, Element::float32}, {4, 3'000'001, 4})) return;
  }
  for (const crossrail_packet_form form : forms()) {
    Pair pair(form);
    if (!run_all(pair)) return;
  }
}

}  // namespace module_test
