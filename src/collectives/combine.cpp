// This file is compiled with optimisation for loops, and without contraction of products and sums, since processors that can do both at once would
// come to other bits than those that cannot. Loops that copy must stay loops (CMakeLists.txt).

#include "collectives/combine.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/bytes.h"
#include "collectives/combine_elements.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define CROSSRAIL_AVX2 [[gnu::target("avx2")]]
#define CROSSRAIL_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]]
#endif

namespace crossrail {
namespace {

// The loop is compiled for the processor of the function into which it is inlined. Only
// elements with equal numbers depend on each other, even if rows are the same memory.
template <class Operation, class Type>
struct Loop {
  using Row = combining::Row<Type>;
  [[gnu::always_inline]] static inline void run(const std::byte* first, const std::byte* second, std::byte* to, std::size_t count) {
    if (simulated_time::on && !simulated_time::combine(count * Row::kBytes)) return;
#pragma GCC ivdep
    for (std::size_t one = 0; one < count; ++one) {
      const std::size_t at = one * Row::kBytes;
      Row::store(to + at, Operation::of(Row::load(first + at), Row::load(second + at)));
    }
  }
  static void plain(const std::byte* first, const std::byte* second, std::byte* to, std::size_t count) { run(first, second, to, count); }
#if defined(CROSSRAIL_AVX2)
  CROSSRAIL_AVX2 static void avx2(const std::byte* first, const std::byte* second, std::byte* to, std::size_t count) {
    run(first, second, to, count);
  }
  CROSSRAIL_AVX512 static void avx512(const std::byte* first, const std::byte* second, std::byte* to, std::size_t count) {
    run(first, second, to, count);
  }
#else
  static constexpr Combine avx2 = nullptr, avx512 = nullptr;
#endif
};

using Copy = void (*)(std::byte* __restrict to, const std::byte* __restrict from, std::size_t bytes);

[[gnu::always_inline]] inline void copy_loop(std::byte* __restrict to, const std::byte* __restrict from, std::size_t bytes) {
  for (std::size_t one = 0; one < bytes; ++one) to[one] = from[one];
}
void copy_plain(std::byte* __restrict to, const std::byte* __restrict from, std::size_t bytes) { copy_loop(to, from, bytes); }
#if defined(CROSSRAIL_AVX2)
CROSSRAIL_AVX2 void copy_avx2(std::byte* __restrict to, const std::byte* __restrict from, std::size_t bytes) { copy_loop(to, from, bytes); }
CROSSRAIL_AVX512 void copy_avx512(std::byte* __restrict to, const std::byte* __restrict from, std::size_t bytes) { copy_loop(to, from, bytes); }
#else
constexpr Copy copy_avx2 = nullptr, copy_avx512 = nullptr;
#endif

struct Versions {
  Combine of[std::size(kVectors)] = {};
};

template <class Type>
struct IsPlaced : std::false_type {};
template <class Number, class Place>
struct IsPlaced<Placed<Number, Place>> : std::true_type {};
template <class Type>
struct IsTruth : std::false_type {};
template <class Stored>
struct IsTruth<Truth<Stored>> : std::true_type {};

template <class Type>
struct IsShort : std::false_type {};
template <class Stored, class Form>
struct IsShort<Short<Stored, Form>> : std::true_type {};

// Returns whether there is a loop. is_defined() says whether the operation is meant for such elements.
template <Operation operation, class Type>
constexpr bool has_loop() {
  using enum Operation;
  if constexpr (operation == average) return false;
  constexpr bool is_order = operation == minimum || operation == maximum;
  constexpr bool is_place = operation == minimum_place || operation == maximum_place;
  constexpr bool is_truth = operation == logical_and || operation == logical_or || operation == logical_xor;
  constexpr bool is_arithmetic = operation == sum || operation == product;
  if constexpr (IsPlaced<Type>::value) return is_place;
  if constexpr (IsTruth<Type>::value) return is_truth;
  if constexpr (std::is_integral_v<Type>) return !is_place;
  constexpr bool is_real = std::is_arithmetic_v<Type> || IsShort<Type>::value;
  return is_arithmetic || (is_order && is_real);
}

template <class Type>
struct IsComplex : std::false_type {};
template <class Part>
struct IsComplex<std::complex<Part>> : std::true_type {};

template <Operation operation, class Does, class Type>
constexpr Versions versions() {
  // With AVX-512, GCC 12 turns the products and differences of a complex product into one fused instruction, although its options forbid that.
  if constexpr (IsComplex<Type>::value && operation == Operation::product) {
    return {{Loop<Does, Type>::plain, Loop<Does, Type>::avx2, Loop<Does, Type>::avx2}};
  } else if constexpr (has_loop<operation, Type>()) {
    return {{Loop<Does, Type>::plain, Loop<Does, Type>::avx2, Loop<Does, Type>::avx512}};
  } else {
    return {};
  }
}

constexpr std::size_t kOperations = 1
#define OPERATION(name) +1
#include "comm/reductions.def"
#undef OPERATION
    ;

struct ElementLoops {
  Versions by[kOperations];
};

template <class Type>
constexpr ElementLoops loops_of() {
  return {{Versions{},
#define OPERATION(name) versions<Operation::name, combining::name, Type>(),
#include "comm/reductions.def"
#undef OPERATION
  }};
}

constexpr ElementLoops kLoops[] = {
    {},
#define ELEMENT(name, operations, ...) loops_of<__VA_ARGS__>(),
#include "comm/reductions.def"
#undef ELEMENT
};

bool can_run([[maybe_unused]] Vectors vectors) {
#if defined(CROSSRAIL_AVX2)
  __builtin_cpu_init();
  if (vectors == Vectors::avx2) return __builtin_cpu_supports("avx2");
  if (vectors == Vectors::avx512) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  }
#endif
  return vectors == Vectors::plain;
}

Vectors widest() {
  static const Vectors found = can_run(Vectors::avx512) ? Vectors::avx512 : can_run(Vectors::avx2) ? Vectors::avx2 : Vectors::plain;
  return found;
}

Combine version_of(const Reduction& reduction, Vectors vectors) {
  if (!is_defined(reduction)) return nullptr;
  const ElementLoops& loops = kLoops[static_cast<std::size_t>(reduction.element)];
  return loops.by[static_cast<std::size_t>(reduction.operation)].of[static_cast<std::size_t>(vectors)];
}

}  // namespace

