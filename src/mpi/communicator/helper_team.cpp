#include "mpi/communicator/helper_team.h"

#include <algorithm>

#include "base/log.h"

namespace crossrail::mpi {
namespace {

constexpr int kTries = 16;

// Agrees on a number that no other communicator of any of these ranks has. If another thread does the same for another communicator, both may fail to
// agree and then try other numbers.
Status agree_on_tag(Links& links, bool& agreed, std::uint32_t& tag) {
  HelperProcesses& helpers = HelperProcesses::of_process();
  for (int tries = 0; tries < kTries; ++tries) {
    CROSSRAIL_TRY(links.agree_on_largest(helpers.next_free(), tag));
    const bool mine = helpers.take_number(tag);
    std::uint32_t refused = 0;
    const Status asked = links.agree_on_largest(mine ? 0 : 1, refused);
    agreed = asked.ok() && refused == 0;
    if (agreed) return {};
    if (mine) helpers.free_number(tag);
    CROSSRAIL_TRY(asked);
  }
  return {};
}

}  // namespace

void tell_of_helpers(Location& mine) {
  const HelperProcesses& helpers = HelperProcesses::of_process();
  mine.helpers = helpers.count();
  mine.helper_number = helpers.number();
  mine.helper_job = helpers.job();
}

std::unique_ptr<HelperTeam> agree_on_helpers(Communicator& communicator, const std::vector<Location>& locations) {
  int least = kMostHelpers;
  for (const Location& at : locations) {
    least = std::min(least, at.helper_job == locations[0].helper_job ? at.helpers : 0);
  }
  if (least == 0) return nullptr;
  bool agreed = false;
  std::uint32_t tag = 0;
  if (!agree_on_tag(*communicator.slot().links, agreed, tag).ok() || !agreed) return nullptr;
  auto team = std::make_unique<HelperTeam>();
  for (const Location& at : locations) team->numbers.push_back(at.helper_number);
  team->helpers = least;
  team->tag = tag;
  if (communicator.topology.rank == 0) log_line(LogLevel::plan, "helper processes: %d a rank", least);
  return team;
}

}  // namespace crossrail::mpi
