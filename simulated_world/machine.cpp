#include "simulated_world/machine.h"

namespace crossrail::simulated_world {

bool Machine::take(const std::string& key, double value) {
#define VALUE(member, name) \
  if (key == name) {        \
    member = value;         \
    return true;            \
  }
#include "simulated_world/machine.def"
#undef VALUE
  return false;
}

std::string Machine::wrong() const {
#define VALUE(member, name) \
  if (!(member >= 0) || !std::isfinite(member)) return "the machine's " name " is missing or is no number of at least 0";
#include "simulated_world/machine.def"
#undef VALUE
  if (adapters < 1) return "the machine's adapters.count must be at least 1";
  if (transport != 0 && transport != 1 && transport != 2) return "the machine's transport.kind must be 0 (RC), 1 (UD) or 2 (DC)";
  if (kind() == Transport::datagram && datagram < 1) return "the machine's transport.datagram must be at least 1";
  if (kind() == Transport::dynamic && contexts < 1) return "the machine's transport.contexts must be at least 1";
  return {};
}

}  // namespace crossrail::simulated_world
