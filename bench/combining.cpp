// This program compares the loops that combine elements (collectives/combine.cpp) with MPI_Reduce_local, for all operations and elements that both
// have, in turns in one run. It is one process:
//
//   combining_openmpi [SAMPLES]
//
// MPI's pair types with a gap (MPI_DOUBLE_INT) are in rows without gaps for crossrail, as in calls; the times do not include packing them. Ratios are
// the MPI library's time divided by that of crossrail, each the fastest of all samples.

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "collectives/combine.h"

namespace {

using crossrail::Element;
using crossrail::Operation;

struct Type {
  const char* name;
  MPI_Datatype type;
  Element element;
};
struct Op {
  const char* name;
  MPI_Op op;
  Operation operation;
};
struct Measured {
  std::string name;
  std::size_t bytes;
  double native_us, ours_us;
  double ratio() const { return native_us / ours_us; }
};

#define TYPE(name, element) {#name, MPI_##name, Element::element}
std::vector<Type> types() {
  return {TYPE(INT8_T, int8), TYPE(INT16_T, int16), TYPE(INT32_T, int32), TYPE(INT64_T, int64), TYPE(UINT8_T, uint8), TYPE(UINT16_T, uint16),
          TYPE(UINT32_T, uint32), TYPE(UINT64_T, uint64), TYPE(BYTE, byte), TYPE(FLOAT, float32), TYPE(DOUBLE, float64),
          TYPE(LONG_DOUBLE, long_double), TYPE(C_FLOAT_COMPLEX, complex_float32), TYPE(C_DOUBLE_COMPLEX, complex_float64),
          TYPE(C_LONG_DOUBLE_COMPLEX, complex_long_double), TYPE(C_BOOL, truth8), TYPE(LOGICAL, truth32), TYPE(SHORT_INT, placed_int16),
          TYPE(2INT, placed_int32), TYPE(LONG_INT, placed_int64), TYPE(FLOAT_INT, placed_float32), TYPE(DOUBLE_INT, placed_float64),
          TYPE(LONG_DOUBLE_INT, placed_long_double), TYPE(2REAL, two_float32), TYPE(2DOUBLE_PRECISION, two_float64)};
}
#undef TYPE
#define OP(name, operation) {#name, MPI_##name, Operation::operation}
std::vector<Op> operations() {
  return {OP(SUM, sum), OP(PROD, product), OP(MIN, minimum), OP(MAX, maximum), OP(LAND, logical_and), OP(LOR, logical_or), OP(LXOR, logical_xor),
          OP(BAND, bitwise_and), OP(BOR, bitwise_or), OP(BXOR, bitwise_xor), OP(MINLOC, minimum_place), OP(MAXLOC, maximum_place)};
}
#undef OP

// The sums and products of these numbers stay harmless, however often they are combined: 1 and -1, any integers, and both truth values.
template <class Number>
void put(std::byte* at, Number number) {
  std::memcpy(at, &number, sizeof number);
}
using Put = void (*)(std::byte* at, unsigned drawn);
template <class Number>
void put_sign(std::byte* at, unsigned drawn) {
  put(at, static_cast<Number>(drawn % 2 == 0 ? 1 : -1));
}
template <class Part>
void put_complex(std::byte* at, unsigned drawn) {
  put_sign<Part>(at, drawn);
  put(at + sizeof(Part), Part{0});
}
template <class Number, class Place>
void put_placed(std::byte* at, unsigned drawn) {
  put_sign<Number>(at, drawn);
  put(at + sizeof(Number), static_cast<Place>(drawn / 2 % 1000));
}
template <class Number>
void put_truth(std::byte* at, unsigned drawn) {
  put(at, static_cast<Number>(drawn % 2));
}

// Rows have no gaps. In an MPI type with a gap, the place may lie in the gap; then all places are 0.
Put put_of(Element element) {
  switch (element) {
    case Element::float32: return put_sign<float>;
    case Element::float64: return put_sign<double>;
    case Element::long_double: return put_sign<long double>;
    case Element::complex_float32: return put_complex<float>;
    case Element::complex_float64: return put_complex<double>;
    case Element::complex_long_double: return put_complex<long double>;
    case Element::truth8: return put_truth<std::uint8_t>;
    case Element::truth32: return put_truth<std::uint32_t>;
    case Element::placed_float32: return put_placed<float, int>;
    case Element::placed_float64: return put_placed<double, int>;
    case Element::placed_long_double: return put_placed<long double, int>;
    case Element::placed_int64: return put_placed<long, int>;
    case Element::placed_int16: return put_placed<short, int>;
    case Element::two_float32: return put_placed<float, float>;
    case Element::two_float64: return put_placed<double, double>;
    default: return nullptr;
  }
}

// A row begins at a cache line, and rows of different seeds begin at different places in their pages.
class Row {
 public:
  Row(Element element, std::size_t count, std::size_t apart, unsigned seed) : memory_(count * apart + 2 * kPage) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    first_ = memory_.data() + (kPage - address % kPage) + seed * 1024;
    std::mt19937 random(seed);
    const Put put_one = put_of(element);
    for (std::size_t one = 0; put_one != nullptr && one < count; ++one) put_one(first_ + one * apart, static_cast<unsigned>(random()));
    for (std::size_t one = 0; put_one == nullptr && one < count * apart; ++one) first_[one] = static_cast<std::byte>(random());
    kept_.assign(first_, first_ + count * apart);
  }
  std::byte* data() const { return first_; }
  // Restores the initial values, because some libraries do not write a minimum again once it has been found.
  void restore() { std::copy(kept_.begin(), kept_.end(), first_); }

