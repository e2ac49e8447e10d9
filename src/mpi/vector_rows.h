// The user's memory as the blocks that the engine works on in a v-collective: in place where a block
// is a row of host bytes already, otherwise in a row of ours.
#pragma once

#include "comm/buffers.h"
#include "mpi/communicators.h"
#include "mpi/rows.h"
#include "mpi/vector_side.h"

namespace crossrail::mpi {

struct SurveyedSide {
  const VectorSide& side;
  SideRoom& room;
};

class VectorRows {
 public:
  VectorRows(Communicator& communicator, MPI_Comm comm) : communicator_(communicator), comm_(comm) {}

  // Packs what is to be sent and has to be. Errors: no_memory, system.
  Status open(const SurveyedSide& send, const SurveyedSide& recv, Buffers& buffers);
  // In place: sends from a copy of `recv`, whose room `out` is given the blocks of.
  Status open_in_place(SideRoom& out, const SurveyedSide& recv, Buffers& buffers);
  // After the engine has filled the receiving blocks: brings them to the user's memory.
  Status close();

 private:
  // How the blocks of one side travel.
  struct Way {
    const VectorSide* side = nullptr;
    SideRoom* room = nullptr;
    std::size_t row_bytes = 0;     // of all blocks that take the row
    std::size_t staged_bytes = 0;  // most that a block with gaps in device memory spans
  };
  enum class Blocks { where_they_must, all };
  Way way_of(const SurveyedSide& surveyed, Blocks by_row) const;
  Status lay_out(const Way& out, Buffers& buffers);
  std::byte* place(const Way& way, std::byte* row) const;
  Side block_of(const Way& way, int rank) const;
  Status gather(const Side& from, std::byte* row);
  Status scatter(const std::byte* row, const Side& to);

  Communicator& communicator_;
  MPI_Comm comm_;
  bool devices_ = false;
  Way recv_;
  std::byte* recv_base_ = nullptr;
};

}  // namespace crossrail::mpi
