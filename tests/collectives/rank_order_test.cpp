// With CROSSRAIL_REPRODUCIBLE, whatever carries a reduction, wherever the ranks are, results have the bits of ((r0 op r1) op r2) op ...

#include <gtest/gtest.h>

#include <complex>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "tests/collectives/alltoall_case.h"

namespace crossrail::tests {
namespace {

constexpr Collective kReducing[] = {Collective::allreduce, Collective::reduce_scatter_block};
constexpr Operation kOrdinary[] = {Operation::sum, Operation::product};
constexpr Operation kExtreme[] = {Operation::minimum, Operation::maximum};

// The counts are fewer than ranks; packets, elements that go whole, shares, shares in parts, and results that go round a ring.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kCounts[] = {0, 2, 7, 513, 20'001};  // The code of more is that of these.
#else
constexpr std::size_t kCounts[] = {0, 1, 2, 7, 127, 513, 5001, 70'001};
#endif

template <class Value>
struct Of;
template <>
struct Of<float> {
  static constexpr Element element = Element::float32;
};
template <>
struct Of<double> {
  static constexpr Element element = Element::float64;
};
template <>
struct Of<std::complex<float>> {
  static constexpr Element element = Element::complex_float32;
};
template <>
struct Of<std::complex<double>> {
  static constexpr Element element = Element::complex_float64;
};

// Numbers have either sign and sizes far apart, so that sums cancel and every other order rounds to other bits; products stay in range. For the
// smallest and the largest, they are numbers in which order shows.
double number_from(std::uint64_t word, Operation operation) {
  constexpr double kSpecial[] = {0.0, -0.0, 1.0, -1.0, std::numeric_limits<double>::quiet_NaN()};
  if (operation == Operation::minimum || operation == Operation::maximum) return kSpecial[word % std::size(kSpecial)];
  const double fraction = (1 + static_cast<double>(word >> 12) * 0x1p-52) * (word % 2 == 0 ? 1 : -1);
  return std::ldexp(fraction, static_cast<int>((word >> 1) % (operation == Operation::product ? 3 : 24)));
}

template <class Value>
Value number_of(int rank, std::size_t place, Operation operation) {
  const std::uint64_t word = mix_word(mix_word(kHashSeed, static_cast<std::uint64_t>(rank)), place);
  if constexpr (std::is_floating_point_v<Value>) {
    return static_cast<Value>(number_from(word, operation));
  } else {
    using Real = typename Value::value_type;
    return Value(static_cast<Real>(number_from(word, operation)), static_cast<Real>(number_from(mix_word(word, place), operation)));
  }
}

template <class Value>
Value combined(Operation operation, const Value& first, const Value& second) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (operation == Operation::minimum) return second < first ? second : first;
    if (operation == Operation::maximum) return first < second ? second : first;
  }
  return operation == Operation::sum ? first + second : first * second;
}

// These are the values at the first places, made once for all calls and all ranks, which are threads. `value_at` gives that of a place. There are at
// least `count` of them, never fewer than before, and those of before do not change.
template <class Value>
using Values = std::shared_ptr<const std::vector<Value>>;
template <class Value, class ValueAt>
Values<Value> made_once(const std::string& name, std::size_t count, const ValueAt& value_at) {
  static std::mutex mutex;
  static std::map<std::string, Values<Value>> made;
  const std::lock_guard<std::mutex> lock(mutex);
  Values<Value>& values = made[name];
  if (values != nullptr && values->size() >= count) return values;
  auto more = values == nullptr ? std::make_shared<std::vector<Value>>() : std::make_shared<std::vector<Value>>(*values);
  more->reserve(count);
  for (std::size_t place = more->size(); place < count; ++place) more->push_back(value_at(place));
  return values = std::move(more);
}

template <class Value>
Values<Value> values_of(int rank, std::size_t count, Operation operation) {
  return made_once<Value>("rank " + std::to_string(rank) + name_of(operation), count, [&](std::size_t place) { return number_of<Value>(rank, place, operation); });
}

template <class Value>
Values<Value> left_fold(int ranks, std::size_t count, Operation operation) {
  return made_once<Value>("fold of " + std::to_string(ranks) + name_of(operation), count, [&](std::size_t place) {
    Value folded = number_of<Value>(0, place, operation);
    for (int rank = 1; rank < ranks; ++rank) folded = combined(operation, folded, number_of<Value>(rank, place, operation));
    return folded;
  });
}

struct Ran {
  bool native, same_bits;
  std::string algorithm;
};

// An allreduce has `count` elements; a reduce_scatter_block has so many in a block.
template <class Value>
Ran run_one(Communicator& communicator, const Shape& shape, bool in_place) {
  const int ranks = communicator.topology.size, rank = communicator.topology.rank;
  const bool scatters = shape.collective == Collective::reduce_scatter_block;
  const std::size_t block = shape.block_bytes / sizeof(Value), all = scatters ? block * static_cast<std::size_t>(ranks) : block;
  const Values<Value> values = values_of<Value>(rank, all, shape.reduction.operation);
  std::vector<Value> send(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(all)), recv(block);
  auto* const from = reinterpret_cast<std::byte*>(send.data());
  const Outcome outcome = run_collective(communicator, shape, Buffers{from, in_place ? from : reinterpret_cast<std::byte*>(recv.data())});
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.what;
  if (!outcome.status.ok()) return {true, false, "error"};
  const Values<Value> folded = left_fold<Value>(ranks, all, shape.reduction.operation);
  const Value* const wanted = folded->data() + (scatters ? static_cast<std::size_t>(rank) * block : 0);
  const bool same = block == 0 || std::memcmp(in_place ? send.data() : recv.data(), wanted, shape.block_bytes) == 0;
  return {outcome.plan->native(), same, outcome.plan->algorithm};
}

template <class Value>
void expect_fold(Communicator& communicator, Collective collective, std::size_t count, Operation operation) {
  Shape shape{collective, Memory::host, false, count * sizeof(Value)};
  shape.reduction = {operation, Of<Value>::element};
  for (const bool in_place : {false, true}) {
    const Ran ran = run_one<Value>(communicator, shape, in_place);
    const bool alone = communicator.topology.size == 1;
    EXPECT_TRUE(!ran.native || alone) << name_of(collective) << " of " << count;
    EXPECT_TRUE(ran.same_bits || ran.native) << name_of(collective) << ", " << name_of(operation) << " of " << count << " " << name_of(shape.reduction.element)
                                             << (in_place ? " in place" : "") << " by " << ran.algorithm << ", " << communicator.topology.text();
  }
}

void all_folds(Communicator& communicator, Collective collective) {
  for (const std::size_t count : kCounts) {
    const bool many = count > (collective == Collective::allreduce ? 6000 : 600);
    if (many && collective == Collective::reduce_scatter_block && count > 6000) continue;
    if (many) expect_fold<double>(communicator, collective, count, Operation::sum);
    if (many) continue;
    for (const Operation operation : kOrdinary) {
      expect_fold<double>(communicator, collective, count, operation);
      expect_fold<float>(communicator, collective, count, operation);
      expect_fold<std::complex<float>>(communicator, collective, count, operation);
      expect_fold<std::complex<double>>(communicator, collective, count, operation);
    }
    for (const Operation operation : kExtreme) {
      expect_fold<double>(communicator, collective, count, operation);
    }
  }
}

std::vector<Nodes> all_worlds() {
  std::vector<Nodes> all = worlds();
  for (const Nodes& more : {Nodes{0, 1}, Nodes{0, 1, 1}, Nodes{0, 0, 0, 1, 2, 0}, Nodes{0, 1, 1, 0, 1, 2, 1, 0, 0}}) all.push_back(more);
  return all;
}

virtual_world::WorldOptions in_order(Collective collective, const std::string& algorithm) {
  virtual_world::WorldOptions options;
  options.settings.reproducible = 1;
  (collective == Collective::allreduce ? options.settings.allreduce : options.settings.reduce_scatter_block) = algorithm;
  return options;
}

// Rows that do not keep the order do not fit, and others come in.
class EveryRow : public testing::TestWithParam<Algorithm> {};
std::vector<Algorithm> reducing_rows() {
  std::vector<Algorithm> rows;
  for (const Collective collective : kReducing) rows.insert(rows.end(), catalogue(collective).begin(), catalogue(collective).end());
  return rows;
}
INSTANTIATE_TEST_SUITE_P(reductions, EveryRow, testing::ValuesIn(reducing_rows()),
                         [](const auto& row) { return std::string(name_of(row.param.collective)) + "_" + row.param.name; });

TEST_P(EveryRow, has_the_bits_of_a_left_fold) {
  for (const Nodes& nodes : all_worlds()) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::world(nodes, in_order(GetParam().collective, GetParam().name), [](Communicator& communicator) { all_folds(communicator, GetParam().collective); });
  }
}

