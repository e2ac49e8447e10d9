// One call of the MPI library's on copies of what is in device memory (copied_calls.h).
#pragma once

#include <array>
#include <cstddef>

#include "base/growable_buffer.h"
#include "mpi/library/flavour.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"

namespace crossrail::mpi {

// One side, if it is in device memory, or some of it.
class Copy {
 public:
  Copy() = default;
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy();
  // Memory for it; `address` becomes that of what stands for the side. It is not `other`, that of the other side: data may begin behind
  // their address, and MPI libraries take two equal ones for a call in place. Errors: no_memory.
  Status place(Word64& address, const CopiedSide& side, Word64 other);
  void keep_layouts() { mpi::keep_layouts(parts_); }
  // Of what is received, too: not all of it need be written.
  Status fill() const;
  Status give_back() const;
  bool needed() const { return address_ != nullptr; }

 private:
  Status reserve(const Span& span, const std::byte* other);

  std::byte* program_ = nullptr;  // the side's address
  std::byte* address_ = nullptr;  // that of what stands for it
  SideParts parts_;
  GrowableBuffer short_;    // The program's allocator is quicker with little memory.
  void* mapped_ = nullptr;  // Where the side is long.
  std::size_t mapped_bytes_ = 0;
};

struct CopiedCall {
  using Words = std::array<Word64, 11>;

  // Makes of the call's words those with the addresses of copies. Errors: no_memory.
  Status place(const Word64* words, const SidesOfCall& sides, Words& own);
  bool needed() const { return sent.needed() || received.needed(); }
  // It ends when the program may have freed its types.
  void keep_layouts() { sent.keep_layouts(), received.keep_layouts(); }
  Status fill() const;
  void take_back();

  Copy sent, received;
  int code = MPI_SUCCESS;
};

// Of which the program has a request.
struct PendingCopiedCall : CopiedCall {
  PendingCopiedCall() = default;
  PendingCopiedCall(const PendingCopiedCall&) = delete;
  PendingCopiedCall& operator=(const PendingCopiedCall&) = delete;
  virtual ~PendingCopiedCall() = default;

  bool over();
  // The exchange is over: completes the program's request. Not touched any more then, as the program may free it.
  virtual void finish() = 0;

  bool awaited_elsewhere = false;  // by a thread of ours, which alone may use `native`
  MPI_Request native = handles().request_null;
  MPI_Request request = handles().request_null;  // the program's
};

// From here on the MPI library's progress looks whether it is over.
void put_under_way(PendingCopiedCall& call);

// The MPI library's own function of an entry point; null if it has none.
void* native_function(const EntryPoint& entry);

// Words that the function does not have are registers, or places on the stack, that it does not read.
int call_with(void* function, const CopiedCall::Words& words);

}  // namespace crossrail::mpi
