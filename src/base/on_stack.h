// OnStack keeps, for each thread, the objects that lie in the frames of functions which call the program. The program's operations may
// leave these functions by longjmp, which runs no destructors. So an object counts as left when it lies where there is no longer a frame,
// or when it has been written over. A function may have only one object of a kind, because of two in a frame one may lie where the other
// takes it for left.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crossrail {

// Returns whether the object cannot be in the frame of a function at `here` or of one of its callers. It returns false if one of them is on
// another stack than the thread's own, such as a fiber's.
bool left_on_stack(const volatile std::uint64_t* mark, std::uint64_t made_with, const void* here);

template <class Kind>
class OnStack {
 public:
  OnStack(const OnStack&) = delete;
  OnStack& operator=(const OnStack&) = delete;

  // Returns how many objects there are, as seen by a function whose frame is at `here` and which has none itself.
  static int count(const void* here) {
    forget_left(here);
    return count_;
  }
  // Returns null if there is none.
  static Kind* innermost(const void* here) {
    const int there = count(here);
    return there == 0 ? nullptr : static_cast<Kind*>(known_[there - 1].object);
  }

 protected:
  OnStack() {
    forget_left(this);
    index_ = count_ < kMost ? count_ : kMost - 1;
    mark_ = ++marks_;
    known_[index_] = {this, mark_};
    count_ = index_ + 1;
  }
  ~OnStack() { count_ = index_; }
  bool outermost() const { return index_ == 0; }

 private:
  static constexpr int kMost = 8;
  struct Known {
    OnStack* object;
    std::uint64_t mark;
  };
  static void forget_left(const void* here) {
    while (count_ > 0 && left_on_stack(&known_[count_ - 1].object->mark_, known_[count_ - 1].mark, here)) --count_;
  }

  volatile std::uint64_t mark_;
  int index_;
  static inline thread_local Known known_[kMost]{};
  static inline thread_local int count_ = 0;
  static inline thread_local std::uint64_t marks_ = 0;
};

}  // namespace crossrail
