#include "pretended_warps.h"

#include <ucontext.h>

#include <algorithm>
#include <array>

#include "gpu_device.h"

namespace pretended {

constexpr unsigned kLanes = 32;
constexpr std::size_t kStackBytes = 32 * 1024;

struct Lane {
  ucontext_t context{};
  std::vector<char> stack;
  gpu::Index thread;
  gpu::Meeting meeting = gpu::Meeting::none;  // The lane waits there.
  uint64_t given = 0;
  unsigned from = 0;
  uint64_t got = 0;
};

struct Write {
  gpu::Pair* to;
  gpu::Pair value;
};

struct Warp {
  std::array<Lane, kLanes> lanes;
  std::vector<Write> writes;
  bool is_at(gpu::Meeting meeting) const {
    return std::all_of(lanes.begin(), lanes.end(), [meeting](const Lane& lane) { return lane.meeting == meeting; });
  }
};

struct Cta {
  gpu::Index block, threads, grid;
  const std::function<void()>* text = nullptr;
  std::vector<std::unique_ptr<Warp>> warps;
  bool is_at(gpu::Meeting meeting) const {
    return std::all_of(warps.begin(), warps.end(), [meeting](const auto& warp) { return warp->is_at(meeting); });
  }
};

namespace {

ucontext_t scheduler;
Lane* current = nullptr;
Warp* current_warp = nullptr;
Cta* current_cta = nullptr;
std::uint64_t stores = 0;

void run_lane() {
  (*current_cta->text)();
  current->meeting = gpu::Meeting::end;
  swapcontext(&current->context, &scheduler);
}

void prepare(Lane& lane, unsigned thread) {
  lane.thread.x = thread;
  lane.stack.resize(kStackBytes);
  getcontext(&lane.context);
  lane.context.uc_stack.ss_sp = lane.stack.data();
  lane.context.uc_stack.ss_size = lane.stack.size();
  makecontext(&lane.context, run_lane, 0);
}

void arrive(Warp& warp) {
  for (const Write& write : warp.writes) *write.to = write.value;
  stores += warp.writes.size();
  warp.writes.clear();
}

// The lanes have met, and go on.
void answer(Warp& warp) {
  const bool all = std::all_of(warp.lanes.begin(), warp.lanes.end(), [](const Lane& lane) { return lane.given != 0; });
  for (Lane& lane : warp.lanes) lane.got = lane.meeting == gpu::Meeting::from ? warp.lanes[lane.from].given : all ? 1 : 0;
  for (Lane& lane : warp.lanes) lane.meeting = gpu::Meeting::none;
}

// Brings a warp to its next meeting.
std::string step_warp(Cta& cta, Warp& warp) {
  current_cta = &cta;
  current_warp = &warp;
  blockIdx = cta.block;
  blockDim = cta.threads;
  gridDim = cta.grid;
  for (Lane& lane : warp.lanes) {
    if (lane.meeting != gpu::Meeting::none) continue;
    current = &lane;
    threadIdx = lane.thread;
    swapcontext(&scheduler, &lane.context);
  }
  arrive(warp);
  const gpu::Meeting meeting = warp.lanes[0].meeting;
  if (!warp.is_at(meeting)) return "the lanes of a warp do not meet";
  if (meeting != gpu::Meeting::threads && meeting != gpu::Meeting::end) answer(warp);
  return {};
}

}  // namespace

void Device::begin(Stream& stream) {
  const Kernel& kernel = stream.kernels.front();
  for (unsigned block = 0; block < kernel.grid; ++block) {
    auto cta = std::make_shared<Cta>();
    cta->block.x = block;
    cta->threads.x = kernel.threads;
    cta->grid.x = kernel.grid;
    cta->text = &kernel.text;
    for (unsigned first = 0; first < kernel.threads; first += kLanes) {
      auto warp = std::make_unique<Warp>();
      for (unsigned lane = 0; lane < kLanes; ++lane) prepare(warp->lanes[lane], first + lane);
      cta->warps.push_back(std::move(warp));
    }
    stream.ctas.push_back(std::move(cta));
  }
}

// Any warp that can go on does so.
std::string Device::step(Stream& stream) {
  if (stream.ctas.empty()) begin(stream);
  Cta& cta = *stream.ctas[random_() % stream.ctas.size()];
  Warp& warp = *cta.warps[random_() % cta.warps.size()];
  if (warp.is_at(gpu::Meeting::none)) {
    if (std::string wrong = step_warp(cta, warp); !wrong.empty()) return wrong;
  }
  if (cta.is_at(gpu::Meeting::threads)) {
    for (const auto& one : cta.warps) answer(*one);
  }
  const bool ended = std::all_of(stream.ctas.begin(), stream.ctas.end(), [](const auto& one) { return one->is_at(gpu::Meeting::end); });
  if (!ended) return {};
  stream.ctas.clear();
  stream.kernels.pop_front();
  return {};
}

// A warp that waits goes from one meeting to the next and stores nothing.
template <class Done>
std::string Device::go_on(Done done) {
  std::uint64_t before = stores;
  for (std::uint64_t idle = 0; !done();) {
    Stream& stream = streams_[random_() % streams_.size()];
    if (is_done(stream)) continue;
    const std::size_t kernels = stream.kernels.size();
    if (std::string wrong = step(stream); !wrong.empty()) return wrong;
    idle = stores == before && stream.kernels.size() == kernels ? idle + 1 : 0;
    before = stores;
    constexpr std::uint64_t kMostIdle = 1u << 17;
    if (idle > kMostIdle) return "all warps wait";
  }
  return {};
}

std::string Device::run() {
  return go_on([this] { return std::all_of(streams_.begin(), streams_.end(), [this](const Stream& stream) { return is_done(stream); }); });
}

std::string Device::run_until_done(int rank) {
  return go_on([this, rank] { return is_done(streams_[static_cast<std::size_t>(rank)]); });
}

}  // namespace pretended

namespace gpu {

uint64_t meet(Meeting meeting, uint64_t given, unsigned lane) {
  pretended::Lane* const mine = pretended::current;
  mine->meeting = meeting;
  mine->given = given;
  mine->from = lane;
  swapcontext(&mine->context, &pretended::scheduler);
  return mine->got;
}

void store_later(Pair* to, Pair value) { pretended::current_warp->writes.push_back({to, value}); }
void count_store() { ++pretended::stores; }

}  // namespace gpu
