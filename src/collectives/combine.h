// These functions combine elements by a Reduction, in loops of our own that are compiled for what the processor has.
#pragma once

#include <cstddef>

#include "comm/reduction.h"

namespace crossrail {

// Computes to[i] = first[i] op second[i] for `count` elements in rows of bytes at any address. `to` may be `first` or `second` as a whole. All ranks
// that combine the same two operands in the same order come to the same bits, whatever their processors are. Integers wrap. Minimum and maximum are
// C's `second < first ? second : first`, so the order alone decides about NaN and signed zeros.
using Combine = void (*)(const std::byte* first, const std::byte* second, std::byte* to, std::size_t count);

// Returns null if the operation is not defined for such elements.
Combine combine_of(const Reduction& reduction);

// Copies rows that do not overlap, with the processor's widest registers. It is for some KiB and more that caches hold. From 2 KiB on, the C library
// may use string instructions, which on some processors (AMD's, with glibc before 2.39) are ten times slower if two rows have the same place in their
// pages, as parts of regions do.
void copy_in_cache(std::byte* to, const std::byte* from, std::size_t bytes);

// Does the same for rows that caches will not hold: they are written to memory without fetching the lines first.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes);

// For tests, returns every version of the loop that this processor can run, the plainest first; the others are null.
enum class Vectors : int { plain, avx2, avx512 };
inline constexpr Vectors kVectors[] = {Vectors::plain, Vectors::avx2, Vectors::avx512};
Combine combine_of(const Reduction& reduction, Vectors vectors);

}  // namespace crossrail
