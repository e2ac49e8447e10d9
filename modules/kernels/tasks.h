// The kernels are told these values, which are passed at launch. They are plain data known to the host and the device.
#pragma once

#include <stdint.h>

#include "divisor.h"

namespace kernels {

constexpr unsigned kWarpLanes = 32;      // These lanes share small pieces. A wavefront may hold two such groups.
constexpr unsigned kMostThreads = 1024;  // A CTA has no more threads.
// Some devices take no more than this as the argument of a kernel. Longer tasks are marked in kernels.cu (GPU_LONG), where a vendor of such
// devices hands over the address of a task in memory.
constexpr unsigned kShortTaskBytes = 2048;
constexpr unsigned kLongTaskBytes = 4096;
constexpr uint64_t kUnitBytes = 16;      // It is the widest load and store.

// This says how the end of a kernel is told to the host. The last value that was told stays on the device, so that a graph can be launched
// again unchanged when each value is the one before plus a fixed step.
struct Signal {
  uint64_t* flag;     // The value goes there, in host memory. If it is null, it goes nowhere.
  uint64_t* last;     // It is the last value, on the device. It is null if nobody asks for it.
  uint32_t* arrivals; // It counts CTAs and is 0 between kernels.
  uint64_t value;     // It may also be the step from the last one.
  uint32_t is_step;
  uint32_t unused;
};

// This is a block in pieces of `piece_bytes` (the last one shorter). `first` counts the pieces of blocks before it.
struct Block {
  char* to;
  const char* from;
  uint64_t bytes;
  uint64_t first;
};

// Groups of `lanes` threads take one piece after another.
struct Blocks {
  uint64_t piece_bytes;
  uint64_t pieces;  // It counts those of all blocks.
  uint32_t count;
  uint32_t even;    // It is 1 if all blocks have equally many pieces.
};

template <unsigned kMost>
struct ExchangeTask {
  Signal signal;
  Blocks list;
  uint32_t lanes;
  uint32_t unused;
  Block blocks[kMost];
};
constexpr unsigned kFewBlocks = 8;
constexpr unsigned kManyBlocks = 64;
using FewBlocks = ExchangeTask<kFewBlocks>;
using ManyBlocks = ExchangeTask<kManyBlocks>;
static_assert(sizeof(FewBlocks) <= kShortTaskBytes && sizeof(ManyBlocks) <= kLongTaskBytes);

// A receive buffer (packets.h, barrier.h) has two halves of packets, and lines at the end.
struct BufferTail {
  uint32_t round;        // It is the last round of packets that the owner has finished.
  uint32_t arrivals;     // It counts the owner's CTAs.
  uint32_t gave_up;      // The owner's kernel saw `abort`.
  uint32_t unused;
  uint64_t barrier;      // It is the owner's last barrier.
  uint64_t padding[13];
};
struct BarrierLine {
  uint64_t barrier;  // It is a peer's last barrier.
  int64_t at;        // With counted blocks, the one to the peer goes there, from the beginning of its side.
  uint64_t room;     // That block may have no more bytes.
  uint64_t padding[5];
};
static_assert(sizeof(BufferTail) == 128 && sizeof(BarrierLine) == 64);
constexpr uint64_t kPacketBytes = 16;
constexpr uint64_t kPacketData = 8;

constexpr unsigned kFewRanks = 8;
constexpr unsigned kManyRanks = 128;
template <unsigned kMost>
struct PacketsTask {
  Signal signal;
  const char* send;
  char* recv;
  uint64_t block_bytes;
  uint64_t send_pitch, recv_pitch;  // They are the distances to the next block.
  uint64_t region_bytes;  // It is the length of one sender's region in one half.
  uint64_t tail;          // It is the offset of the BufferTail, which BarrierLines follow.
  const uint64_t* abort;
  uint32_t rank, ranks;
  uint32_t lanes;         // A group has this many threads.
  uint32_t align;         // All blocks on both sides have this alignment: 8, 4, 2 or 1.
  char* buffers[kMost];
};

enum class Combination : uint32_t {
  none,
#define COMBINATION(name, ...) name,
#include "combinations.def"
#undef COMBINATION
};

constexpr unsigned kCombineThreads = 512;  // A CTA that combines has this many threads.
constexpr unsigned kEach = 4;              // One thread brings this many units at a time.
constexpr uint32_t kLineUnits = 128 / kUnitBytes;  // Devices send each other lines of this many units. A group of threads has whole ones.

// When packets are lines (lines.h), two of them carry this many units, and a group of lanes has this many pairs at a time.
constexpr unsigned kUnitsOfAPair = 15;
constexpr uint64_t kPairBytes = 2 * kLineUnits * kUnitBytes;
constexpr unsigned kPairsAtATime = 2;
constexpr unsigned kLineThreads = 512;  // A CTA has this many threads.

// These are elements in units of 16 bytes, or of one element that does not divide them.
struct Elements {
  uint64_t bytes;
  Combination combination;
  uint32_t unit_bytes;
  uint32_t align;         // All addresses have this alignment: 16, 8, 4, 2 or 1.
  uint32_t unused;
};

// It says what becomes of elements before they are combined, and of the result: with the unit `by`, each of them is combined so.
struct Scaling {
  Combination before, after;
  uint64_t by[2];
};

template <unsigned kMost>
struct CombineTask {
  Signal signal;
  Elements elements;
  Scaling scaling;
  uint32_t from_count, to_count;
  uint32_t turn;  // This row is read first.
  uint32_t rows;  // Groups of threads bring this many at a time, at least 2 where there are more.
  const char* from[kMost];
  char* to[kMost];
};

struct CombinePacketsTask {
  PacketsTask<kFewRanks> packets;
  Elements elements;
  Scaling scaling;
};
static_assert(sizeof(CombinePacketsTask) <= kShortTaskBytes && sizeof(PacketsTask<kManyRanks>) <= kShortTaskBytes);
static_assert(sizeof(CombineTask<kFewRanks>) <= kShortTaskBytes && sizeof(CombineTask<kManyRanks>) <= kLongTaskBytes);

template <unsigned kMost>
struct BarrierTask {
  uint64_t tail;
  const uint64_t* abort;
  uint32_t rank, ranks;
  char* buffers[kMost];
};

// These are barriers of few ranks around what a kernel does.
struct MeetingTask {
  BarrierTask<kFewRanks> barrier;
  uint32_t before, after;  // Each is 1 if there is such a barrier.
};
constexpr unsigned kMostMeetingCtas = 32;  // No more wait in one kernel, since those of several calls at a time must fit on a device.
struct ExchangeBetween {
  MeetingTask meeting;
  FewBlocks exchange;
};
struct CombineBetween {
  MeetingTask meeting;
  CombineTask<kFewRanks> combine;
};
static_assert(sizeof(BarrierTask<kManyRanks>) <= kShortTaskBytes && sizeof(ExchangeBetween) <= kShortTaskBytes && sizeof(CombineBetween) <= kShortTaskBytes);

constexpr unsigned kCountedThreads = 512;  // A CTA that moves the blocks has this many threads.
constexpr uint64_t kWrongCut = 1, kWrongSend = 2, kWrongReceive = 3;  // They come from crossrail_counted_wrong.

// Arrays count the elements of these blocks, with one entry for every rank.
template <unsigned kMost>
struct CountedSide {
  char* base;
  const int32_t* counts;         // They are on the device. If it is null, `own_counts` holds them.
  const int32_t* displacements;  // The same holds for them, with `own_displacements`.
  int64_t element_bytes;
  int64_t lowest, highest;       // They count bytes from `base` and bound what may be touched.
  int32_t own_counts[kMost], own_displacements[kMost];
};

// This barrier tells the senders where their blocks go.
template <unsigned kMost>
struct CountedMeeting {
  BarrierTask<kMost> barrier;
  CountedSide<kMost> recv;
  uint64_t* wrong;  // It is in host memory.
};

template <unsigned kMost>
struct CountedTask {
  BarrierTask<kMost> barrier;  // It is the barrier before the exchange.
  CountedSide<kMost> send;
  char* to[kMost];
  uint64_t* wrong;
};
// With few ranks, both meetings are in the kernel that moves the blocks.
struct CountedBetween {
  CountedMeeting<kFewRanks> meeting;
  CountedTask<kFewRanks> exchange;
};
static_assert(sizeof(CountedBetween) <= kShortTaskBytes && sizeof(CountedMeeting<kManyRanks>) <= kLongTaskBytes && sizeof(CountedTask<kManyRanks>) <= kLongTaskBytes);

// Elements of a datatype lie in runs. All positions, lengths and counts are in units of a movement.
struct EvenRuns {
  int64_t offset, stride;    // `offset` is that of the first, `stride` leads to the next.
  uint64_t units;            // Each has this many.
  Divisor by_units;
};
struct ListedRuns {
  const int64_t* offsets;
  const uint64_t* starts;    // They are among an element's units.
  uint64_t count;
};
struct Placing {
  char* at;
  uint64_t element_units;    // It is 0 for a row.
  Divisor by_element;
  int64_t extent;
  uint64_t first;            // The movement begins there, among all elements' units.
  uint64_t is_listed;
  union {
    EvenRuns even;
    ListedRuns listed;       // It holds if `is_listed`: lengths or spaces differ.
  };
};
// Tiles are numbered through all movements of a task. `first_tile` counts those of the movements before.
struct Movement {
  Placing from, to;
  uint64_t count;
  uint64_t first_tile;
  uint64_t unit;             // It is 16, 8, 4, 2 or 1 bytes.
};
constexpr unsigned kMoveThreads = 512;  // A CTA that moves elements has this many threads.
constexpr unsigned kMostMovements = 16;
struct MoveTask {
  Signal signal;
  uint64_t tiles;
  uint32_t count;
  uint32_t even;             // It is 1 if all movements have equally many tiles.
  uint32_t a_thread;         // One thread moves this many units of a tile.
  uint32_t unused;
  Movement movements[kMostMovements];
};
static_assert(sizeof(MoveTask) <= kLongTaskBytes);

// A command of the persistent kernel is made of stamped words: half data, half the command's number, which says by itself that the data has
// arrived. Three pairs of words (16 bytes each, 8 of data) tell of the command, three of each block.
struct StampedPair {
  uint64_t low, high;
};
// Numbers are never 0, which is what memory holds at first.
constexpr uint32_t number_after(uint32_t number) { return number + 1 == 0 ? 1 : number + 1; }
constexpr unsigned kPairs = 3;
constexpr unsigned kCommandSlots = 8;
constexpr unsigned kMostPending = 6;  // There are fewer commands than slots, as number 0 is left out.
constexpr uint64_t kRetire = 0xffff;  // It stands instead of a number of blocks.
struct Command {
  StampedPair pairs[kPairs * (1 + kManyBlocks)];
  uint64_t padding[2];  // It pads to whole cache lines.
};
static_assert(sizeof(Command) % 64 == 0);
// It is in host memory.
struct PersistentBoard {
  Command commands[kCommandSlots];  // The host writes them, number n in slot n % kCommandSlots.
  uint64_t done;                    // The device writes it: the number of the last finished command.
  uint64_t padding[7];
  uint64_t left;                    // The device writes it: the last launch that has left.
  uint64_t padding_too[7];
};
struct PersistentTask {
  PersistentBoard* board;
  uint32_t* taken;      // It is on the device: the number of the last finished command.
  uint64_t launch;
  uint64_t idle_ns;     // The kernel leaves when nothing has come for this long.
  uint64_t life_ns;     // It also leaves after this long in any case, for those who wait for the device.
};

}  // namespace kernels