void copy_in_cache(std::byte* to, const std::byte* from, std::size_t bytes) {
  if constexpr (simulated_time::on) return simulated_time::copy(to, from, bytes);
  static constexpr Copy kCopies[] = {copy_plain, copy_avx2, copy_avx512};
  static const Copy copy = kCopies[static_cast<std::size_t>(widest())];
  copy(to, from, bytes);
}

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
  if constexpr (simulated_time::on) return simulated_time::copy(to, from, bytes);
#if defined(__x86_64__)
  // Whole lines are written past the caches, and the ends as usual.
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  const std::size_t head = std::min<std::size_t>(bytes, round_up(address, kCacheLineBytes) - address);
  const std::size_t tail = head + (bytes - head) / kCacheLineBytes * kCacheLineBytes;
  std::memcpy(to, from, head);
  for (std::size_t at = head; at < tail; at += sizeof(__m128i)) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
  }
  std::memcpy(to + tail, from + tail, bytes - tail);
  _mm_sfence();  // Such stores are not ordered with others.
#else
  copy_in_cache(to, from, bytes);
#endif
}

Combine combine_of(const Reduction& reduction) { return version_of(reduction, widest()); }

Combine combine_of(const Reduction& reduction, Vectors vectors) {
  return can_run(vectors) ? version_of(reduction, vectors) : nullptr;
}

}  // namespace crossrail
