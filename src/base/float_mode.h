// FloatMode is how a thread computes with floating-point numbers (rounding, traps, denormal numbers as zero) and which exception flags it
// has raised.
//
// Programs change the mode (fesetround, feenableexcept, -ffast-math) and read the flags. What is computed for a pending call is computed as
// the program's thread would have done it when it made the call, whoever advances it.
#pragma once

#include <cstdint>

#if !defined(__x86_64__)
#include <cfenv>
#endif

namespace crossrail {

#if defined(__x86_64__)

// A default FloatMode is that of a new program.
class FloatMode {
 public:
  static FloatMode of_this_thread() {
    FloatMode mode;
    mode.vectors_ = vectors();
    asm volatile("fnstcw %0" : "=m"(mode.others_));
    return mode;
  }
  // Sets the mode, with no flags raised.
  void set() const {
    set_vectors(vectors_ & ~kFlags);
    asm volatile("fldcw %0" : : "m"(others_));
  }
  // These are the flags that the thread has raised so far. Those of long doubles are not looked at.
  using Flags = std::uint32_t;
  static Flags raised() { return vectors() & kFlags; }
  static void add(Flags flags) {
    const std::uint32_t now = vectors();
    if ((now & flags) != flags) set_vectors(now | flags);
  }

 private:
  static constexpr std::uint32_t kFlags = 0x3f;
  static std::uint32_t vectors() {
    std::uint32_t word = 0;
    asm volatile("stmxcsr %0" : "=m"(word));
    return word;
  }
  static void set_vectors(std::uint32_t word) { asm volatile("ldmxcsr %0" : : "m"(word)); }
  std::uint32_t vectors_ = 0x1f80;  // This is MXCSR.
  std::uint16_t others_ = 0x37f;    // This is the control word of long doubles.
};

#else

class FloatMode {
 public:
  static FloatMode of_this_thread() {
    FloatMode mode;
    (void)std::fegetenv(&mode.environment_);
    return mode;
  }
  void set() const {
    (void)std::fesetenv(&environment_);
    (void)std::feclearexcept(FE_ALL_EXCEPT);
  }
  using Flags = int;
  static Flags raised() { return std::fetestexcept(FE_ALL_EXCEPT); }
  static void add(Flags flags) {
    if (flags != 0 && std::fetestexcept(flags) != flags) (void)std::feraiseexcept(flags);
  }

 private:
  std::fenv_t environment_ = *FE_DFL_ENV;
};

#endif

// While one of these lives, this thread computes without traps, and what it computes leaves no flags.
class QuietFloats {
 public:
  QuietFloats() { FloatMode{}.set(); }
  ~QuietFloats() {
    mode_.set();
    FloatMode::add(flags_);
  }
  QuietFloats(const QuietFloats&) = delete;

 private:
  FloatMode mode_ = FloatMode::of_this_thread();
  FloatMode::Flags flags_ = FloatMode::raised();
};

}  // namespace crossrail
