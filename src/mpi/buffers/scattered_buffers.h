// ScatteredBuffers holds the two sides of an MPI_Reduce_scatter: those of a call with equal blocks, and the table of its blocks.
#pragma once

#include <vector>

#include "mpi/buffers/packed_buffers.h"

namespace crossrail::mpi {

class ScatteredBuffers final : public UserBuffers {
 public:
  struct Sides {
    const Side &send, &recv;
  };
  // `blocks` describes what is sent, in bytes of a contiguous row.
  ScatteredBuffers(PackingMemory& memory, MPI_Comm comm, const Sides& sides, const std::vector<Block>& blocks)
      : memory_(memory), sides_(sides), blocks_(blocks), packed_(memory, comm, &sides.send, sides.recv) {}

  void fix() { packed_.fix(); }
  Status open(Buffers& buffers, const Plan* plan) override;
  Status close() override;
  bool in_place() const override { return packed_.in_place(); }
  DeviceCall on_devices() override;
  Buffers device_buffers() override;

 private:
  PackingMemory& memory_;
  Sides sides_;
  const std::vector<Block>& blocks_;
  PackedBuffers packed_;
  std::byte* result_ = nullptr;  // It is the result's place in the program while a row of ours stands for it.
};

}  // namespace crossrail::mpi
