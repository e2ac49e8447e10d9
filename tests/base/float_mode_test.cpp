#include "base/float_mode.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <limits>
#include <vector>

#include "base/fiber.h"
#include "tests/base/fiber_job.h"

namespace crossrail::tests {
namespace {

// It is volatile, so that it is computed when it is written.
double sum_of(double larger, double smaller) {
  volatile double first = larger, second = smaller, sum = first + second;
  return sum;
}

TEST(FloatMode, a_job_computes_as_who_has_started_it_at_that_time) {
  Fiber fiber;
  for (const int rounding : {FE_UPWARD, FE_TONEAREST, FE_DOWNWARD}) {
    std::vector<int> seen;
    bool ready = false;
    Job job{fiber, [&](Fiber& its) {
              seen.push_back(std::fegetround());
              its.wait_until([&] { return ready; });
              seen.push_back(std::fegetround());
            }};
    ASSERT_EQ(std::fesetround(rounding), 0);
    job.start();
    ASSERT_EQ(std::fesetround(FE_TOWARDZERO), 0);
    ready = true;
    fiber.resume();
    EXPECT_EQ(std::fegetround(), FE_TOWARDZERO);
    EXPECT_EQ(seen, (std::vector<int>{rounding, rounding}));
  }
  std::fesetround(FE_TONEAREST);
}

TEST(FloatMode, flags_of_a_job_are_those_of_who_resumes_it) {
  Fiber fiber;
  bool ready = false;
  Job job{fiber, [&](Fiber& its) {
            (void)sum_of(1, 1e-30);
            its.wait_until([&] { return ready; });
            (void)sum_of(std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity());
          }};
  std::feclearexcept(FE_ALL_EXCEPT);
  job.start();
  EXPECT_EQ(std::fetestexcept(FE_INEXACT | FE_INVALID), FE_INEXACT);
  std::feclearexcept(FE_ALL_EXCEPT);
  ready = true;
  fiber.resume();
  EXPECT_EQ(std::fetestexcept(FE_INEXACT | FE_INVALID), FE_INVALID);
  std::feclearexcept(FE_ALL_EXCEPT);
}

}  // namespace
}  // namespace crossrail::tests
