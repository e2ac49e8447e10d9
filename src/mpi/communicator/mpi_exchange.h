// MpiExchange: by blocking collectives on the user's communicator. When an MPI call fails on one rank, that one knows no more where the
// others are. So after the first record all is told in *rounds*, which look alike to MPI, and in which every rank says whether it has
// given up: one that has takes part in the next round, whatever that is for the others, and then all know.
#pragma once

#include <array>
#include <vector>

#include "mpi/library/pmpi.h"
#include "transport/exchange.h"

namespace crossrail::mpi {

class MpiExchange final : public Exchange {
 public:
  // `first_bytes`: of the record that all gather first of all; 0: none.
  MpiExchange(MPI_Comm comm, int ranks, std::size_t first_bytes) : Exchange(ranks), comm_(comm), first_bytes_(first_bytes) {}
  // Who leaves before it is finished has given up.
  ~MpiExchange() override { give_up(); }

  // Before anything else is exchanged: waits until all ranks are here, and says so if that takes long; a rank may be late, or
  // run without crossrail. False on all ranks alike if not all are able to go on, or not all run the same build of it. `wanted`: by this
  // rank, then by any.
  bool meet(bool able, bool& wanted);
  bool broadcast(std::string& text) override;
  bool all(bool mine) override { return tell(mine, nullptr, 0); }
  // As all(), and every rank gets the bits that any rank has set.
  bool any(bool mine, void* bits, std::size_t bytes) { return tell(mine, bits, bytes); }
  bool from_node_leader(const Topology& topology, void* record, std::size_t bytes) override;
  bool in_blocking_call() const override { return true; }
  bool is_over() const override { return over_; }
  void abandon() override { over_ = true; }
  // As all(), and the last of all. Uncertain: the MPI library has failed here, and nobody else hears of it any more.
  enum class End { agreed, refused, uncertain };
  End finish(bool mine);

  // As all(), and a word from rank 0, before a collective of the MPI library that all ranks then call, whatever comes out.
  // `also`: whether all say so, which decides nothing.
  End ask(bool mine, bool& also, std::uint64_t& word);

 protected:
  bool gather_bytes(const void* mine, void* all, std::size_t bytes) override;

 private:
  static constexpr std::size_t kWords = 256, kPayload = kWords - 2;
  static constexpr std::size_t kPayloadBytes = kPayload * sizeof(int);
  struct Round {
    int given_up = 0, refused = 0;
    std::array<int, kPayload> payload{};
  };
  static_assert(sizeof(Round) == kWords * sizeof(int));

  // False: no answer.
  bool combine(const Round& mine, Round& of_all);
  // Bits that any rank has set are set on all. False if any rank has given up, or says false.
  bool tell(bool mine, void* payload, std::size_t bytes);
  bool fail() {
    give_up();
    return false;
  }
  void give_up();
  // An entry: whether a rank takes part, then its record. False: no answer.
  bool gather_entries(const std::vector<std::byte>& own, std::vector<std::byte>& of_all);

  MPI_Comm comm_;
  std::size_t first_bytes_;  // of a record that is still to be gathered
  bool begun_ = false;
  bool over_ = false;  // all ranks know how it has ended
};

}  // namespace crossrail::mpi
