#include "comm/reduction.h"

namespace crossrail {
namespace {

// Counts bytes in a row, without the gap that a struct of both would have.
template <class Type>
constexpr std::size_t kBytes = sizeof(Type);
template <class Value, class Place>
constexpr std::size_t kBytes<Placed<Value, Place>> = sizeof(Value) + sizeof(Place);

// A set of operations has one bit for each.
constexpr std::uint32_t bit(Operation operation) { return 1u << static_cast<unsigned>(operation); }
constexpr std::uint32_t arithmetic = bit(Operation::sum) | bit(Operation::product);
constexpr std::uint32_t order = bit(Operation::minimum) | bit(Operation::maximum);
constexpr std::uint32_t truths = bit(Operation::logical_and) | bit(Operation::logical_or) | bit(Operation::logical_xor);
constexpr std::uint32_t bits = bit(Operation::bitwise_and) | bit(Operation::bitwise_or) | bit(Operation::bitwise_xor);
constexpr std::uint32_t integers = arithmetic | order | truths | bits;
constexpr std::uint32_t reals = arithmetic | order;
constexpr std::uint32_t complexes = arithmetic;
constexpr std::uint32_t places = bit(Operation::minimum_place) | bit(Operation::maximum_place);

struct ElementRow {
  const char* name;
  std::uint32_t operations;
  std::size_t bytes;
};
constexpr ElementRow kElements[] = {
    {"?", 0, 0},
#define ELEMENT(name, operations, ...) {#name, operations, kBytes<__VA_ARGS__>},
#include "comm/reductions.def"
#undef ELEMENT
};
constexpr const char* kOperations[] = {
    "?",
#define OPERATION(name) #name,
#include "comm/reductions.def"
#undef OPERATION
};

const ElementRow& row_of(Element element) { return kElements[static_cast<std::size_t>(element)]; }

}  // namespace

std::size_t bytes_of(Element element) { return row_of(element).bytes; }
const char* name_of(Operation operation) { return kOperations[static_cast<std::size_t>(operation)]; }
const char* name_of(Element element) { return row_of(element).name; }

bool is_defined(const Reduction& reduction) {
  return reduction.operation != Operation::none && (row_of(reduction.element).operations & bit(reduction.operation)) != 0;
}

bool has_average(Element element) {
  const std::uint32_t operations = row_of(element).operations;
  return (operations == integers || operations == reals) && element != Element::long_double;
}

bool depends_on_order(const Reduction& reduction) {
  const std::uint32_t operations = row_of(reduction.element).operations;
  return operations != integers && operations != bits;
}

}  // namespace crossrail
