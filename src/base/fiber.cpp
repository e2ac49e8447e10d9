#include "base/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#ifdef CROSSRAIL_BOOST_CONTEXT
#include <boost/context/detail/fcontext.hpp>
#else
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define CROSSRAIL_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define CROSSRAIL_TSAN 1
#endif

namespace crossrail {
namespace {

// The stack is reserved, and only what is touched becomes memory. Device drivers run on it, and so do the program's signal handlers, which
// may need as much as on a stack of the program's. The smaller size is for scarce address space.
constexpr std::size_t kStackBytes[] = {std::size_t{8} << 20, std::size_t{1} << 20};

// The lowest of the pages stops a stack that overflows.
struct Pages {
  Pages() {
    guard = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (const std::size_t wanted : kStackBytes) {
      void* const mapped = mmap(nullptr, guard + wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
      if (mapped == MAP_FAILED) continue;
      memory = static_cast<std::byte*>(mapped);
      bytes = wanted;
      (void)mprotect(memory, guard, PROT_NONE);
      (void)madvise(bottom(), bytes, MADV_NOHUGEPAGE);  // Otherwise the first touch would take a huge page.
      return;
    }
  }
  ~Pages() {
    if (memory != nullptr) (void)munmap(memory, guard + bytes);
  }
  Pages(const Pages&) = delete;
  std::byte* bottom() const { return memory + guard; }
  std::byte* memory = nullptr;
  std::size_t guard = 0, bytes = 0;
};

}  // namespace

// This holds the two ends of a switch. Boost.Context switches in some nanoseconds. Machines without it use the C library's way, which asks
// the kernel for the signal mask each time.
struct Fiber::Stack {
  Pages pages;
  Fiber* owner = nullptr;
#ifdef CROSSRAIL_BOOST_CONTEXT
  boost::context::detail::fcontext_t inside = nullptr, outside = nullptr;
  static void enter(boost::context::detail::transfer_t from) {
    auto* const stack = static_cast<Stack*>(from.data);
    stack->outside = from.fctx;
    stack->arrived_inside();
    run_jobs(*stack->owner);
  }
  void prepare() { inside = boost::context::detail::make_fcontext(pages.bottom() + pages.bytes, pages.bytes, enter); }
  void jump_in() { inside = boost::context::detail::jump_fcontext(inside, this).fctx; }
  void jump_out() { outside = boost::context::detail::jump_fcontext(outside, nullptr).fctx; }
#else
  ucontext_t inside{}, outside{};
  static void enter(unsigned low, unsigned high) {
    auto* const stack = reinterpret_cast<Stack*>(static_cast<std::size_t>(high) << 32 | low);
    stack->arrived_inside();
    run_jobs(*stack->owner);
  }
  void prepare() {
    getcontext(&inside);
    inside.uc_stack.ss_sp = pages.bottom();
    inside.uc_stack.ss_size = pages.bytes;
    const auto word = reinterpret_cast<std::size_t>(this);
    makecontext(&inside, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(word), static_cast<unsigned>(word >> 32));
  }
  void jump_in() { swapcontext(&outside, &inside); }
  void jump_out() { swapcontext(&inside, &outside); }
#endif

  // The sanitizers are told of every switch.
#ifdef CROSSRAIL_ASAN
  // Frames of a job that was dropped are still marked, and what is mapped there next must not meet the marks.
  ~Stack() { ASAN_UNPOISON_MEMORY_REGION(pages.bottom(), pages.bytes); }
  void* shadow_inside = nullptr;
  void* shadow_outside = nullptr;
  const void* outside_bottom = nullptr;
  std::size_t outside_bytes = 0;
  void leaving_outside() { __sanitizer_start_switch_fiber(&shadow_outside, pages.bottom(), pages.bytes); }
  void arrived_outside() { __sanitizer_finish_switch_fiber(shadow_outside, nullptr, nullptr); }
  void leaving_inside() { __sanitizer_start_switch_fiber(&shadow_inside, outside_bottom, outside_bytes); }
  void arrived_inside() { __sanitizer_finish_switch_fiber(shadow_inside, &outside_bottom, &outside_bytes); }
#elif defined(CROSSRAIL_TSAN)
  void* thread_inside = __tsan_create_fiber(0);
  void* thread_outside = nullptr;
  ~Stack() { __tsan_destroy_fiber(thread_inside); }
  void leaving_outside() {
    thread_outside = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(thread_inside, 0);
  }
  void arrived_outside() {}
  void leaving_inside() { __tsan_switch_to_fiber(thread_outside, 0); }
  void arrived_inside() {}
#else
  void leaving_outside() {}
  void arrived_outside() {}
  void leaving_inside() {}
  void arrived_inside() {}
#endif
};

Fiber::Fiber() : stack_(new (std::nothrow) Stack) {
  if (stack_ == nullptr) return;
  stack_->owner = this;
  if (stack_->pages.memory == nullptr || out_of_memory.load(std::memory_order_relaxed)) {
    stack_.reset();
  } else {
    stack_->prepare();
  }
}

Fiber::~Fiber() = default;

// This is the bottom of the stack. It runs one job after the other, so that a stack is prepared only once.
void Fiber::run_jobs(Fiber& fiber) {
  while (true) {
    fiber.mode_.set();
    fiber.job_(fiber.argument_);
    fiber.finished_ = true;
    fiber.suspend();
  }
}

void Fiber::start(void (*job)(void*), void* argument, const FloatMode& mode) {
  job_ = job;
  argument_ = argument;
  mode_ = mode;
  finished_ = false;
  go_on();
}

void Fiber::go_on() {
  stack_->leaving_outside();
  stack_->jump_in();  // This restores the mode outside.
  FloatMode::add(raised_);
  stack_->arrived_outside();
}

void Fiber::suspend() {
  stack_->leaving_inside();
  raised_ = FloatMode::raised();
  stack_->jump_out();
  mode_.set();
  stack_->arrived_inside();
}

}  // namespace crossrail
