// Choices keeps what is chosen for all kinds of calls on a communicator. Each kind is compiled at its first call. Communicators of one
// process with equal topologies, settings and tables share their Choices.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/settings.h"
#include "selection/choice.h"

namespace crossrail {

class Choices {
 public:
  using Table = std::shared_ptr<const std::vector<TuningRow>>;
  // Returns the choices that all communicators like this one share as long as one of them exists. Any thread may call it.
  static std::shared_ptr<Choices> shared(const Table& table, const Settings& settings, const Topology& topology);

  // `ground.topology` is that of one of these communicators. What is returned lives as long as the Choices do. Any thread may call it.
  const Choice& of(const Ground& ground, const Shape& shape);

 private:
  // These values decide beside the kind of call, and are the same on all these communicators.
  struct Like {
    Table table;
    std::vector<std::string> wanted;  // These are the settings' algorithms, by collective.
    std::vector<int> node_of;
    bool shared_segment, single_copy, rank_order;
    std::uint64_t scratch_bytes;
    std::string mpi;
    bool operator==(const Like&) const = default;
  };
  // This is all of a Shape except its size, and all of a Ground except its topology.
  struct Kind {
    std::uint64_t shape;
    int ranks_per_device;
    bool messages, devices_of_nodes;
    Form form;
    bool operator==(const Kind&) const = default;
  };
  struct Known {
    Kind kind;
    std::unique_ptr<const Choice> choice;
  };

  explicit Choices(Like like) : like_(std::move(like)) {}

  const Like like_;
  std::mutex mutex_;
  std::vector<Known> known_;  // The mutex guards this.
};

}  // namespace crossrail
