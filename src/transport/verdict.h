// Verdict: what becomes of blocking calls when an error has been met and not all ranks see one control block. Every rank says once how far
// it has come, and from then on ends no call with our algorithms. A rank that has heard all others knows what all of them know: which calls
// end with the error, and which MPI handles instead.
//
// MPI gets all calls that no rank had begun. It also gets the last call that was begun, unless the error was met in it, some rank has
// already ended it, or it is in place and cannot be done again. So no rank waits in one of our algorithms for another that is in MPI.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace crossrail {

// A Statement has the numbers of a rank's blocking calls.
struct Statement {
  std::uint64_t begun = 0;     // It is the last call that it has begun.
  std::uint64_t ended = 0;     // It is the last call in which it has received everything.
  std::uint64_t in_place = 0;  // It is 1 if the call begun was in place and so cannot be done again.
  std::uint64_t met = 0;       // It is the call in which the rank met the error itself, or 0 if it did not.
  std::uint64_t native = 0;    // It has found out that another rank is in MPI with this call.
};

class Verdict {
 public:
  static constexpr std::uint64_t kAllCalls = ~std::uint64_t{0};
  enum class On { unknown, error, given_back };

  explicit Verdict(int ranks) : heard_(static_cast<std::size_t>(ranks)) {}

  // Statements may come in any order. If a rank says more than one, only `met` counts; it is kAllCalls if the rank will not wait any longer.
  void hear(int rank, const Statement& said) {
    met_ = std::max(met_, said.met);
    native_ = std::max(native_, said.native);
    if (heard_[static_cast<std::size_t>(rank)]) return;
    heard_[static_cast<std::size_t>(rank)] = true;
    ++count_;
    ended_ = std::max(ended_, said.ended);
    if (said.begun > last_) in_place_ = false;
    last_ = std::max(last_, said.begun);
    in_place_ = in_place_ || (said.begun == last_ && said.in_place != 0);
  }
  bool heard_any() const { return count_ > 0; }

  // All calls that no rank had begun are given back. So is the last call that was begun, unless the error was
  // met in it, some rank has ended it, or it is in place. All other calls end with the error. A call that some
  // rank has begun in MPI is given back at once, because that rank says nothing before the call has ended.
  On on(std::uint64_t call) const {
    if (call <= met_) return On::error;
    if (call == native_) return ended_ < call ? On::given_back : On::error;
    if (count_ < heard_.size()) return On::unknown;
    if (call != last_) return call > last_ ? On::given_back : On::error;
    return ended_ < last_ && !in_place_ ? On::given_back : On::error;
  }

 private:
  std::vector<bool> heard_;
  std::size_t count_ = 0;
  std::uint64_t last_ = 0, ended_ = 0, met_ = 0, native_ = 0;
  bool in_place_ = false;  // The last call is in place.
};

}  // namespace crossrail
