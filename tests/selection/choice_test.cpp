// These tests compare a compiled Choice with its definition, evaluated row by row for one size. They also check what communicators share.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "selection/choices.h"
#include "tests/selection/chosen.h"

namespace crossrail::tests {
namespace {

// The definition. -----------------------------------------------------------------------------------------------------------------------

struct Question {
  std::vector<TuningRow> rows;
  std::string wanted;
  Topology topology;
  bool messages, devices_of_nodes;
  int ranks_per_device;
  Form form;
  Shape shape;

  Ground ground() const { return {topology, messages, ranks_per_device, devices_of_nodes, form}; }
  bool reduces_in_order() const { return topology.rank_order && row_of(shape.collective).reduces && topology.size > 1; }
};

bool matches(const TuningRow& row, const Question& asked, const std::string& memory) {
  MpiVersion mpi;
  (void)parse_mpi_version(asked.topology.mpi, mpi);
  return row.collective == name_of(asked.shape.collective) && row.memory == memory && asked.shape.block_bytes <= row.up_to_bytes &&
         row.nodes.contains(static_cast<std::uint64_t>(asked.topology.node_count())) &&
         row.ranks_per_node.contains(static_cast<std::uint64_t>(asked.topology.largest_node())) &&
         row.ranks_per_device.contains(static_cast<std::uint64_t>(asked.ranks_per_device)) && row.mpi.contains(mpi);
}

void add_if_it_fits(const Question& asked, const std::string& name, const Parameters& given, const std::string& origin, std::vector<Chosen>& all) {
  if (name == "native") {
    if (!asked.reduces_in_order()) all.push_back({nullptr, {}, origin, false, ""});
    return;
  }
  const Algorithm* const row = find_algorithm(asked.shape.collective, name, asked.shape.memory);
  if (row == nullptr || !row->fits(asked.topology, asked.shape)) return;
  all.push_back({row, {}, origin, false, ""});
  for (const Parameter* one : row->parameters) all.back().parameters[one->name] = given.count(one->name) != 0 ? given.at(one->name) : one->preset;
}

const char* by_messages(const Question& asked) {
  if (is_rooted(asked.shape.collective)) return "direct";
  if (asked.shape.collective == Collective::allgather || asked.shape.collective == Collective::allgatherv) return "ring";
  if (asked.shape.collective != Collective::allreduce) return "pairwise";
  return asked.topology.rank_order ? "rank_order" : "recursive_doubling";
}

std::vector<Chosen> blocking(const Question& asked) {
  std::vector<Chosen> all;
  Wanted wanted;
  if (!asked.wanted.empty() && read_wanted(asked.shape.collective, asked.wanted, wanted).ok()) {
    add_if_it_fits(asked, wanted.algorithm, wanted.parameters, "setting", all);
  }
  std::vector<std::string> memories{ground_of(asked.shape)};
  if (asked.devices_of_nodes) memories.insert(memories.begin(), "device");
  for (const std::string& memory : memories) {
    for (const TuningRow& row : asked.rows) {
      if (matches(row, asked, memory)) add_if_it_fits(asked, row.algorithm, row.parameters, row.origin, all);
    }
  }
  if (asked.shape.order == Order::stream) {
    std::erase_if(all, [](const Chosen& one) { return one.algorithm == nullptr; });
    return all;
  }
  if (asked.reduces_in_order() && asked.shape.memory == Memory::host) {
    for (const std::string name : {"node_shared", by_messages(asked)}) {
      const bool there = std::any_of(all.begin(), all.end(), [&](const Chosen& one) { return one.algorithm != nullptr && one.algorithm->name == name; });
      if (!there) add_if_it_fits(asked, name, {}, "CROSSRAIL_REPRODUCIBLE", all);
    }
  }
  all.push_back({nullptr, {}, "last row", true, ""});
  return all;
}

std::vector<Chosen> never_native(const Question& asked) {
  const bool shared = asked.topology.one_node() && asked.topology.shared_segment;
  const std::string name = shared ? "node_shared" : asked.messages ? by_messages(asked) : "";
  const Algorithm* const last = find_algorithm(asked.shape.collective, name, Memory::host);
  if (last == nullptr || !last->fits(asked.topology, asked.shape)) return {};
  std::vector<Chosen> all = blocking(asked);
  std::erase_if(all, [](const Chosen& one) { return one.algorithm == nullptr; });
  if (asked.shape.memory == Memory::host) all.push_back({last, ParameterValues(last->parameters).by_name(), "what cannot fail", true, ""});
  return all;
}

std::vector<Chosen> by_definition(const Question& asked) {
  const std::vector<Chosen> all = blocking(asked);
  if (asked.form == Form::blocking) return all;
  if (asked.form == Form::pending) return !all.empty() && all.front().algorithm == nullptr ? std::vector<Chosen>{} : never_native(asked);
  const std::vector<Chosen> ours = never_native(asked);
  return ours.empty() ? all : ours;
}

std::string text_of(const std::vector<Chosen>& all) {
  std::string text;
  for (const Chosen& one : all) {
    text += std::string(one.algorithm == nullptr ? "native" : one.algorithm->name) + " (" + one.origin + (one.fallback ? ", last" : "");
    for (const auto& [name, value] : one.parameters) text += " " + name + "=" + std::to_string(value);
    text += ") ";
  }
  return text;
}

// Random questions. ---------------------------------------------------------------------------------------------------------------------

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  Question question() {
    Question asked{{}, "", topology(), flip(), false, one_of({1, 1, 1, 2, 4}), static_cast<Form>(below(3)), {}};
    asked.shape = shape(asked.topology);
    asked.devices_of_nodes = !asked.topology.one_node() && asked.shape.memory == Memory::host && flip();
    if (below(3) == 0) asked.wanted = setting(asked.shape.collective);
    if (flip()) (void)read_tuning(default_tuning(), "default.csv", asked.rows);
    const int rows = below(12);
    for (int number = 0; number < rows; ++number) {
      const auto at = asked.rows.begin() + below(static_cast<int>(asked.rows.size()) + 1);
      asked.rows.insert(at, row(asked.shape, number));
    }
    return asked;
  }

