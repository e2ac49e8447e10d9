// ScatteredBuffers holds the two sides of an MPI_Reduce_scatter: those of a call with equal blocks, and the table of its blocks.
#pragma once

#include <vector>

#include "mpi/buffers/packed_sides.h"

namespace crossrail::mpi {

class ScatteredBuffers final : public PackedSides {
 public:
  struct Sides {
    const Side &send, &recv;
  };
  // `blocks` describes what is sent, in bytes of a contiguous row.
  ScatteredBuffers(PackingMemory& memory, MPI_Comm comm, const Sides& sides, const std::vector<Block>& blocks)
      : PackedSides(memory, comm, sides.send, sides.recv), blocks_(blocks) {}

  Status open(Buffers& buffers, const Plan* plan) override;
  Status close() override;
  DeviceCall on_devices() override;
  Buffers device_buffers() override;

 private:
  const std::vector<Block>& blocks_;
  std::byte* result_ = nullptr;  // It is the result's place in the program while a row of ours stands for it.
};

}  // namespace crossrail::mpi
