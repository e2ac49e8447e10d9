#include "replay_definition.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bench::replay {
namespace {

// Blocks are those of one side of a call, in rank order.
struct Blocks {
  const Program& program;
  const Event& event;
  const Side& side;
  const std::vector<Row>& rows;
  std::byte* base;

  // Calls `move` for each piece of a rank's block in the type's order, with its address and bytes.
  template <class Move>
  void each_piece(std::size_t rank, const Move& move) const {
    const Row& row = row_of(rank);
    const Type& type = program.types[row.type];
    const std::int64_t unit = event.kind == kAlltoallw ? 1 : type.extent;
    const std::int64_t place = event.kind == kAlltoall ? static_cast<std::int64_t>(rank) * row.count * unit : side.places[rank] * unit;
    for (std::int64_t element = 0; element < row.count; ++element) {
      std::byte* const at = base + place + element * type.extent;
      if (type.pieces.empty()) move(at, static_cast<std::size_t>(type.bytes));
      for (const auto& [offset, bytes] : pieces_in_order(type)) move(at + offset, static_cast<std::size_t>(bytes));
    }
  }

  std::size_t bytes(std::size_t rank) const {
    std::size_t all = 0;
    each_piece(rank, [&](const std::byte*, std::size_t some) { all += some; });
    return all;
  }

 private:
  const Row& row_of(std::size_t rank) const {
    for (const Row& row : rows) {
      if (rank < static_cast<std::size_t>(row.ranks)) return row;
      rank -= static_cast<std::size_t>(row.ranks);
    }
    return rows.back();
  }
};

std::vector<std::byte> packed(const Blocks& blocks, std::size_t rank) {
  std::vector<std::byte> message;
  blocks.each_piece(rank, [&](const std::byte* at, std::size_t bytes) { message.insert(message.end(), at, at + bytes); });
  return message;
}

void unpack(const Blocks& blocks, std::size_t rank, const std::vector<std::byte>& message) {
  std::size_t done = 0;
  blocks.each_piece(rank, [&](std::byte* to, std::size_t bytes) {
    std::memcpy(to, message.data() + done, bytes);
    done += bytes;
  });
}

void exchange(const Blocks& out, const Blocks& in, MPI_Comm comm) {
  const std::size_t ranks = in.side.counts.size();
  std::vector<std::vector<std::byte>> sent(ranks), received(ranks);
  std::vector<MPI_Request> requests(2 * ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    received[rank].resize(in.bytes(rank));
    PMPI_Irecv(received[rank].data(), static_cast<int>(received[rank].size()), MPI_BYTE, static_cast<int>(rank), 0, comm, &requests[rank]);
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    sent[rank] = packed(out, rank);
    PMPI_Isend(sent[rank].data(), static_cast<int>(sent[rank].size()), MPI_BYTE, static_cast<int>(rank), 0, comm, &requests[ranks + rank]);
  }
  PMPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (std::size_t rank = 0; rank < ranks; ++rank) unpack(in, rank, received[rank]);
}

std::uint64_t defined(const Program& program, const Data& data, const Result& result, MPI_Comm comm) {
  const Event& event = program.events[result.event];
  const Prepared& ready = data.prepared(result.event);
  CallBuffers buffers = data.buffers(result.event);
  data.fill(result.event, buffers, result.seed);
  const Blocks in{program, event, ready.received, event.received, buffers.received.data() + ready.received.before};
  const Blocks out{program, event, ready.sent, event.sent, buffers.sent.data() + ready.sent.before};
  exchange(event.in_place ? in : out, in, comm);
  return number_of(buffers.received);
}

}  // namespace

Judged compare_with_definition(const Program& program, const Data& data, const Player& native, const Player& carried) {
  Judged judged;
  const auto &results = native.results(), &others = carried.results();
  std::vector<std::size_t> order;
  for (std::size_t at = 0; at < std::min(results.size(), others.size()); ++at) {
    const Event& event = program.events[results[at].event];
    if (event.kind != kAllreduce && event.form != kPersistent) order.push_back(at);
  }
  // All ranks make the calls of one communicator in the same order. The order across communicators differs between ranks.
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t at) { return std::pair(program.comms[program.events[results[at].event].comm].place, results[at].seed); };
    return key(a) < key(b);
  });
  for (const std::size_t at : order) {
    const Event& event = program.events[results[at].event];
    const std::uint64_t number = defined(program, data, results[at], native.comm(event.comm));
    const auto name = static_cast<std::size_t>(event.kind) * kForms + event.form;
    ++judged.calls;
    judged.native_wrong[name] += results[at].number != number;
    judged.carried_wrong[name] += others[at].number != number;
  }
  return judged;
}

}  // namespace bench::replay
