// This file takes a datatype apart, by the arguments of its constructors.
#pragma once

#include <memory>

#include "comm/layout.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// A little effort takes about as long as a short call, or as copying the data once.
enum class Effort { little, any };
struct Flattened {
  // It is null if the way to take it apart is not known (MPI_Type_create_darray), if the type has no data, or if it falls into more than a quarter of
  // a million lines of pieces (16 million for types of 2 GiB and more).
  std::shared_ptr<const Layout> layout;
  bool given_up = false;  // It would have taken more than the allowed effort.
};
Flattened flatten(MPI_Datatype type, Effort effort);

// Returns the layout of a predefined type with gaps, which is a value and an int. The layout lives for ever. It is null in the cases above.
const Layout* layout_of_predefined(MPI_Datatype type);

}  // namespace crossrail::mpi
