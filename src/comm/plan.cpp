#include "comm/plan.h"

#include "base/log.h"

namespace crossrail {

const char* name_of(Memory memory) {
  switch (memory) {
    case Memory::host: return "host";
    case Memory::device: return "device";
  }
  return "?";
}

const char* ground_of(const Shape& shape) { return shape.order == Order::stream ? "stream" : name_of(shape.memory); }

void Plan::count_send(int rank, std::size_t bytes) {
  if (topology->node_of[rank] == topology->node()) {
    ++last.local_sends;
    return;
  }
  ++last.sends;
  last.sent_bytes += bytes;
  if (!remote_partners[rank]) ++remote_partner_count;
  remote_partners[rank] = true;
}

std::uint64_t Plan::parameter(const Parameter& declared) const {
  const std::uint64_t* const found = parameters.find(declared);
  if (found == nullptr) log_line(LogLevel::error, "%s reads the parameter %s, which its row does not declare", algorithm, declared.name);
  return limited(found == nullptr ? declared.preset : *found, declared.unit, *topology);
}

Status Plan::open_messages_and_memory(std::size_t bytes) {
  // Both must be called even if the first one fails here, because other ranks call them.
  const Status opened = links->open_messages();
  node_bytes = bytes;
  if (bytes > topology->scratch_bytes) {
    return failure(Code::no_memory, "%zu bytes of the node's memory exceed CROSSRAIL_SCRATCH", bytes);
  }
  const Status shared = links->share(bytes, *node_memory);
  return opened.ok() ? shared : opened;
}

Status Plan::enter_node_memory(std::byte*& memory) {
  memory = node_memory->data;
  if (node_memory->user == number) return {};
  node_memory->user = number;
  return control->barrier();
}

Status Plan::reserve_scratch(std::size_t bytes) {
  if (bytes > topology->scratch_bytes) {
    return failure(Code::no_memory, "%zu bytes of scratch exceed CROSSRAIL_SCRATCH", bytes);
  }
  CROSSRAIL_TRY(slot_scratch->reserve(bytes));
  scratch_bytes = bytes;
  return {};
}

void Plan::share_with_helpers(std::uint64_t processes) {
  if (helper_team == nullptr || processes < 2) return;
  const int most = helper_team->helpers + 1;
  helper_links = std::make_shared<HelperLinks>(*links, *helper_team, static_cast<int>(std::min<std::uint64_t>(processes, static_cast<std::uint64_t>(most))));
  links = helper_links.get();
}

std::string Plan::text() const {
  std::string text = name_of(shape.collective);
  if (row_of(shape.collective).counts == Counts::block) text += " of " + std::to_string(shape.block_bytes) + "-byte blocks";
  if (row_of(shape.collective).reduces) {
    text += " of " + std::to_string(shape.block_bytes) + " bytes (" + name_of(shape.reduction.operation) + " of " + name_of(shape.reduction.element) + ")";
  }
  text += std::string(shape.in_place ? " in place" : "") + (shape.memory == Memory::device ? " on devices" : "");
  if (shape.order == Order::stream) text += ", in a stream";
  text += ", " + topology->text() + ": " + algorithm;
  if (*part != '\0') text += std::string(" (") + part + ")";
  if (packets) text += ", packets";
  if (chunk_bytes != 0) text += ", chunks of " + std::to_string(chunk_bytes);
  if (scratch_bytes != 0) text += ", scratch " + std::to_string(scratch_bytes);
  if (node_bytes != 0) text += ", node memory " + std::to_string(node_bytes);
  if (helper_links != nullptr) text += ", " + std::to_string(helper_links->processes()) + " processes a rank";
  return text + " (" + reason + ")";
}

}  // namespace crossrail
