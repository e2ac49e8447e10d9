// PackedVectors presents the user's memory in a v-collective as the blocks on which the engine works. A block that is a row of host bytes is used in
// place; others are packed into a row of ours.
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

// Returns a block as it lies in the program's memory, by the arguments of the call.
Side block_in(const VectorSide& side, const SideFacts& facts, int rank);

// Returns the bytes that all blocks of a side touch, including the gaps between them.
Span span_of(const VectorSide& side, const SideFacts& facts);

class PackedVectors final : public UserBuffers {
 public:
  // In place (`send` has the side of `recv` and a room of its own), blocks that the plan does not take as they lie are sent from a copy.
  PackedVectors(PackingMemory& memory, MPI_Comm comm, const SurveyedSide& send, const SurveyedSide& recv)
      : memory_(memory), comm_(comm), send_side_(send), recv_side_(recv) {}

  // Fixes, for later calls, whether their memory is device memory, by what it is now.
  void fix();
  Status open(Buffers& buffers, const Plan* plan) override;
  Status close() override;
  bool in_place() const override { return &send_side_.side == &recv_side_.side; }
  DeviceCall on_devices() override;
  Buffers device_buffers() override;

 private:
  // A Way describes how the blocks of one side travel.
  struct Way {
    const VectorSide* side = nullptr;
    SideFacts* room = nullptr;
    std::size_t row_bytes = 0;     // It is the size of all blocks that go through the row.
    std::size_t staged_bytes = 0;  // No block with gaps in device memory spans more.
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
  // Before blocks of which only a part has arrived are unpacked, fills the rest of their row with what the user's memory contains.
  Status fill_up(const ShortBlock& block);

  PackingMemory& memory_;
  MPI_Comm comm_;
  SurveyedSide send_side_, recv_side_;
  bool devices_ = false;  // There may be device memory.
  bool fixed_ = false;
  const Plan* plan_ = nullptr;  // The running call has this plan.
  Way recv_;
  std::byte* recv_base_ = nullptr;
  std::vector<ShortBlock> shorter_;
};

}  // namespace crossrail::mpi
