#include "selection/choices.h"

#include <iterator>
#include <utility>

#include "selection/parameters.h"

namespace crossrail {

std::shared_ptr<Choices> Choices::shared(const Table& table, const Settings& settings, const Topology& topology) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<Choices>>& all = *new std::vector<std::weak_ptr<Choices>>;
  Like like{table,  {}, topology.node_of, topology.shared_segment, topology.single_copy, topology.rank_order, topology.scratch_bytes, topology.mpi};
  for (const Collective collective : kCollectives) like.wanted.push_back(wanted_algorithm(settings, collective));
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const std::weak_ptr<Choices>& one) { return one.expired(); });
  for (const std::weak_ptr<Choices>& one : all) {
    std::shared_ptr<Choices> there = one.lock();
    if (there != nullptr && there->like_ == like) return there;
  }
  std::shared_ptr<Choices> made(new Choices(std::move(like)));
  all.push_back(made);
  return made;
}

const Choice& Choices::of(const Ground& ground, const Shape& shape) {
  const Kind kind{shape.kind(), ground.ranks_per_device, ground.messages, ground.devices_of_nodes, ground.form};
  const std::lock_guard lock(mutex_);
  for (const Known& one : known_) {
    if (one.kind == kind) return *one.choice;
  }
  const std::string& wanted = like_.wanted[static_cast<std::size_t>(shape.collective)];
  known_.push_back({kind, std::make_unique<const Choice>(*like_.table, wanted, ground, shape)});
  return *known_.back().choice;
}

}  // namespace crossrail
