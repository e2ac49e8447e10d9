#include "replay_data.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace bench::replay {
namespace {

void combine_bytes(void* in, void* inout, int* count, MPI_Datatype* type) {
  int bytes = 0;
  PMPI_Type_size(*type, &bytes);
  auto* const from = static_cast<unsigned char*>(in);
  auto* const to = static_cast<unsigned char*>(inout);
  for (std::size_t at = 0; at < static_cast<std::size_t>(bytes) * static_cast<std::size_t>(*count); ++at) to[at] = std::max(to[at], from[at]);
}

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "bench: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::abort();
}

int as_int(std::int64_t number) {
  if (number > INT_MAX || number < 0) give_up("a recorded call has counts that are larger than an int");
  return static_cast<int>(number);
}

MPI_Datatype make_type(const Type& type) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  for (const auto& [place, length] : pieces_in_order(type)) {
    lengths.push_back(length);
    places.push_back(place);
  }
  MPI_Datatype rows = MPI_DATATYPE_NULL, made = MPI_DATATYPE_NULL;
  if (type.pieces.empty()) {
    MPI_Type_contiguous(as_int(type.bytes), MPI_BYTE, &rows);
  } else {
    MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE, &rows);
  }
  MPI_Type_create_resized(rows, 0, static_cast<MPI_Aint>(type.extent), &made);
  MPI_Type_commit(&made);
  MPI_Type_free(&rows);
  return made;
}

const std::map<std::string, MPI_Datatype>& elements() {
  static const std::map<std::string, MPI_Datatype> all = {
      {"int8", MPI_INT8_T}, {"int16", MPI_INT16_T}, {"int32", MPI_INT32_T}, {"int64", MPI_INT64_T}, {"uint8", MPI_UINT8_T},
      {"uint16", MPI_UINT16_T}, {"uint32", MPI_UINT32_T}, {"uint64", MPI_UINT64_T}, {"byte", MPI_BYTE}, {"float32", MPI_FLOAT},
      {"float64", MPI_DOUBLE}, {"long_double", MPI_LONG_DOUBLE}, {"complex_float32", MPI_C_FLOAT_COMPLEX},
      {"complex_float64", MPI_C_DOUBLE_COMPLEX}, {"complex_long_double", MPI_C_LONG_DOUBLE_COMPLEX}, {"truth8", MPI_C_BOOL},
      {"placed_int16", MPI_SHORT_INT}, {"placed_int32", MPI_2INT}, {"placed_int64", MPI_LONG_INT}, {"placed_float32", MPI_FLOAT_INT},
      {"placed_float64", MPI_DOUBLE_INT}, {"placed_long_double", MPI_LONG_DOUBLE_INT}};
  return all;
}

const std::map<std::string, MPI_Op>& operations() {
  static const std::map<std::string, MPI_Op> all = {
      {"sum", MPI_SUM}, {"product", MPI_PROD}, {"minimum", MPI_MIN}, {"maximum", MPI_MAX}, {"logical_and", MPI_LAND}, {"logical_or", MPI_LOR},
      {"logical_xor", MPI_LXOR}, {"bitwise_and", MPI_BAND}, {"bitwise_or", MPI_BOR}, {"bitwise_xor", MPI_BXOR}, {"minimum_place", MPI_MINLOC},
      {"maximum_place", MPI_MAXLOC}};
  return all;
}

// A Reach says how far the data of an element extend before and behind its address.
struct Reach {
  std::int64_t before = 0, behind = 0;
};

Reach reach_of(const Type& type) {
  Reach reach{0, type.pieces.empty() ? type.bytes : 0};
  for (const Piece& piece : type.pieces) {
    const std::int64_t last = piece.offset + (piece.count - 1) * piece.stride;
    reach.before = std::max(reach.before, -std::min(piece.offset, last));
    reach.behind = std::max(reach.behind, std::max(piece.offset, last) + piece.bytes);
  }
  return reach;
}

// Sums and products of these numbers are the same in any order.
template <class Number>
void fill_numbers(std::vector<std::byte>& memory, std::uint64_t seed) {
  auto* const numbers = reinterpret_cast<Number*>(memory.data());
  for (std::size_t at = 0; at < memory.size() / sizeof(Number); ++at) numbers[at] = static_cast<Number>(1 + ((at + seed) & 1));
}

void fill_elements(const std::string& element, std::vector<std::byte>& memory, std::uint64_t seed) {
  if (element.starts_with("placed") || element.starts_with("two")) std::fill(memory.begin(), memory.end(), std::byte{});
  else if (element.ends_with("float32")) fill_numbers<float>(memory, seed);
  else if (element.ends_with("float64")) fill_numbers<double>(memory, seed);
  else if (element.ends_with("long_double")) fill_numbers<long double>(memory, seed);
  else if (element.ends_with("16")) fill_numbers<std::uint16_t>(memory, seed);
  else if (element.ends_with("32")) fill_numbers<std::uint32_t>(memory, seed);
  else if (element.ends_with("64")) fill_numbers<std::uint64_t>(memory, seed);
  else for (std::size_t at = 0; at < memory.size(); ++at) memory[at] = static_cast<std::byte>((at + seed) & 1);
}

}  // namespace

