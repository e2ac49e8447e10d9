// Tests run these jobs on a fiber.
#pragma once

#include <functional>

#include "base/fiber.h"

namespace crossrail::tests {

// A job is a function object. It is alive as long as it runs.
struct Job {
  Fiber& fiber;
  std::function<void(Fiber&)> body;
  void start() {
    fiber.start([](void* self) { static_cast<Job*>(self)->body(static_cast<Job*>(self)->fiber); }, this);
  }
};

}  // namespace crossrail::tests
