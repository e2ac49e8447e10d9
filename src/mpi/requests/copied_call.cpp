#include "mpi/requests/copied_call.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace crossrail::mpi {

Copy::~Copy() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
}

Status Copy::place(Word64& address, const Side& side, Word64 other) {
  program_ = reinterpret_cast<std::byte*>(address);
  SideParts parts = parts_of(side);
  if (!in_device_memory(program_, parts)) return {};
  CROSSRAIL_TRY(reserve(span_of(side), reinterpret_cast<std::byte*>(other)));
  address = word_of(address_);
  parts_ = std::move(parts);
  return {};
}

// The copy keeps the distances between the parts, since one address stands for all of them. Pages are allocated only when they are touched, so
// gigabytes between two parts cost nothing.
Status Copy::reserve(const Span& span, const std::byte* other) {
  constexpr std::size_t kShort = std::size_t{64} << 20;
  constexpr std::size_t kTooLong = std::size_t{1} << 40;  // There may be no addresses for so many bytes, or none for what comes next.
  constexpr std::size_t kApart = 64;
  const std::size_t bytes = span.bytes + kApart;
  std::byte* memory = nullptr;
  if (bytes <= kShort) {
    CROSSRAIL_TRY(short_.reserve(bytes));
    memory = short_.memory.get();
  } else {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const mapped = span.bytes < kTooLong ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) : MAP_FAILED;
    if (mapped == MAP_FAILED) {
      return failure(Code::no_memory, "the MPI library cannot read device memory, and the blocks of one buffer span %zu bytes, too many for a copy "
                     "in host memory", span.bytes);
    }
    mapped_ = mapped;
    mapped_bytes_ = bytes;
    memory = static_cast<std::byte*>(mapped);
  }
  address_ = moved(memory, -span.lower);
  if (address_ == other) address_ += kApart;
  return {};
}

Status Copy::fill() const {
  for (const SidePart& part : parts_) CROSSRAIL_TRY(copy_part(address_, program_, part));
  return {};
}

Status Copy::give_back() const {
  for (const SidePart& part : parts_) CROSSRAIL_TRY(copy_part(program_, address_, part));
  return {};
}

Status CopiedCall::place(const EntryPoint& entry, const Word64* words, const SidesOfCall& sides, Words& own) {
  const int last = entry.form == Form::blocking ? entry.function.words() - 1 : entry.function.request_word(entry.form);
  std::copy_n(words, last + 1, own.begin());
  Word64 &from = own[0], &to = own[static_cast<std::size_t>(entry.function.receive_word)];
  CROSSRAIL_TRY(sent.place(from, sides.sent, to));
  return received.place(to, sides.received, from);
}

Status CopiedCall::fill() const {
  CROSSRAIL_TRY(sent.fill());
  return received.fill();
}

void CopiedCall::take_back() {
  if (code == MPI_SUCCESS && !received.give_back().ok()) code = MPI_ERR_OTHER;
}

}  // namespace crossrail::mpi
