// The user's memory as the blocks that the engine works on in a v-collective: in place where a block
// is a row of host bytes already, otherwise in a row of ours.
#pragma once

#include "comm/user_buffers.h"
#include "comm/communicator.h"
#include "mpi/buffers/packed_buffers.h"
#include "mpi/buffers/vector_side.h"

namespace crossrail::mpi {

struct SurveyedSide {
  const VectorSide& side;
  SideFacts& room;
};

// A block as it lies in the program's memory, by the arguments of the call.
Side block_in(const VectorSide& side, const SideFacts& facts, int rank);

// The bytes that all blocks of a side touch, gaps between them too.
Span span_of(const VectorSide& side, const SideFacts& facts);

class PackedVectors final : public UserBuffers {
 public:
  // In place (`send` has the side of `recv`, and a room of its own) what the plan does not take as it lies is sent from a copy.
  PackedVectors(PackingMemory& memory, MPI_Comm comm, const SurveyedSide& send, const SurveyedSide& recv)
      : memory_(memory), comm_(comm), send_side_(send), recv_side_(recv) {}

  // For calls to come: their memory is of devices or not, as it is now.
  void fix();
  Status open(Buffers& buffers, const Plan* plan) override;
  Status close() override;
  bool in_place() const override { return &send_side_.side == &recv_side_.side; }
  DeviceCall on_devices() override;
  Buffers device_buffers() override;

 private:
  // How the blocks of one side travel.
  struct Way {
    const VectorSide* side = nullptr;
    SideFacts* room = nullptr;
    std::size_t row_bytes = 0;     // of all blocks that take the row
    std::size_t staged_bytes = 0;  // most that a block with gaps in device memory spans
  };
  bool taken_as_it_lies(int rank) const;
  Travels how(const Side& block, int rank, bool copied) const;
  Way way_of(const SurveyedSide& surveyed, bool copied) const;
  Status lay_out(const Way& out, Buffers& buffers);
  std::byte* place(const Way& way, std::byte* row) const;
  Side block_of(const Way& way, int rank) const;
  static DeviceSide on_device(const SurveyedSide& surveyed);
  Status gather(const Side& from, Travels how, std::byte* row);
  Status scatter(const std::byte* row, const Side& to, Travels how);
  // Before that, of blocks of which not all has come: what is there of the rest.
  Status fill_up(const ShortBlock& block);

  PackingMemory& memory_;
  MPI_Comm comm_;
  SurveyedSide send_side_, recv_side_;
  bool devices_ = false;  // there may be device memory
  bool fixed_ = false;
  const Plan* plan_ = nullptr;  // of the call that runs
  Way recv_;
  std::byte* recv_base_ = nullptr;
  std::vector<ShortBlock> shorter_;
};

}  // namespace crossrail::mpi