std::vector<std::pair<MPI_Aint, int>> pieces_in_order(const Type& type) {
  std::vector<std::pair<MPI_Aint, int>> pieces;
  for (const Piece& piece : type.pieces) {
    for (std::int64_t one = 0; one < piece.count; ++one) {
      pieces.emplace_back(static_cast<MPI_Aint>(piece.offset + one * piece.stride), as_int(piece.bytes));
    }
  }
  return pieces;
}

MPI_Datatype Side::one_type() const {
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] > 0) return types[rank];
  }
  return MPI_BYTE;
}

Data::Data(const Program& program) : program_(program) {
  for (const Type& type : program.types) types_.push_back(make_type(type));
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rank_ = static_cast<std::uint64_t>(rank);
  MPI_Op_create(combine_bytes, 1, &user_op_);
  for (const Event& event : program.events) {
    Prepared one;
    if (event.what == Event::What::call && event.kind == kAllreduce) prepare_reduction(event, one);
    else if (event.what == Event::What::call) one = {side(event, event.sent), side(event, event.received), MPI_OP_NULL};
    prepared_.push_back(std::move(one));
  }
}

Data::~Data() {
  for (MPI_Datatype& type : types_) MPI_Type_free(&type);
  MPI_Op_free(&user_op_);
}

void Data::prepare_reduction(const Event& event, Prepared& prepared) const {
  const Row& row = event.sent.front();
  const auto element = elements().find(event.element);
  const auto operation = operations().find(event.operation);
  const bool own = element != elements().end() && operation != operations().end();
  prepared.op = own ? operation->second : user_op_;
  Side side{{as_int(row.count)}, {}, {own ? element->second : types_[row.type]}, 0, 0};
  const Type& type = program_.types[row.type];
  const Reach reach = reach_of(type);
  side.before = static_cast<std::size_t>(reach.before);
  side.bytes = static_cast<std::size_t>(row.count * std::max(type.extent, type.bytes) + reach.before + reach.behind);
  prepared.sent = prepared.received = side;
}

// Blocks follow each other. Blocks of a type with gaps do not overlap, unless its extent makes them.
Side Data::side(const Event& event, const std::vector<Row>& rows) const {
  Side side;
  std::int64_t at = 0, before = 0, most = 0;
  const bool by_bytes = event.kind == kAlltoallw, vector = event.kind != kAlltoall;
  for (const Row& row : rows) {
    const Type& type = program_.types[row.type];
    const Reach reach = reach_of(type);
    before = std::max(before, reach.before);
    most = std::max(most, reach.behind);
    for (int rank = 0; rank < row.ranks; ++rank) {
      const std::int64_t unit = by_bytes ? 1 : std::max<std::int64_t>(type.extent, 1);
      // With one rank, Open MPI (4.1.4, 5.0) counts displacements of MPI_Alltoallw in elements. `before` leaves room there, too.
      const bool alone = by_bytes && rows.size() == 1 && row.ranks == 1;
      const std::int64_t place = alone ? 0 : (at + (vector ? reach.before : 0) + unit - 1) / unit;
      side.counts.push_back(as_int(row.count));
      side.places.push_back(as_int(place));
      side.types.push_back(row.count == 0 ? MPI_BYTE : types_[row.type]);
      at = place * unit + row.count * type.extent + (vector && row.count > 0 ? reach.behind : 0);
    }
  }
  side.before = static_cast<std::size_t>(before);
  side.bytes = static_cast<std::size_t>(before + at + most);
  return side;
}

CallBuffers Data::buffers(std::size_t event) const {
  return {std::vector<std::byte>(prepared_[event].sent.bytes + 16), std::vector<std::byte>(prepared_[event].received.bytes + 16)};
}

void Data::fill(std::size_t event, CallBuffers& buffers, std::uint64_t seed) const {
  if (program_.events[event].kind == kAllreduce) {
    fill_elements(program_.events[event].element, buffers.sent, seed);
    fill_elements(program_.events[event].element, buffers.received, program_.events[event].in_place ? seed : 0);
    return;
  }
  std::uint64_t state = (seed + (rank_ << 32)) * 0x9e3779b97f4a7c15ull + 1;
  for (auto* memory : {&buffers.sent, &buffers.received}) {
    for (std::byte& one : *memory) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      one = static_cast<std::byte>(state >> 56);
    }
  }
}

void* Data::sent(std::size_t event, CallBuffers& buffers) const {
  return program_.events[event].in_place ? MPI_IN_PLACE : buffers.sent.data() + prepared_[event].sent.before;
}

void* Data::received(std::size_t event, CallBuffers& buffers) const { return buffers.received.data() + prepared_[event].received.before; }

std::vector<MPI_Comm> make_comms(const Program& program) {
  std::vector<std::size_t> order;
  for (std::size_t one = 0; one < program.comms.size(); ++one) {
    if (!program.comms[one].ranks.empty()) order.push_back(one);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return program.comms[a].place < program.comms[b].place; });
  std::vector<MPI_Comm> comms(program.comms.size(), MPI_COMM_NULL);
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (const std::size_t one : order) {
    MPI_Group group;
    const Comm& comm = program.comms[one];
    MPI_Group_incl(world, static_cast<int>(comm.ranks.size()), comm.ranks.data(), &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, comm.place % 30000, &comms[one]);
    MPI_Group_free(&group);
  }
  MPI_Group_free(&world);
  return comms;
}

}  // namespace bench::replay