 private:
  static constexpr std::size_t kPage = 4096;
  std::vector<std::byte> memory_;
  std::byte* first_;
  std::vector<std::byte> kept_;
};

// Returns the time of the fastest of some calls, in microseconds.
template <class Call>
double sample(std::size_t bytes, Call call) {
  const int calls = static_cast<int>(std::max<std::size_t>(1, (std::size_t{16} << 10) / bytes));
  const auto began = std::chrono::steady_clock::now();
  for (int one = 0; one < calls; ++one) call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count() / calls;
}

// Returns false if the MPI library or crossrail does not have it.
bool measure(const Type& type, const Op& op, int samples, Measured& measured) {
  const crossrail::Reduction reduction{op.operation, type.element};
  const crossrail::Combine combine = crossrail::combine_of(reduction);
  MPI_Aint lower = 0, extent = 0;
  if (combine == nullptr || type.type == MPI_DATATYPE_NULL || MPI_Type_get_extent(type.type, &lower, &extent) != MPI_SUCCESS) return false;
  const std::size_t element = crossrail::bytes_of(type.element), count = measured.bytes / element, apart = static_cast<std::size_t>(extent);
  Row in_of_mpi(type.element, count, apart, 1), inout_of_mpi(type.element, count, apart, 2);
  Row own_in(type.element, count, element, 1), own_inout(type.element, count, element, 2);
  Row &in = apart == element ? in_of_mpi : own_in, &inout = apart == element ? inout_of_mpi : own_inout;  // Both use the same memory.
  if (MPI_Reduce_local(in_of_mpi.data(), inout_of_mpi.data(), static_cast<int>(count), type.type, op.op) != MPI_SUCCESS) return false;
  measured.native_us = measured.ours_us = 1e9;
  for (int one = 0; one < samples; ++one) {
    inout_of_mpi.restore();
    measured.native_us = std::min(measured.native_us, sample(measured.bytes, [&] {
      (void)MPI_Reduce_local(in_of_mpi.data(), inout_of_mpi.data(), static_cast<int>(count), type.type, op.op);
    }));
    inout.restore();
    measured.ours_us = std::min(measured.ours_us, sample(measured.bytes, [&] { combine(in.data(), inout.data(), inout.data(), count); }));
  }
  measured.name = std::string(op.name) + " " + type.name;
  return true;
}

void print_slowest(std::vector<Measured> all) {
  constexpr double kSlower = 0.95;
  constexpr std::size_t kShown = 12;
  std::sort(all.begin(), all.end(), [](const Measured& a, const Measured& b) { return a.ratio() < b.ratio(); });
  const auto slower = std::count_if(all.begin(), all.end(), [](const Measured& one) { return one.ratio() < kSlower; });
  std::printf("\n%zu measured, %zu of them with a ratio below %.2f; the lowest:\n", all.size(), static_cast<std::size_t>(slower), kSlower);
  for (std::size_t one = 0; one < std::min(kShown, all.size()); ++one) {
    std::printf("%-28s %8zu bytes  %6.2f\n", all[one].name.c_str(), all[one].bytes, all[one].ratio());
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int samples = argc > 1 ? std::atoi(argv[1]) : 9;
  constexpr std::size_t kBytes[] = {1 << 10, 64 << 10, 4 << 20};
  std::vector<Measured> all;
  std::printf("%-28s %31s %31s %31s\n%-28s", "", "1 KiB", "64 KiB", "4 MiB", "us: MPI, crossrail, ratio");
  for (const Type& type : types()) {
    for (const Op& op : operations()) {
      std::string line;
      for (const std::size_t bytes : kBytes) {
        Measured one{"", bytes, 0, 0};
        if (!measure(type, op, samples, one)) break;
        all.push_back(one);
        char text[80];
        std::snprintf(text, sizeof text, " %10.2f %10.2f %9.2f", one.native_us, one.ours_us, one.ratio());
        line += text;
      }
      if (!line.empty()) std::printf("\n%-28s%s", all.back().name.c_str(), line.c_str());
      std::fflush(stdout);
    }
  }
  std::printf("\n");
  print_slowest(all);
  MPI_Finalize();
  return 0;
}