  // Returns sizes at which anything may change, sizes beside these, and others.
  std::set<std::uint64_t> sizes(const Question& asked) {
    std::set<std::uint64_t> all{0, 1, ~std::uint64_t{0}};
    const auto around = [&](std::uint64_t bytes) { all.insert({bytes - 1, bytes, bytes + 1}); };
    for (const TuningRow& row : asked.rows) around(row.up_to_bytes);
    for (const Memory memory : kMemories) {
      for (const Algorithm& row : catalogue(asked.shape.collective, memory)) around(row.fit(asked.topology, asked.shape).most_bytes());
    }
    for (int bits = 0; bits < 64; bits += 1 + below(6)) all.insert(random_() >> bits);
    return all;
  }

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<std::uint64_t>(end)); }
  bool flip() { return below(2) == 0; }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }

  Topology topology() {
    std::vector<int> node_of(static_cast<std::size_t>(one_of({1, 2, 3, 5, 8, 17, 64, 200})));
    const int nodes = one_of({1, 1, 2, 3, 16, 40});
    for (std::size_t rank = 0; rank < node_of.size(); ++rank) node_of[rank] = flip() ? below(nodes) : static_cast<int>(rank) % nodes;
    Topology made = topology_from_nodes(node_of, below(static_cast<int>(node_of.size())));
    made.shared_segment = made.size > 1 && below(4) != 0;
    made.single_copy = made.shared_segment && flip();
    made.scratch_bytes = one_of<std::uint64_t>({0, 1000, 1 << 16, 1 << 20, 64 << 20});
    made.rank_order = below(3) == 0;
    made.mpi = one_of<const char*>({"", "openmpi4.1.6", "mpich5.0.2"});
    return made;
  }

  Shape shape(const Topology& topology) {
    Shape made{kCollectives[below(static_cast<int>(std::size(kCollectives)))], Memory::host, flip(), 0};
    if (topology.one_node() && flip()) made.memory = Memory::device;
    if (made.memory == Memory::device && flip()) made.order = Order::stream;
    if (!row_of(made.collective).reduces) return made;
    made.reduction = {one_of({Operation::sum, Operation::maximum, Operation::bitwise_and}),
                      one_of({Element::float64, Element::int32, Element::long_double, Element::complex_float64})};
    return made;
  }

  std::string name(Collective collective, Memory memory) {
    const auto rows = catalogue(collective, memory);
    return rows.empty() || below(8) == 0 ? one_of<const char*>({"native", "no_such_row"}) : rows[static_cast<std::size_t>(below(static_cast<int>(rows.size())))].name;
  }

  std::string setting(Collective collective) {
    return name(collective, flip() ? Memory::host : Memory::device) + one_of<const char*>({"", "", " packet=7", " no_such_parameter=7"});
  }

  TuningRow row(const Shape& shape, int number) {
    TuningRow made;
    made.collective = below(6) == 0 ? "alltoallv" : name_of(shape.collective);
    made.memory = below(6) == 0 ? one_of<const char*>({"host", "device", "stream"}) : ground_of(shape);
    if (below(5) == 0) (void)parse_mpi_range("openmpi4-", made.mpi);
    if (below(4) == 0) made.nodes = {1, 2};
    if (below(4) == 0) made.ranks_per_node = {2, 20};
    if (below(4) == 0) made.ranks_per_device = {1, 2};
    if (below(3) != 0) made.up_to_bytes = random_() >> below(64);
    made.algorithm = name(shape.collective, shape.memory);
    made.parameters = {{"packet", static_cast<std::uint64_t>(below(5000))}};
    made.origin = "drawn:" + std::to_string(number);
    return made;
  }

  std::mt19937_64 random_;
};

