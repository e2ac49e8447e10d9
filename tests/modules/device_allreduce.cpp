// The program tests MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init and crossrail_allreduce_on_stream on device memory. Results are compared with
// the definition: the elements of all ranks, gathered in host memory and combined in their order. It uses all operations and types that devices know,
// in place and not, all kinds of memory, and odd addresses.

#include <cstdlib>

#include "device_exchange.h"

#include <crossrail/crossrail.h>

namespace {

using namespace device_test;

// Values are small whole numbers, so that sums are exact in every order, and fit. Open MPI 4.1's own sums of int8 that do not fit are wrong.
template <class Type>
void fill(std::vector<unsigned char>& row, std::uint64_t seed) {
  const int most = std::max(1, std::min(20, 127 / size));
  auto* const all = reinterpret_cast<Type*>(row.data());
  for (std::size_t place = 0; place < row.size() / sizeof(Type); ++place) all[place] = static_cast<Type>(static_cast<int>(mix(seed + place) % static_cast<unsigned>(2 * most + 1)) - most);
}

// Values are 1, -1 or 0, whose sums are exact in all formats of short floats.
template <class Stored, unsigned kOne>
void fill_short(std::vector<unsigned char>& row, std::uint64_t seed) {
  constexpr Stored kNumbers[] = {0, Stored{kOne}, Stored{kOne | 1u << (8 * sizeof(Stored) - 1)}};
  auto* const all = reinterpret_cast<Stored*>(row.data());
  for (std::size_t place = 0; place < row.size() / sizeof(Stored); ++place) all[place] = kNumbers[mix(seed + place) % 3];
}

// Returns an operation on short floats. Without crossrail there is none.
MPI_Op short_op(crossrail_format format, MPI_Op op) {
  const auto get = reinterpret_cast<decltype(&crossrail_op)>(dlsym(RTLD_DEFAULT, "crossrail_op"));
  MPI_Op made = MPI_OP_NULL;
  if (get == nullptr || get(format, op, &made) != MPI_SUCCESS) {
    std::fprintf(stderr, "crossrail_op fails\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return made;
}

struct Kindof {
  MPI_Datatype type;
  MPI_Op op;
  const char* name;
  void (*fill)(std::vector<unsigned char>&, std::uint64_t);
};

struct FloatInt {
  float value;
  int place;
  FloatInt() = default;
  explicit FloatInt(int number) : value(static_cast<float>(number / 8)), place(number) {}
};
struct DoubleInt {
  double value;
  int place;
  DoubleInt() = default;
  explicit DoubleInt(int number) : value(number / 8), place(number) {}
};
struct ShortInt {
  short value;
  int place;
  ShortInt() = default;
  explicit ShortInt(int number) : value(static_cast<short>(number / 8)), place(number) {}
};

const std::vector<Kindof>& kinds_of_calls() {
  static const std::vector<Kindof> all = {
      {MPI_FLOAT, MPI_SUM, "sum of floats", fill<float>},          {MPI_DOUBLE, MPI_SUM, "sum of doubles", fill<double>},
      {MPI_INT, MPI_SUM, "sum of ints", fill<int>},                {MPI_INT8_T, MPI_SUM, "sum of int8", fill<signed char>},
      {MPI_UINT16_T, MPI_PROD, "product of uint16", fill<short>},  {MPI_INT64_T, MPI_MAX, "maximum of int64", fill<long>},
      {MPI_UINT8_T, MPI_MIN, "minimum of uint8", fill<unsigned char>}, {MPI_INT, MPI_LAND, "logical and", fill<int>},
      {MPI_LONG, MPI_LXOR, "logical xor", fill<long>},             {MPI_BYTE, MPI_BXOR, "xor of bytes", fill<unsigned char>},
      {MPI_UINT32_T, MPI_BOR, "or", fill<unsigned>},               {MPI_C_FLOAT_COMPLEX, MPI_PROD, "product of complex", fill<float>},
      {MPI_C_DOUBLE_COMPLEX, MPI_SUM, "sum of complex", fill<double>}, {MPI_FLOAT, MPI_MIN, "minimum of floats", fill<float>},
      {MPI_2INT, MPI_MINLOC, "minloc of ints", fill<int>},         {MPI_FLOAT_INT, MPI_MAXLOC, "maxloc of floats", fill<FloatInt>},
      {MPI_DOUBLE_INT, MPI_MINLOC, "minloc of doubles", fill<DoubleInt>}, {MPI_SHORT_INT, MPI_MAXLOC, "maxloc of shorts", fill<ShortInt>},
      {MPI_UINT16_T, short_op(CROSSRAIL_FLOAT16, MPI_SUM), "sum of float16", fill_short<std::uint16_t, 0x3c00>},
      {MPI_INT16_T, short_op(CROSSRAIL_BFLOAT16, MPI_SUM), "sum of bfloat16", fill_short<std::uint16_t, 0x3f80>},
      {MPI_BYTE, short_op(CROSSRAIL_FLOAT8_E4M3, MPI_MAX), "maximum of float8_e4m3", fill_short<std::uint8_t, 0x38>},
      {MPI_UINT8_T, short_op(CROSSRAIL_FLOAT8_E5M2, MPI_PROD), "product of float8_e5m2", fill_short<std::uint8_t, 0x3c>}};
  return all;
}

// Computes what the definition says, on the host: MPI_Reduce_local of everybody's elements, in the order of the ranks.
std::vector<unsigned char> define(const std::vector<unsigned char>& mine, int count, const Kindof& kind) {
  std::vector<unsigned char> all(mine.size() * static_cast<std::size_t>(size));
  MPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, all.data(), static_cast<int>(mine.size()), MPI_BYTE, MPI_COMM_WORLD);
  std::vector<unsigned char> sum(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(mine.size()));
  for (int other = 1; other < size; ++other) {
    // As inoutvec = invec op inoutvec, what came before is the left operand.
    std::vector<unsigned char> next(all.begin() + static_cast<std::ptrdiff_t>(mine.size()) * other, all.begin() + static_cast<std::ptrdiff_t>(mine.size()) * (other + 1));
    MPI_Reduce_local(sum.data(), next.data(), count, kind.type, kind.op);
    sum.swap(next);
  }
  return sum;
}

// Returns whether the values are the same. What lies in the gaps of pairs does not matter.
bool equal(const std::vector<unsigned char>& one, const std::vector<unsigned char>& other, int count, MPI_Datatype type) {
  const auto packed = [&](const std::vector<unsigned char>& row) {
    int bytes = 0, at = 0;
    MPI_Pack_size(count, type, MPI_COMM_WORLD, &bytes);
    std::vector<unsigned char> made(static_cast<std::size_t>(bytes));
    MPI_Pack(row.data(), count, type, made.data(), bytes, &at, MPI_COMM_WORLD);
    made.resize(static_cast<std::size_t>(at));
    return made;
  };
  // Complex products in another order may have other signs of zero. On several nodes each node's ranks come first.
  if (type != MPI_C_FLOAT_COMPLEX) return packed(one) == packed(other);
  const auto* const first = reinterpret_cast<const float*>(one.data());
  return std::equal(first, first + 2 * count, reinterpret_cast<const float*>(other.data()));
}

enum class Form { blocking, nonblocking, persistent, stream };
constexpr const char* kForms[] = {"blocking", "nonblocking", "persistent", "stream"};

using OnStream = decltype(&crossrail_allreduce_on_stream);
OnStream on_stream = nullptr;
cudaStream_t stream = nullptr;

int call(Form form, const void* from, void* to, int count, const Kindof& kind) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (form) {
    case Form::blocking: return MPI_Allreduce(from, to, count, kind.type, kind.op, MPI_COMM_WORLD);
    case Form::nonblocking: {
      const int code = MPI_Iallreduce(from, to, count, kind.type, kind.op, MPI_COMM_WORLD, &request);
      return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    case Form::persistent: {
      using Init = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
      static const Init init = [] {
        void* const standard = dlsym(RTLD_DEFAULT, "MPI_Allreduce_init");
        return reinterpret_cast<Init>(standard != nullptr ? standard : dlsym(RTLD_DEFAULT, "MPIX_Allreduce_init"));
      }();
      if (init == nullptr) return MPI_Allreduce(from, to, count, kind.type, kind.op, MPI_COMM_WORLD);
      init(from, to, count, kind.type, kind.op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      MPI_Start(&request);
      const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
      return code;
    }
    case Form::stream: {
      const int code = on_stream(from, to, count, kind.type, kind.op, MPI_COMM_WORLD, stream);
      require(cudaStreamSynchronize(stream), "the stream");
      return code;
    }
  }
  return MPI_SUCCESS;
}

struct Case {
  Form form;
  Kind from, to;
  bool in_place;
  int count;
  std::size_t shift;  // It is the shift of the addresses, in elements.
};

void run_case(const Case& one, const Kindof& kind, std::uint64_t seed) {
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(kind.type, &lower, &extent);
  const auto bytes = static_cast<std::size_t>(one.count) * static_cast<std::size_t>(extent), shift = one.shift * static_cast<std::size_t>(extent);
  std::vector<unsigned char> mine(bytes);
  kind.fill(mine, seed * 1000003 + static_cast<unsigned>(rank) * 7919);
  Memory send(bytes + shift, one.from), recv(bytes + shift, one.to);
  std::vector<unsigned char> image(bytes + shift, 0x5A);
  std::copy(mine.begin(), mine.end(), image.begin() + static_cast<std::ptrdiff_t>(shift));
  send.write(image);
  if (!one.in_place) std::fill(image.begin(), image.end(), 0xC3);
  recv.write(image);
  const void* const from = one.in_place ? MPI_IN_PLACE : static_cast<unsigned char*>(send.address) + shift;
  const int code = call(one.form, from, static_cast<unsigned char*>(recv.address) + shift, one.count, kind);
  carried_by = last_algorithm();
  if (code != MPI_SUCCESS) complain("%s %s: code %d", kForms[static_cast<int>(one.form)], kind.name, code);
  const std::vector<unsigned char> got = recv.read();
  const std::vector<unsigned char> expected = define(mine, one.count, kind);
  const std::vector<unsigned char> found(got.begin() + static_cast<std::ptrdiff_t>(shift), got.begin() + static_cast<std::ptrdiff_t>(shift + bytes));
  if (!equal(found, expected, one.count, kind.type)) {
    complain("%s %s of %d from %s to %s%s at %zu by %s", kForms[static_cast<int>(one.form)], kind.name, one.count, name_of(one.from), name_of(one.to),
             one.in_place ? " in place" : "", one.shift, carried_by.c_str());
  }
}

// Device kernels reach these kinds of memory.
constexpr Kind kOnDevices[] = {Kind::device, Kind::inside, Kind::chunks, Kind::chunks_private, Kind::pool_shared, Kind::pool_default};

void all_operations() {
  std::uint64_t seed = 0;
  for (const Kindof& kind : kinds_of_calls()) {
    for (const int count : {1, 3, 17, 1000, 4099, 50'000}) {
      for (const bool in_place : {false, true}) {
        ++seed;
        run_case({seed % 3 == 0 ? Form::nonblocking : seed % 7 == 0 ? Form::persistent : Form::blocking, Kind::device, Kind::device, in_place, count, seed % 4}, kind, seed);
      }
    }
  }
}

void all_kinds_of_memory() {
  std::uint64_t seed = 5000;
  for (const Kind from : kKinds) {
    for (const Kind to : kKinds) {
      const Kindof& kind = kinds_of_calls()[++seed % 3];
      // Ranks may have their elements anywhere.
      const Kind mine = rank == static_cast<int>(seed) % size ? to : from;
      for (int again = 0; again < 3; ++again) run_case({Form::blocking, mine, to, false, static_cast<int>(1 + mix(seed) % 20'000), 0}, kind, seed);
    }
  }
}

void large_and_again() {
  for (const int count : {1 << 20, (1 << 24) + 3}) {
    for (const bool in_place : {false, true}) run_case({Form::blocking, Kind::device, Kind::device, in_place, count, 1}, kinds_of_calls()[0], 77);
  }
}

// The ranks are on one machine, but as if on several. Streams have one node.
bool on_several_nodes() { return std::getenv("CROSSRAIL_NODES") != nullptr; }

void in_streams() {
  if (!kernels_run_at_once() || on_stream == nullptr || on_several_nodes()) return;
  require(cudaStreamCreate(&stream), "a stream");
  std::uint64_t seed = 9000;
  for (const Kind kind_of_memory : kOnDevices) {
    const bool staged = kind_of_memory == Kind::chunks_private || kind_of_memory == Kind::pool_default || kind_of_memory == Kind::pool_shared;
    if (staged) continue;  // Nothing is staged in a stream's order.
    for (const int count : {1, 1000, 5000, 300'000}) {
      for (const bool in_place : {false, true}) {
        ++seed;
        run_case({Form::stream, kind_of_memory, kind_of_memory, in_place, count, 0}, kinds_of_calls()[seed % 3], seed);
      }
    }
  }
  require(cudaStreamDestroy(stream), "a stream");
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  on_stream = reinterpret_cast<OnStream>(dlsym(RTLD_DEFAULT, "crossrail_allreduce_on_stream"));
  for (int call_number = 0; call_number < 10; ++call_number) MPI_Allreduce(MPI_IN_PLACE, &devices, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  all_operations();
  all_kinds_of_memory();
  large_and_again();
  in_streams();
  run_case({Form::blocking, Kind::device, Kind::device, false, 1000, 0}, kinds_of_calls()[0], 1);
  const char* const asked = std::getenv("CROSSRAIL_ALLREDUCE");
  const std::string on_one_node = asked != nullptr && size <= devices ? asked : "two_shot_pull";
  const std::string expected = on_several_nodes() ? "multi_lane" : on_one_node;
  if (crossrail_is_here() && carried_by != expected) {
    complain("4000 bytes were carried by %s", carried_by.c_str());
  }
  return finish("device_allreduce");
}
