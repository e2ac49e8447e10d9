// A CopiedCall is one native call on copies of data in device memory (copied_calls.h).
#pragma once

#include <array>
#include <cstddef>

#include "base/growable_buffer.h"
#include "mpi/library/flavour.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"

namespace crossrail::mpi {

// A Copy stands for one side whose data are in device memory, wholly or partly.
class Copy {
 public:
  Copy() = default;
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy();
  // Allocates memory and sets `address` to the address that stands for the side. It differs from `other`, the other side's address: data may begin
  // behind their address, and MPI libraries take two equal addresses for a call in place. Errors: no_memory.
  Status place(Word64& address, const Side& side, Word64 other);
  void keep_layouts() { mpi::keep_layouts(parts_); }
  // Also fills a receiving side, because the call may leave parts of it unwritten.
  Status fill() const;
  Status give_back() const;
  bool needed() const { return address_ != nullptr; }

 private:
  Status reserve(const Span& span, const std::byte* other);

  std::byte* program_ = nullptr;  // It is the side's own address.
  std::byte* address_ = nullptr;  // It is the address that stands for the side.
  SideParts parts_;
  GrowableBuffer short_;    // The program's allocator is faster for little memory.
  void* mapped_ = nullptr;  // It is used if the side is long.
  std::size_t mapped_bytes_ = 0;
};

struct CopiedCall {
  using Words = std::array<Word64, 11>;

  // Writes to `own` the call's words with the addresses of the copies. Errors: no_memory.
  Status place(const EntryPoint& entry, const Word64* words, const SidesOfCall& sides, Words& own);
  bool needed() const { return sent.needed() || received.needed(); }
  // It is needed if the call may end after the program has freed its types.
  void keep_layouts() { sent.keep_layouts(), received.keep_layouts(); }
  Status fill() const;
  void take_back();

  Copy sent, received;
  int code = MPI_SUCCESS;
};

// The program has a request for such a call.
struct PendingCopiedCall : CopiedCall {
  PendingCopiedCall() = default;
  PendingCopiedCall(const PendingCopiedCall&) = delete;
  PendingCopiedCall& operator=(const PendingCopiedCall&) = delete;
  virtual ~PendingCopiedCall() = default;

  bool over();
  // The exchange is over: completes the program's request. The object must not be touched afterwards, since the program may free the request.
  virtual void finish() = 0;

  bool awaited_elsewhere = false;  // A thread of ours waits for it, and only that thread may use `native`.
  MPI_Request native = handles().request_null;
  MPI_Request request = handles().request_null;  // It is the program's request.
};

// From here on MPI's progress checks whether the call is over.
void put_under_way(PendingCopiedCall& call);

// Returns MPI's own function of an entry point, or null if it has none.
void* native_function(const EntryPoint& entry);

// Passes all words; those beyond the function's parameters are in registers or stack slots that it does not read.
int call_with(void* function, const CopiedCall::Words& words);

}  // namespace crossrail::mpi