TEST(Choice, is_what_the_definition_says_for_every_size) {
  const std::uint64_t seed = std::random_device{}();
  Draw draw(seed);
  for (int number = 0; number < 2000; ++number) {
    Question asked = draw.question();
    const Choice choice(asked.rows, asked.wanted, asked.ground(), asked.shape);
    for (const std::uint64_t bytes : draw.sizes(asked)) {
      asked.shape.block_bytes = bytes;
      ASSERT_EQ(text_of(chosen_of(choice, bytes)), text_of(by_definition(asked)))
          << "seed " << seed << ", question " << number << ", " << name_of(asked.shape.collective) << " of " << bytes << " bytes, " << asked.topology.text();
    }
  }
}

TEST(Choice, intervals_follow_each_other_and_neighbours_differ) {
  std::vector<TuningRow> rows;
  ASSERT_TRUE(read_tuning(default_tuning(), "default.csv", rows).ok());
  Topology topology = topology_from_nodes({0, 0, 0, 0}, 0);
  topology.shared_segment = true;
  topology.scratch_bytes = 64 << 20;
  const Choice choice(rows, "", {topology}, {Collective::alltoall, Memory::host, false, 0});
  const auto& intervals = choice.intervals();
  ASSERT_GT(intervals.size(), 1u);
  EXPECT_EQ(intervals.front().from, 0u);
  EXPECT_EQ(intervals.back().up_to, ~std::uint64_t{0});
  for (std::size_t next = 1; next < intervals.size(); ++next) {
    EXPECT_EQ(intervals[next].from, intervals[next - 1].up_to + 1);
    EXPECT_NE(intervals[next].candidates, intervals[next - 1].candidates);
  }
}

Choices::Table shared_table(const std::string& csv) {
  std::vector<TuningRow> rows;
  EXPECT_TRUE(read_tuning(csv, "t", rows).ok());
  return std::make_shared<const std::vector<TuningRow>>(std::move(rows));
}

TEST(Choices, are_shared_by_communicators_that_are_alike) {
  const Choices::Table rows = shared_table("alltoall,host,*,*,*,bruck,\n"), others = shared_table("alltoall,host,*,*,*,bruck,\n");
  const Topology topology = topology_from_nodes({0, 0, 1}, 0), elsewhere = topology_from_nodes({0, 0, 1}, 2);
  const Settings settings;
  const auto choices = Choices::shared(rows, settings, topology);
  EXPECT_EQ(Choices::shared(rows, settings, elsewhere), choices) << "whichever rank this is";
  EXPECT_NE(Choices::shared(others, settings, topology), choices) << "another table";
  Settings wanting;
  wanting.allgather = "ring";
  EXPECT_NE(Choices::shared(rows, wanting, topology), choices);
  Topology larger = topology_from_nodes({0, 0, 1, 1}, 0), ordered = topology, sharing = topology, copying = topology, roomy = topology, known = topology;
  ordered.rank_order = true;
  sharing.shared_segment = true;
  copying.single_copy = true;
  roomy.scratch_bytes = 1 << 30;
  known.mpi = "openmpi4.1.6";
  for (const Topology* other : {&larger, &ordered, &sharing, &copying, &roomy, &known}) EXPECT_NE(Choices::shared(rows, settings, *other), choices);
}

TEST(Choices, go_with_the_last_communicator) {
  const Topology topology = topology_from_nodes({0, 0, 1}, 0);
  const Choices::Table rows = shared_table("");
  std::weak_ptr<Choices> choices;
  {
    const auto held = Choices::shared(rows, {}, topology);
    choices = held;
  }
  EXPECT_TRUE(choices.expired());
  EXPECT_EQ(rows.use_count(), 1);
}

TEST(Choices, compile_a_kind_of_call_once) {
  const Topology topology = topology_from_nodes({0, 0, 1}, 0);
  const auto choices = Choices::shared(shared_table("alltoall,host,*,*,*,bruck,\n"), {}, topology);
  const Shape shape{Collective::alltoall, Memory::host, false, 8}, larger{Collective::alltoall, Memory::host, false, 800};
  const Choice& choice = choices->of({topology}, shape);
  EXPECT_EQ(&choices->of({topology}, larger), &choice) << "of every size";
  EXPECT_NE(&choices->of({topology}, {Collective::alltoall, Memory::host, true, 8}), &choice);
  Ground pending{topology};
  pending.form = Form::pending;
  EXPECT_NE(&choices->of(pending, shape), &choice);
}

}  // namespace
}  // namespace crossrail::tests
