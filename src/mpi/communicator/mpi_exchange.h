// MpiExchange exchanges by blocking collectives on the user's communicator. When an MPI call fails on one rank, that rank no longer knows where the
// others are. Therefore everything after the first record is exchanged in *rounds*. All rounds look alike to MPI, and every rank says in each whether
// it has given up. A rank that has given up takes part in the next round, whatever the others use it for, and then all ranks know.
#pragma once

#include <array>
#include <vector>

#include "mpi/library/pmpi.h"
#include "transport/exchange.h"

namespace crossrail::mpi {

class MpiExchange final : public Exchange {
 public:
  // `first_bytes` is the size of the record that all ranks gather first; 0 means that there is none.
  MpiExchange(MPI_Comm comm, int ranks, std::size_t first_bytes) : Exchange(ranks), comm_(comm), first_bytes_(first_bytes) {}
  // A rank that leaves before the exchange is finished has given up.
  ~MpiExchange() override { give_up(); }

  // Waits, before anything else is exchanged, until all ranks are here, and reports it if that takes long: a rank may be late or run without
  // crossrail. Returns false on all ranks alike if some rank is not able to go on or the builds of crossrail differ. `wanted` says whether this rank
  // wants it, and afterwards whether any rank does.
  bool meet(bool able, bool& wanted);
  bool broadcast(std::string& text) override;
  bool all(bool mine) override { return tell(mine, nullptr, 0); }
  // Does the same as all(), and gives every rank the bits that any rank has set.
  bool any(bool mine, void* bits, std::size_t bytes) { return tell(mine, bits, bytes); }
  bool from_node_leader(const Topology& topology, void* record, std::size_t bytes) override;
  bool in_blocking_call() const override { return true; }
  bool is_over() const override { return over_; }
  void abandon() override { over_ = true; }
  // Does the same as all(), as the last step. The end is uncertain if MPI has failed on this rank, because no other rank learns of it any more.
  enum class End { agreed, refused, uncertain };
  End finish(bool mine);

  // Does the same as all() and takes a word from rank 0. All ranks call a collective of MPI next, whatever the outcome is. `also` returns whether it
  // was true on all ranks; it does not change the outcome.
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

  // Returns false if MPI has failed.
  bool combine(const Round& mine, Round& of_all);
  // Sets the bits that any rank has set on all ranks. Returns false if any rank has given up or passed false.
  bool tell(bool mine, void* payload, std::size_t bytes);
  bool fail() {
    give_up();
    return false;
  }
  void give_up();
  // An entry holds whether the rank takes part, and then its record. Returns false if MPI has failed.
  bool gather_entries(const std::vector<std::byte>& own, std::vector<std::byte>& of_all);

  MPI_Comm comm_;
  std::size_t first_bytes_;  // This is the size of a record that is still to be gathered.
  bool begun_ = false;
  bool over_ = false;  // All ranks know how the exchange has ended.
};

}  // namespace crossrail::mpi
