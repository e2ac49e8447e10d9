#include "mpi/communicator/courier_team.h"

#include <algorithm>

#include "base/log.h"

namespace crossrail::mpi {
namespace {

constexpr int kTries = 16;

// A number that no other communicator of any of these ranks has. Another thread may be at the same for another communicator: then both
// look for another one.
Status agree_on_tag(Links& links, bool& agreed, std::uint32_t& tag) {
  Couriers& couriers = Couriers::of_process();
  for (int tries = 0; tries < kTries; ++tries) {
    CROSSRAIL_TRY(links.agree_on_largest(couriers.next_free(), tag));
    const bool mine = couriers.take_number(tag);
    std::uint32_t refused = 0;
    const Status asked = links.agree_on_largest(mine ? 0 : 1, refused);
    agreed = asked.ok() && refused == 0;
    if (agreed) return {};
    if (mine) couriers.free_number(tag);
    CROSSRAIL_TRY(asked);
  }
  return {};
}

}  // namespace

void tell_of_couriers(Location& mine) {
  const Couriers& couriers = Couriers::of_process();
  mine.couriers = couriers.count();
  mine.courier_number = couriers.number();
  mine.courier_job = couriers.job();
}

std::unique_ptr<CourierTeam> agree_on_couriers(Communicator& communicator, const std::vector<Location>& locations) {
  int least = kMostCouriers;
  for (const Location& at : locations) {
    least = std::min(least, at.courier_job == locations[0].courier_job ? at.couriers : 0);
  }
  if (least == 0) return nullptr;
  bool agreed = false;
  std::uint32_t tag = 0;
  if (!agree_on_tag(*communicator.slot().links, agreed, tag).ok() || !agreed) return nullptr;
  auto team = std::make_unique<CourierTeam>();
  for (const Location& at : locations) team->numbers.push_back(at.courier_number);
  team->couriers = least;
  team->tag = tag;
  if (communicator.topology.rank == 0) log_line(LogLevel::plan, "helper processes: %d a rank", least);
  return team;
}

}  // namespace crossrail::mpi
