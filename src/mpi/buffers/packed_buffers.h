// PackedBuffers presents the user's memory as rows of contiguous host bytes, on which the engine works. Such rows are used in place; other data are
// packed (datatypes with gaps) and staged (device memory).
#pragma once

#include "comm/communicator.h"
#include "comm/user_buffers.h"
#include "mpi/buffers/datatypes.h"

namespace crossrail::mpi {

// A Side is one side of a call: `count` elements of a datatype, over all its blocks.
struct Side {
  void* address = nullptr;
  std::uint64_t count = 0;
  MPI_Datatype type{};
  TypeFacts facts;

  bool has_gaps() const { return count > 0 && facts.bytes > 0 && !facts.in_a_row_of(count); }
};

// A Span is what a side touches: `bytes` bytes from `lower` after its address on.
struct Span {
  std::ptrdiff_t lower = 0;
  std::size_t bytes = 0;
};
Span span_of(const Side& side);
// Returns whether the bytes of a side with a layout are at absolute addresses (MPI_BOTTOM, which is null) and some of them in a device's memory. The
// others may be elsewhere, and there may be no memory between them.
bool lies_apart(const void* address, const Side& side);

class PackedBuffers final : public UserBuffers {
 public:
  // In place (`send` is null), the row to send from is the row to receive into.
  PackedBuffers(PackingMemory& memory, MPI_Comm comm, const Side* send, const Side& recv)
      : memory_(memory), comm_(comm), send_side_(send), recv_side_(recv) {}

  // Fixes, for later calls, whether their memory is device memory, by what it is now.
  void fix();
  Status open(Buffers& buffers, const Plan* plan) override;
  Status close() override;
  bool in_place() const override { return send_side_ == nullptr || send_side_->address == recv_side_.address; }
  DeviceCall on_devices() override;
  Buffers device_buffers() override;

 private:
  // A Way describes how one side becomes a row.
  struct Way {
    const Side* side = nullptr;
    std::byte* host = nullptr;  // It is the side's address in host memory.
    bool staged = false;
    bool gaps = false;
    bool packed = false;  // The side is packed because of its gaps.
    bool apart = false;   // The side is packed piece by piece.
  };
  // They do the work for sides with gaps or in device memory.
  Status open_rows(Buffers& buffers, const Plan* plan);
  Status close_rows();
  Status stage(GrowableBuffer& room, bool with_content, Way& way);
  TypedMemory typed(const Way& way) const;
  static std::byte* first(const Way& way);

  PackingMemory& memory_;
  MPI_Comm comm_;
  const Side* send_side_;
  const Side& recv_side_;
  bool devices_ = false;  // There may be device memory.
  bool fixed_ = false;
  bool as_they_lie_ = false;  // The plan takes the sides as they lie.
  Way recv_;
  std::byte* recv_row_ = nullptr;
};

}  // namespace crossrail::mpi