TEST_P(EveryRow, has_them_where_nothing_is_shared) {
  virtual_world::WorldOptions options = in_order(GetParam().collective, GetParam().name);
  options.shared_segment = false;
  for (const Nodes& nodes : {Nodes{0, 0, 0, 0}, Nodes{0, 1, 0, 0, 1, 1, 1}}) {
    virtual_world::world(nodes, options, [](Communicator& communicator) { all_folds(communicator, GetParam().collective); });
  }
}

// The setting finds rows by itself, without tables.
TEST(Selection, needs_no_rows) {
  for (const Collective collective : kReducing) {
    for (const bool shared : {true, false}) {
      virtual_world::WorldOptions options = in_order(collective, "");
      options.built_in_tuning = false;
      options.shared_segment = shared;
      for (const Nodes& nodes : all_worlds()) {
        virtual_world::world(nodes, options, [&](Communicator& communicator) {
          for (const std::size_t count : {1u, 100u, 3000u}) expect_fold<double>(communicator, collective, count, Operation::sum);
        });
      }
    }
  }
}

// Neither a setting nor a table nor measured times give such calls to the MPI library.
TEST(Selection, never_takes_native) {
  for (const Collective collective : kReducing) {
    virtual_world::WorldOptions options = in_order(collective, "native");
    options.settings.guard_calls = 2;
    TuningRow row;
    row.collective = name_of(collective);
    row.memory = name_of(Memory::host);
    row.algorithm = "native";
    options.tuning = {row};
    for (const std::string wanted : {"native", ""}) {
      (collective == Collective::allreduce ? options.settings.allreduce : options.settings.reduce_scatter_block) = wanted;
      for (const Nodes& nodes : {Nodes{0, 0, 0}, Nodes{0, 1, 0}}) {
        virtual_world::world(nodes, options, [&](Communicator& communicator) {
          for (int call = 0; call < 40; ++call) expect_fold<double>(communicator, collective, 20, Operation::sum);
        });
      }
    }
  }
}

