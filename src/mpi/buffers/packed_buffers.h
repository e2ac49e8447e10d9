// The user's memory as the rows of contiguous host bytes that the engine works on: used in place
// where it is that already, otherwise packed (datatypes with gaps) and staged (device memory).
#pragma once

#include "comm/communicator.h"
#include "comm/user_buffers.h"
#include "mpi/buffers/datatypes.h"

namespace crossrail::mpi {

// One side of a call: `count` elements of a datatype, over all blocks that it has.
struct Side {
  void* address = nullptr;
  std::uint64_t count = 0;
  MPI_Datatype type{};
  TypeFacts facts;

  bool has_gaps() const { return count > 0 && facts.bytes > 0 && !facts.in_a_row_of(count); }
};

// The bytes that a side touches: from `lower` after its address on, `bytes` long.
struct Span {
  std::ptrdiff_t lower = 0;
  std::size_t bytes = 0;
};
Span span_of(const Side& side);
// Whether the bytes of a side that has a layout are at absolute addresses (it is that of MPI_BOTTOM, null), some of them in a device's memory:
// others may be elsewhere, and nothing may lie between them.
bool lies_apart(const void* address, const Side& side);

class PackedBuffers final : public UserBuffers {
 public:
  // In place (`send` null) the row to send from is that to receive into.
  PackedBuffers(PackingMemory& memory, MPI_Comm comm, const Side* send, const Side& recv)
      : memory_(memory), comm_(comm), send_side_(send), recv_side_(recv) {}

  // For calls to come: their memory is of devices or not, as it is now.
  void fix();
  Status open(Buffers& buffers, const Plan* plan) override;
  Status close() override;
  bool in_place() const override { return send_side_ == nullptr || send_side_->address == recv_side_.address; }
  DeviceCall on_devices() override;
  Buffers device_buffers() override;

 private:
  // One side on its way to a row.
  struct Way {
    const Side* side = nullptr;
    std::byte* host = nullptr;  // the side's address, in host memory
    bool staged = false;
    bool gaps = false;
    bool packed = false;  // because of them
    bool apart = false;   // and piece by piece
  };
  Status stage(GrowableBuffer& room, bool with_content, Way& way);
  TypedMemory typed(const Way& way) const;
  static std::byte* first(const Way& way);

  PackingMemory& memory_;
  MPI_Comm comm_;
  const Side* send_side_;
  const Side& recv_side_;
  bool devices_ = false;  // there may be device memory
  bool fixed_ = false;
  bool as_they_lie_ = false;  // what the plan takes
  Way recv_;
  std::byte* recv_row_ = nullptr;
};

}  // namespace crossrail::mpi
