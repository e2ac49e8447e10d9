// Reduction: an operation and the type of its elements, as every rank of a call knows them. It is a value and part of the Shape;
// collectives/combine.h says how it is done.
//
// We handle what MPI defines for its own operations. An element is combined by one rank, or by several in the same order, so that all ranks
// get the same bits. Whether a reduction is in place is not part of its Shape: an algorithm never writes a result before it has read this
// rank's own element.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "comm/short_floats.h"

namespace crossrail {

enum class Operation : std::uint8_t {
  none,
#define OPERATION(name) name,
#include "comm/reductions.def"
#undef OPERATION
};

// These C++ types stand for elements that have no type of their own in C++.
template <class Stored>
struct Truth {  // False is 0; only the compiler that made the value knows what true is.
  Stored stored;
};
template <class Value, class Place>
struct Placed {};  // It is a value and, right behind it, the place where it was found.
template <class Stored, class Form>
struct Short {  // It is a float of 8 or 16 bits (short_floats.h).
  Stored bits;
};

enum class Element : std::uint8_t {
  none,
#define ELEMENT(name, ...) name,
#include "comm/reductions.def"
#undef ELEMENT
};

struct Reduction {
  Operation operation = Operation::none;
  Element element = Element::none;
  bool operator==(const Reduction&) const = default;
};

// Returns the bytes of an element in a row of them, or 0 for Element::none.
std::size_t bytes_of(Element element);
const char* name_of(Operation operation);
const char* name_of(Element element);
// Returns whether the operation is defined for such elements (MPI 4.1, section 6.9.2).
bool is_defined(const Reduction& reduction);
// Returns whether an average of such elements is one of NCCL's. Only devices know it, so is_defined() does not.
bool has_average(Element element);
// Returns whether the bits of a result may depend on the order in which three or more elements are combined. Those of integers do not,
// since they wrap.
bool depends_on_order(const Reduction& reduction);

}  // namespace crossrail