// Integers have one result, whatever the order, so any algorithm will do.
TEST(Selection, leaves_integers_alone) {
  virtual_world::world({0, 0, 1, 1}, in_order(Collective::allreduce, ""), [](Communicator& communicator) {
    Shape shape{Collective::allreduce, Memory::host, false, 4000};
    shape.reduction = {Operation::sum, Element::int32};
    std::vector<std::byte> send(4000), recv(4000);
    const Outcome outcome = run_collective(communicator, shape, Buffers{send.data(), recv.data()});
    ASSERT_TRUE(outcome.status.ok());
    EXPECT_STREQ(outcome.plan->algorithm, "multi_lane");
  });
}

// The data of these tests do show an order. Without the setting the bits are others.
TEST(Data, show_the_order) {
  for (const char* algorithm : {"node_shared", "recursive_doubling", "ring"}) {
    virtual_world::WorldOptions options = in_order(Collective::allreduce, algorithm);
    options.settings.reproducible = 0;
    virtual_world::world({0, 0, 0, 0, 0}, options, [](Communicator& communicator) {
      for (const Operation operation : kOrdinary) {
        Shape shape{Collective::allreduce, Memory::host, false, 500 * sizeof(double)};
        shape.reduction = {operation, Element::float64};
        EXPECT_FALSE(run_one<double>(communicator, shape, false).same_bits);
      }
    });
  }
}

}  // namespace
}  // namespace crossrail::tests
