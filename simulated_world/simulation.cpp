#include "simulated_world/simulation.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "base/setting_check.h"
#include "engine/engine.h"
#include "simulated_world/checked_buffers.h"

namespace crossrail::simulated_world {
namespace {

// Checked data may take so much memory; above, calls are not checked.
constexpr std::size_t kMostCheckedBytes = std::size_t{8} << 30;

std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

double seconds_since(std::chrono::steady_clock::time_point begin) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }

double microseconds(Time time) { return static_cast<double>(time) / 1e6; }

// It is one algorithm on one world.
class Runner {
 public:
  Runner(const Job& job, const std::string& algorithm, bool moved) : job_(job), algorithm_(algorithm), held_before_(heap_bytes()), world_(options(job, algorithm, moved)) {}

  // Once a simulation has failed, the world is of no use any more.
  bool usable() const { return usable_; }
  Cell at(std::size_t bytes);

 private:
  static WorldOptions options(const Job& job, const std::string& algorithm, bool moved);
  void run_rank(Communicator& communicator, CheckedBuffers& buffers, Cell& cell);
  void count(Cell& cell);

  const Job& job_;
  const std::string& algorithm_;
  std::size_t held_before_;
  World world_;
  bool usable_ = true;
  std::vector<const Plan*> plans_;
  Time ended_ = 0;
  std::vector<Time> took_;
  std::uint64_t call_ = 0;
  struct {
    std::uint64_t missed, messages;
  } before_{};  // They are the network's when the last call began.
};

WorldOptions Runner::options(const Job& job, const std::string& algorithm, bool moved) {
  WorldOptions options{job.node_of, job.machine, job.settings, job.tuning, moved};
  if (algorithm != "auto") (void)assign_setting(options.settings, row_of(job.collective).setting, algorithm);
  return options;
}

void Runner::run_rank(Communicator& communicator, CheckedBuffers& buffers, Cell& cell) {
  const int rank = communicator.topology.rank;
  const Shape shape = CallKind{job_.collective, cell.bytes}.shape();
  Scheduler& scheduler = world_.scheduler();
  for (int number = 0; number <= job_.calls; ++number) {
    const std::uint64_t call = call_ + static_cast<std::uint64_t>(number);
    buffers.fill(rank, call);
    const Time began = world_.begin_together();
    if (rank == 0) before_ = {world_.network().missed(), world_.network().messages()};
    if (rank == job_.late_rank) scheduler.pass(job_.late);
    scheduler.pass(Machine::time(job_.machine.enter));
    const Outcome outcome = run_collective(communicator, shape, buffers.of(rank));
    ended_ = std::max(ended_, scheduler.now());
    if (!outcome.status.ok()) scheduler.fail(outcome.status.what);
    if (outcome.plan->native()) scheduler.fail("the MPI library would do it" + (outcome.plan->reason.empty() ? "" : ": " + outcome.plan->reason));
    plans_[static_cast<std::size_t>(rank)] = outcome.plan;
    if (world_.moves_data() && !buffers.right(rank, call)) ++cell.wrong;
    (void)world_.begin_together();
    if (rank == 0) took_.push_back(ended_ - began - (job_.late_rank >= 0 ? job_.late : 0));
  }
}

void Runner::count(Cell& cell) {
  const Topology& topology = world_.communicator(0).topology;
  for (const Group& ranks : topology.nodes) {
    Traffic traffic;
    std::uint64_t queue_pairs = 0;
    for (const int rank : ranks) {
      const Plan& plan = *plans_[static_cast<std::size_t>(rank)];
      traffic += plan.last;
      queue_pairs += plan.remote_partner_count;
      cell.node_bytes = std::max<std::uint64_t>(cell.node_bytes, plan.node_bytes);
    }
    if (traffic.sends >= cell.traffic.sends) cell.traffic = traffic;
    cell.queue_pairs = std::max(cell.queue_pairs, queue_pairs);
  }
  cell.chosen = plans_[0]->algorithm;
}

Cell Runner::at(std::size_t bytes) {
  Cell cell;
  cell.bytes = bytes;
  const auto begin = std::chrono::steady_clock::now();
  CheckedBuffers buffers({job_.collective, bytes}, world_.size(), world_.moves_data());
  if (!buffers.usable()) {
    cell.error = "there is no address space for the buffers";
    return cell;
  }
  plans_.assign(static_cast<std::size_t>(world_.size()), nullptr);
  took_.clear();
  cell.error = world_.run([&](Communicator& communicator) { run_rank(communicator, buffers, cell); });
  call_ += static_cast<std::uint64_t>(job_.calls) + 1;
  cell.wall_s = seconds_since(begin);
  usable_ = cell.error.empty();
  if (!usable_) return cell;
  cell.checked = world_.moves_data();
  cell.first_us = microseconds(took_.front());
  for (std::size_t call = 1; call < took_.size(); ++call) cell.time_us += microseconds(took_[call]) / job_.calls;
  cell.missed = world_.network().missed() - before_.missed;
  cell.messages = world_.network().messages() - before_.messages;
  cell.rank_bytes = (heap_bytes() - std::min(heap_bytes(), held_before_)) / static_cast<std::size_t>(world_.size());
  count(cell);
  return cell;
}

bool has_room_for_data(const Job& job, std::size_t bytes) {
  return CheckedBuffers::bytes_of_all({job.collective, bytes}, static_cast<int>(job.node_of.size())) <= kMostCheckedBytes;
}

bool is_checked(const Job& job, std::size_t bytes) {
  return CallKind{job.collective, bytes}.needs_data() || (bytes <= job.check_up_to && has_room_for_data(job, bytes));
}

}  // namespace

const std::string* Contender::algorithm_for(std::size_t bytes) const {
  const auto takes = [bytes](const Choice& choice) { return bytes <= choice.up_to; };
  const auto found = std::find_if(choices.begin(), choices.end(), takes);
  return found == choices.end() ? nullptr : &found->algorithm;
}

bool simulate(const Job& job, const std::function<void(const Cell&)>& tell) {
  bool right = true;
  for (const Contender& contender : job.contenders) {
    std::unique_ptr<Runner> runner;
    const std::string* algorithm = nullptr;
    bool moved = false;
    for (const std::size_t bytes : job.sizes) {
      const std::string* const wanted = contender.algorithm_for(bytes);
      if (wanted == nullptr) continue;
      if (runner == nullptr || !runner->usable() || wanted != algorithm || moved != is_checked(job, bytes)) {
        moved = is_checked(job, bytes);
        algorithm = wanted;
        runner.reset();
        runner = std::make_unique<Runner>(job, *algorithm, moved);
      }
      Cell cell;
      if (moved && !has_room_for_data(job, bytes)) {
        cell.bytes = bytes;
        cell.error = "the data of such calls must be moved, and there is no memory for so many";
      } else {
        cell = runner->at(bytes);
      }
      cell.algorithm = contender.name;
      right = right && cell.wrong == 0;
      tell(cell);
    }
  }
  return right;
}

}  // namespace crossrail::simulated_world
