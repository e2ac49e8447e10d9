// PackedSides presents the user's memory as rows of contiguous host bytes, on which the engine works. A block that is such a row is used in place;
// other blocks are copied to a row of ours: packed (datatypes with gaps) and staged (device memory).
#pragma once

#include <optional>

#include "comm/slot.h"
#include "comm/user_buffers.h"
#include "mpi/buffers/side.h"

namespace crossrail::mpi {

class PackedSides : public UserBuffers {
 public:
  // In place both sides are the same. A side without a table is then sent from where it is received, and the blocks of a table are sent from a copy,
  // unless the plan takes them as they lie.
  PackedSides(PackingMemory& memory, MPI_Comm comm, const Side& send, const Side& recv) : memory_(memory), send_(send), recv_(recv), comm_(comm) {}

  // Fixes, for later calls, whether their memory is device memory, by what it is now.
  void fix();
  Status open(Buffers& buffers, const Plan* plan) override;
  Status close() override;
  bool in_place() const override { return recv_.table != nullptr ? one_side() : send_.address == recv_.address; }
  DeviceCall on_devices() override;
  Buffers device_buffers() override;

 protected:
  PackingMemory& memory_;
  const Side &send_, &recv_;

 private:
  // A Way describes how the blocks of one side travel.
  struct Way {
    const Side* side;
    BlockTable* table;
    GrowableBuffer* staged;  // It has the image of one block with gaps in device memory and, if some block is there, the row.
    Block only;  // It is the block of a side without a table.
    Travels only_travels = Travels::as_it_lies;
    bool on_device = false;       // Some block is in device memory and is copied.
    std::size_t row_bytes = 0;    // It is the size of all blocks that go through the row.
    std::size_t image_bytes = 0;  // No block with gaps in device memory spans more.
    std::byte* base = nullptr;    // Offsets of blocks count from here.

    Block& block(int number) { return table == nullptr ? only : table->blocks[number]; }
    Travels& travels(int number) { return table == nullptr ? only_travels : table->travels[number]; }
    std::size_t packed_bytes() const { return on_device ? 0 : row_bytes; }
    std::byte* at(int number) { return moved(base, block(number).offset); }
  };
  bool one_side() const { return &send_ == &recv_; }
  // Returns the table of what is sent; in place it is that of the copy, which is made here.
  BlockTable* send_table() const;
  // They do the work for sides with gaps or in device memory.
  Status open_rows(Buffers& buffers, const Plan* plan);
  Status close_rows();
  void find_way(Way& way, const Plan* plan, bool copied) const;
  Status lay_out(Way& way, std::byte*& packed);
  static DeviceSide on_device(const Side& side, BlockTable* table);
  Status gather(Way& way, int rank, std::byte* row);
  Status scatter(Way& way, int rank);
  // Before blocks of which only a part has arrived are unpacked, fills the rest of their row with what the user's memory contains.
  Status fill_up(const ShortBlock& block);

  MPI_Comm comm_;
  bool devices_ = false;  // There may be device memory.
  bool fixed_ = false;
  std::optional<Way> in_;  // It is that of what is received, in a call for which `open_rows` has been needed.
};

}  // namespace crossrail::mpi
