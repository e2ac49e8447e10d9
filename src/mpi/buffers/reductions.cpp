#include "mpi/buffers/reductions.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "mpi/buffers/short_float_operations.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

// These are the classes of types in MPI 4.1, section 6.9.2. MPI knows the size of the
// types that programs use, but may not be asked about handles that it does not know.
enum class Class : std::uint8_t { c_signed, c_unsigned, fortran_integer, of_all_languages, real, complex, logical, byte, placed };

struct TypeRow {
  MPI_Datatype type;
  Class its_class;
  Element element = Element::none;  // Pair types have one.
};

const std::vector<TypeRow>& types() {
  static const auto& all = *new std::vector<TypeRow>{
#define TYPE(name, ...) {MPI_##name, __VA_ARGS__},
#include "mpi/buffers/reduced_types.def"
#undef TYPE
  };
  return all;
}

struct OperationRow {
  MPI_Op op;
  Operation operation;
};

const std::vector<OperationRow>& operations() {
  static const auto& all = *new std::vector<OperationRow>{
      {MPI_SUM, Operation::sum},           {MPI_PROD, Operation::product},         {MPI_MIN, Operation::minimum},
      {MPI_MAX, Operation::maximum},       {MPI_LAND, Operation::logical_and},     {MPI_LOR, Operation::logical_or},
      {MPI_LXOR, Operation::logical_xor},  {MPI_BAND, Operation::bitwise_and},     {MPI_BOR, Operation::bitwise_or},
      {MPI_BXOR, Operation::bitwise_xor},  {MPI_MINLOC, Operation::minimum_place}, {MPI_MAXLOC, Operation::maximum_place}};
  return all;
}

template <std::size_t count>
Element by_size(const Element (&elements)[count], std::uint64_t bytes) {
  const auto found = std::find_if(std::begin(elements), std::end(elements), [&](Element one) { return bytes_of(one) == bytes; });
  return found == std::end(elements) ? Element::none : *found;
}

Element element_of(const TypeRow& row, std::uint64_t bytes) {
  constexpr Element kSigned[] = {Element::int8, Element::int16, Element::int32, Element::int64};
  constexpr Element kUnsigned[] = {Element::uint8, Element::uint16, Element::uint32, Element::uint64};
  constexpr Element kReal[] = {Element::float32, Element::float64, Element::long_double};
  constexpr Element kComplex[] = {Element::complex_float32, Element::complex_float64, Element::complex_long_double};
  constexpr Element kLogical[] = {Element::truth8, Element::truth16, Element::truth32, Element::truth64};
  switch (row.its_class) {
    case Class::c_signed:
    case Class::fortran_integer:
    case Class::of_all_languages: return by_size(kSigned, bytes);
    case Class::c_unsigned: return by_size(kUnsigned, bytes);
    case Class::real: return by_size(kReal, bytes);
    case Class::complex: return by_size(kComplex, bytes);
    case Class::logical: return by_size(kLogical, bytes);
    case Class::byte: return bytes == 1 ? Element::byte : Element::none;
    case Class::placed: return bytes_of(row.element) == bytes ? row.element : Element::none;
  }
  return Element::none;
}

bool is_logical(Operation operation) {
  return operation == Operation::logical_and || operation == Operation::logical_or || operation == Operation::logical_xor;
}

// A Fortran integer is no logical value, while a C integer is one.
bool allows(Class its_class, Operation operation) {
  return !is_logical(operation) || (its_class != Class::fortran_integer && its_class != Class::of_all_languages);
}

template <class Rows, class Matches>
auto find_row(const Rows& rows, Matches matches) {
  const auto found = std::find_if(rows.begin(), rows.end(), matches);
  return found == rows.end() ? nullptr : &*found;
}

struct NamedRow {
  const char* name;
  Element element;
};
// Headers have these types under other names or not at all, but libraries report these names. No name of the standard is among them.
constexpr NamedRow kNamed[] = {{"MPIX_C_FLOAT16", Element::float16}, {"MPI_C_FLOAT16", Element::float16},   {"MPIX_SHORT_FLOAT", Element::float16},
                               {"MPI_SHORT_FLOAT", Element::float16}, {"MPIX_BFLOAT16", Element::bfloat16}, {"MPI_BFLOAT16", Element::bfloat16}};

Element element_by_name(MPI_Datatype type, std::uint64_t bytes) {
  using GetName = int (*)(MPI_Datatype, char*, int*);
  static const auto get_name = reinterpret_cast<GetName>(library_symbol("PMPI_Type_get_name"));
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  if (bytes != 2 || get_name == nullptr || get_name(type, name, &length) != MPI_SUCCESS) return Element::none;
  const auto found = std::find_if(std::begin(kNamed), std::end(kNamed), [&](const NamedRow& row) { return std::strcmp(row.name, name) == 0; });
  return found == std::end(kNamed) ? Element::none : found->element;
}

// It caches what is looked up in every call. MPI's own types and operations live for ever.
struct LastOperation {
  MPI_Op op{};
  Operation operation = Operation::none;
};
struct LastReduction {
  MPI_Datatype type{};
  Reduction reduction;
};

}  // namespace

bool is_type_of_reductions(MPI_Datatype type) {
  return find_row(types(), [&](const TypeRow& one) { return one.type == type; }) != nullptr;
}

Reduction combining_of(MPI_Op op) {
  static thread_local LastOperation last;
  if (last.operation != Operation::none && last.op == op) return {last.operation, Element::none};
  const OperationRow* const row = find_row(operations(), [&](const OperationRow& one) { return one.op == op; });
  if (row == nullptr) return reduction_of_own(op);
  last = {op, row->operation};
  return {row->operation, Element::none};
}

Reduction reduction_of(const Reduction& combining, MPI_Datatype type, std::uint64_t bytes) {
  if (combining.element != Element::none) return bytes_of(combining.element) == bytes ? combining : Reduction{};
  const Operation operation = combining.operation;
  static thread_local LastReduction last;
  if (last.reduction.operation == operation && operation != Operation::none && last.type == type) return last.reduction;
  const TypeRow* const row = find_row(types(), [&](const TypeRow& one) { return one.type == type; });
  if (row != nullptr && !allows(row->its_class, operation)) return {};
  const Reduction found{operation, row != nullptr ? element_of(*row, bytes) : element_by_name(type, bytes)};
  if (!is_defined(found)) return {};
  last = {type, found};
  return found;
}

}  // namespace crossrail::mpi
