// What tests run on a fiber.
#pragma once

#include <functional>

#include "base/fiber.h"

namespace crossrail::tests {

// A job that is a function object; alive as long as it runs.
struct Job {
  Fiber& fiber;
  std::function<void(Fiber&)> body;
  void start() {
    fiber.start([](void* self) { static_cast<Job*>(self)->body(static_cast<Job*>(self)->fiber); }, this);
  }
};

}  // namespace crossrail::tests
