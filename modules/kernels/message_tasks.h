// This is what the kernels of messages (messages.h) are told, and how the receive buffers of messages are laid out. It is known to the host and the
// device.
//
//   rings of pieces from each other rank | credits of each other rank | MessageCounters | list of messages
#pragma once

#include "tasks.h"

namespace kernels {

constexpr unsigned kMostWaitingWarps = 1024;  // So many wait for other ranks at most, as they must all be on the device at once.
constexpr unsigned kWarpsOfACta = kLineThreads / kWarpLanes;

// A message travels in pieces. A warp handles one at a time, by pairs of lines.
constexpr uint64_t kPairsOfAPiece = kPairsAtATime * (kWarpLanes / kLineUnits);
constexpr uint64_t kPieceData = kPairsOfAPiece * kUnitsOfAPair * kUnitBytes;
constexpr uint64_t kPieceBytes = kPairsOfAPiece * kPairBytes;
constexpr uint64_t kRingPieces = 8;       // A lane has room for so many.
constexpr uint64_t kPiecesOfACredit = 4;   // A receiver tells that it has read so many at a time.
constexpr uint64_t kCreditBytes = 64;      // Credits are so far apart.

// It is the owner's, whose kernels come one after the other.
struct MessageCounters {
  uint32_t arrivals;             // It counts CTAs.
  uint32_t unused;
  uint64_t padding[15];
  uint64_t sent[kFewRanks];      // They count the pieces to and from each rank since the beginning.
  uint64_t received[kFewRanks];
};
static_assert(sizeof(MessageCounters) == 256);

struct Message {
  char* at;
  uint64_t bytes;
};
constexpr unsigned kFewMessages = 64;         // A kernel's arguments hold so many.
constexpr unsigned kMessagesAtATime = 250;    // So many are brought to the device at a time, where there are more.
constexpr uint64_t kMostMessages = 1u << 15;  // A kernel can have so many.

// These are all messages to one rank, or from one, in the order in which they were asked for. Some warps pass them, each of which takes one of
// `warps` pieces.
struct MessageWay {
  enum Kind : uint32_t { send, receive, copy };
  Kind kind;           // What a rank sends to itself is copied. What it receives from itself follows in the list.
  uint32_t peer;
  uint32_t first, count;
  uint32_t first_warp;
  uint32_t warps;      // It is a power of two, and no more than there are lanes.
  uint64_t pieces;
};
constexpr unsigned kMostWays = 2 * (kFewRanks - 1) + 1;

struct MessagesTask {
  const uint64_t* abort;
  const Message* list;  // If it is null, `messages` is the list.
  uint64_t credits, counters;  // They are offsets in a buffer.
  uint32_t rank, ranks;
  uint32_t lane_bits;   // There are 2 to the power of this many lanes.
  uint32_t way_count;
  char* buffers[kFewRanks];
  MessageWay ways[kMostWays];
  Message messages[kFewMessages];
};
static_assert(sizeof(MessagesTask) <= kShortTaskBytes);

// A part of a list that is too long for a kernel's arguments goes to memory of the device.
struct ListTask {
  Message* to;
  uint64_t count;
  Message messages[kMessagesAtATime];
};
static_assert(sizeof(ListTask) <= kLongTaskBytes);

}  // namespace kernels
