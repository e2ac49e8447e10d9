// Combining elements by a Reduction: loops of our own, compiled for what the processor has.
#pragma once

#include <cstddef>

#include "comm/reduction.h"

namespace crossrail {

// to[i] = first[i] op second[i] for `count` elements in rows of bytes at any address. `to` may be `first` or `second`, as a
// whole. All ranks that combine the same two operands in the same order come to the same bits, whatever their processors.
// Integers wrap. Minimum and maximum are C's `second < first ? second : first`, so that NaN and signed zeros depend on order alone.
using Combine = void (*)(const std::byte* first, const std::byte* second, std::byte* to, std::size_t count);

// Null where the operation is not defined for such elements.
Combine combine_of(const Reduction& reduction);

// Copies rows that do not overlap by the processor's widest registers. For some KiB and more that caches hold: the C library may take
// string instructions from 2 KiB on, which on some processors (AMD's, with glibc before 2.39) move a tenth as much a second where two
// rows lie alike in their pages, as parts of regions do.
void copy_in_cache(std::byte* to, const std::byte* from, std::size_t bytes);

// The same for rows that caches will not hold: they are written to memory, without the lines being fetched first.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes);

// For tests: every version of the loop that this processor can run, the plainest first; the rest are null.
enum class Vectors : int { plain, avx2, avx512 };
inline constexpr Vectors kVectors[] = {Vectors::plain, Vectors::avx2, Vectors::avx512};
Combine combine_of(const Reduction& reduction, Vectors vectors);

}  // namespace crossrail
