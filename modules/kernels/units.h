// These functions read and write rows of elements or bytes in units of 16 bytes, as their addresses allow.
#pragma once

#include "gpu_device.h"
#include "tasks.h"

namespace kernels {

// A unit is what a thread combines at once: 16 bytes, or one element that does not divide them. Bytes behind it are anything.
using Unit = gpu::Pair;

template <class Part>
GPU_INLINE uint64_t read_parts(const char* from) {
  uint64_t data = 0;
#pragma unroll
  for (unsigned i = 0; i < kPacketData / sizeof(Part); ++i) {
    data |= uint64_t{gpu::load(reinterpret_cast<const Part*>(from) + i)} << (i * 8 * sizeof(Part) & 63);
  }
  return data;
}
template <class Part>
GPU_INLINE void write_parts(char* to, uint64_t data) {
#pragma unroll
  for (unsigned i = 0; i < kPacketData / sizeof(Part); ++i) {
    gpu::store(reinterpret_cast<Part*>(to) + i, static_cast<Part>(data >> (i * 8 * sizeof(Part) & 63)));
  }
}

// These take up to 8 bytes of a block. Only its last unit has fewer.
GPU_INLINE uint64_t read_unit(const char* from, uint64_t bytes, uint32_t align) {
  if (bytes >= kPacketData) {
    if (align == 8) return read_parts<uint64_t>(from);
    if (align == 4) return read_parts<uint32_t>(from);
    if (align == 2) return read_parts<uint16_t>(from);
    return read_parts<uint8_t>(from);
  }
  uint64_t data = 0;
  for (unsigned i = 0; i < bytes; ++i) data |= uint64_t{static_cast<uint8_t>(from[i])} << (8 * i);
  return data;
}
GPU_INLINE void write_unit(char* to, uint64_t data, uint64_t bytes, uint32_t align) {
  if (bytes >= kPacketData) {
    if (align == 8) return write_parts<uint64_t>(to, data);
    if (align == 4) return write_parts<uint32_t>(to, data);
    if (align == 2) return write_parts<uint16_t>(to, data);
    return write_parts<uint8_t>(to, data);
  }
  for (unsigned i = 0; i < bytes; ++i) to[i] = static_cast<char>(data >> (8 * i));
}

GPU_INLINE Unit read_whole(const char* from, uint32_t align) {
  if (align == sizeof(Unit)) return gpu::load(reinterpret_cast<const Unit*>(from));
  return {read_unit(from, kPacketData, align), read_unit(from + kPacketData, kPacketData, align)};
}
GPU_INLINE void write_whole(char* to, const Unit& unit, uint32_t align) {
  if (align == sizeof(Unit)) return gpu::store(reinterpret_cast<Unit*>(to), unit);
  write_unit(to, unit.low, kPacketData, align);
  write_unit(to + kPacketData, unit.high, kPacketData, align);
}

// These take 16 bytes or fewer.
GPU_INLINE Unit read_some(const char* at, uint64_t many, uint32_t align) {
  if (many == sizeof(Unit)) return read_whole(at, align);
  return {read_unit(at, many < kPacketData ? many : kPacketData, align), many > kPacketData ? read_unit(at + kPacketData, many - kPacketData, align) : 0};
}
GPU_INLINE void write_some(char* at, const Unit& unit, uint64_t many, uint32_t align) {
  if (many == sizeof(Unit)) return write_whole(at, unit, align);
  write_unit(at, unit.low, many < kPacketData ? many : kPacketData, align);
  if (many > kPacketData) write_unit(at + kPacketData, unit.high, many - kPacketData, align);
}

GPU_INLINE uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

// Unit `number` has 16 bytes. It has fewer if elements are odd and at the end.
struct UnitsOf {
  const Elements& elements;
  GPU_INLINE uint64_t count() const { return (elements.bytes + elements.unit_bytes - 1) / elements.unit_bytes; }
  // Returns the number of those of 16 bytes at multiples of 16.
  GPU_INLINE uint64_t whole() const { return elements.align == sizeof(Unit) && elements.unit_bytes == sizeof(Unit) ? elements.bytes / sizeof(Unit) : 0; }
  GPU_INLINE uint64_t bytes(uint64_t number) const { return least(elements.unit_bytes, elements.bytes - number * elements.unit_bytes); }
  template <class Bytes>
  GPU_INLINE Bytes* at(Bytes* row, uint64_t number) const { return row + number * elements.unit_bytes; }
  GPU_INLINE Unit read(const char* from, uint64_t number) const { return read_some(at(from, number), bytes(number), elements.align); }
  GPU_INLINE void write(char* to, uint64_t number, const Unit& unit) const { write_some(at(to, number), unit, bytes(number), elements.align); }
};

// These are a thread's units of a row: `first`, and then one after every `step`.
struct OwnUnits {
  const UnitsOf& units;
  uint64_t first, step;
  uint64_t count;  // It counts the units of the row.
  uint64_t whole;

  GPU_INLINE OwnUnits(const UnitsOf& all, uint64_t from, uint64_t apart) : units(all), first(from), step(apart), count(all.count()), whole(all.whole()) {}

  // Calls `take(i, unit)`. It asks for all whole units before it takes the first.
  template <class Take>
  GPU_INLINE void read(const char* from, Take take) const {
    Unit got[kEach] = {};
#pragma unroll
    for (unsigned i = 0; i < kEach; ++i) {
      if (first + i * step < whole) got[i] = gpu::load(reinterpret_cast<const Unit*>(from) + first + i * step);
    }
#pragma unroll
    for (unsigned i = 0; i < kEach; ++i) take(i, got[i]);
    if (whole == count) return;
#pragma unroll 1
    for (unsigned i = 0; i < kEach; ++i) {
      const uint64_t number = first + i * step;
      if (number >= whole && number < count) take(i, units.read(from, number));
    }
  }

  // `result(i)` returns a unit.
  template <class Result>
  GPU_INLINE void write(char* to, Result result) const {
#pragma unroll
    for (unsigned i = 0; i < kEach; ++i) {
      if (first + i * step < whole) gpu::store(reinterpret_cast<Unit*>(to) + first + i * step, result(i));
    }
    if (whole == count) return;
#pragma unroll 1
    for (unsigned i = 0; i < kEach; ++i) {
      const uint64_t number = first + i * step;
      if (number >= whole && number < count) units.write(to, number, result(i));
    }
  }
};

}  // namespace kernels
