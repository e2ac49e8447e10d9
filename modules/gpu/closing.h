// While the driver closes a mapping of a peer's memory, it may not know the address any more and still hold the memory. Whoever waits for the memory to be
// free asks here, too.
#pragma once

#include <vector>

#include "later.h"

namespace gpu {

// While it lives, the mappings among these are being closed.
class Closing {
 public:
  explicit Closing(const std::vector<Leftover>& leftovers);
  ~Closing();
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

 private:
  std::vector<Address> mappings_;
};

bool is_closing(Address at);

}  // namespace gpu
