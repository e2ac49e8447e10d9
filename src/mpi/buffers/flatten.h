// Takes a datatype apart, by what its constructors were called with.
#pragma once

#include <memory>

#include "comm/layout.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Little: about as long as a short call takes, or as copying the data once.
enum class Effort { little, any };
struct Flattened {
  // Null where it is not known how (MPI_Type_create_darray), or the type falls into more than a quarter of a
  // million lines of pieces (of 2 GiB and more: 16 million), or has no data.
  std::shared_ptr<const Layout> layout;
  bool given_up = false;  // it would take more than the effort
};
Flattened flatten(MPI_Datatype type, Effort effort);

// Of a predefined type with gaps, which are those of a value and an int; it stays. Null as above.
const Layout* layout_of_predefined(MPI_Datatype type);

}  // namespace crossrail::mpi
