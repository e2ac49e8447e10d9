// What the kernels are told: values passed at launch, plain data known to the host and the device.
#pragma once

#include <stdint.h>

#include "divisor.h"

namespace kernels {

constexpr unsigned kWarpLanes = 32;      // lanes that share small pieces; a wavefront may hold two such groups
constexpr unsigned kMostThreads = 1024;  // of a CTA
// Some devices take no more than this as the argument of a kernel. Longer tasks are marked in kernels.cu (GPU_LONG), where a vendor of such
// devices hands over the address of a task in memory.
constexpr unsigned kShortTaskBytes = 2048;
constexpr unsigned kLongTaskBytes = 4096;
constexpr uint64_t kUnitBytes = 16;      // the widest load and store

// How the end of a kernel is told to the host. The last value that was told stays on the device, so
// that a graph can be launched again unchanged when each value is the one before plus a fixed step.
struct Signal {
  uint64_t* flag;     // where the value goes, in host memory; null: nowhere
  uint64_t* last;     // the last value, on the device; null: nobody asks for it
  uint32_t* arrivals; // of CTAs; 0 between kernels
  uint64_t value;     // or the step from the last one
  uint32_t is_step;
  uint32_t unused;
};

// A block in pieces of `piece_bytes` (the last one shorter); `first` counts the pieces of blocks before it.
struct Block {
  char* to;
  const char* from;
  uint64_t bytes;
  uint64_t first;
};

// Groups of `lanes` threads take one piece after another.
struct Blocks {
  uint64_t piece_bytes;
  uint64_t pieces;  // of all blocks
  uint32_t count;
  uint32_t even;    // 1: all blocks have equally many pieces
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

// Receive buffers (packets.h, barrier.h): two halves of packets, and lines at the end.
struct BufferTail {
  uint32_t round;        // of packets: the last one finished by the owner
  uint32_t arrivals;     // of the owner's CTAs
  uint32_t gave_up;      // the owner's kernel saw `abort`
  uint32_t unused;
  uint64_t barrier;      // the owner's last
  uint64_t padding[13];
};
struct BarrierLine {
  uint64_t barrier;  // a peer's last
  int64_t at;        // of counted blocks: where the one to the peer goes, from the beginning of its side
  uint64_t room;     // and the most bytes that it may have
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
  uint64_t send_pitch, recv_pitch;  // to the next block
  uint64_t region_bytes;  // one sender's in one half
  uint64_t tail;          // offset of the BufferTail; BarrierLines follow
  const uint64_t* abort;
  uint32_t rank, ranks;
  uint32_t lanes;         // threads of a group
  uint32_t align;         // of all blocks on both sides: 8, 4, 2 or 1
  char* buffers[kMost];
};

enum class Combination : uint32_t {
  none,
#define COMBINATION(name, ...) name,
#include "combinations.def"
#undef COMBINATION
};

constexpr unsigned kCombineThreads = 512;  // of a CTA that combines
constexpr unsigned kEach = 4;              // units that one thread brings at a time
constexpr uint32_t kLineUnits = 128 / kUnitBytes;  // of what devices send each other; a group of threads has whole ones

// Of packets that are lines (lines.h): two of them carry so many units, and a group of lanes has so many pairs at a time.
constexpr unsigned kUnitsOfAPair = 15;
constexpr uint64_t kPairBytes = 2 * kLineUnits * kUnitBytes;
constexpr unsigned kPairsAtATime = 2;
constexpr unsigned kLineThreads = 512;  // of a CTA

// Elements in units of 16 bytes, or of one element that does not divide them.
struct Elements {
  uint64_t bytes;
  Combination combination;
  uint32_t unit_bytes;
  uint32_t align;         // of all addresses: 16, 8, 4, 2 or 1
  uint32_t unused;
};

template <unsigned kMost>
struct CombineTask {
  Signal signal;
  Elements elements;
  uint32_t from_count, to_count;
  uint32_t turn;  // which row is read first
  uint32_t rows;  // brought at a time, at least 2 where there are more: groups of threads
  const char* from[kMost];
  char* to[kMost];
};

struct CombinePacketsTask {
  PacketsTask<kFewRanks> packets;
  Elements elements;
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

// Barriers of few ranks around what a kernel does.
struct MeetingTask {
  BarrierTask<kFewRanks> barrier;
  uint32_t before, after;  // 1: there is one
};
constexpr unsigned kMostMeetingCtas = 32;  // that wait in one kernel: those of several calls at a time must fit on a device
struct ExchangeBetween {
  MeetingTask meeting;
  FewBlocks exchange;
};
struct CombineBetween {
  MeetingTask meeting;
  CombineTask<kFewRanks> combine;
};
static_assert(sizeof(BarrierTask<kManyRanks>) <= kShortTaskBytes && sizeof(ExchangeBetween) <= kShortTaskBytes && sizeof(CombineBetween) <= kShortTaskBytes);

constexpr unsigned kCountedThreads = 512;  // of a CTA that moves them
constexpr uint64_t kWrongCut = 1, kWrongSend = 2, kWrongReceive = 3;  // crossrail_counted_wrong

// Blocks whose elements are counted by arrays, one entry for every rank.
template <unsigned kMost>
struct CountedSide {
  char* base;
  const int32_t* counts;         // on the device; null: `own_counts`
  const int32_t* displacements;  // the same
  int64_t element_bytes;
  int64_t lowest, highest;       // bytes from `base`: what may be touched
  int32_t own_counts[kMost], own_displacements[kMost];
};

// The barrier that tells the senders where their blocks go.
template <unsigned kMost>
struct CountedMeeting {
  BarrierTask<kMost> barrier;
  CountedSide<kMost> recv;
  uint64_t* wrong;  // in host memory
};

template <unsigned kMost>
struct CountedTask {
  BarrierTask<kMost> barrier;  // the one before
  CountedSide<kMost> send;
  char* to[kMost];
  uint64_t* wrong;
};
// Few ranks: both meetings in the kernel that moves the blocks.
struct CountedBetween {
  CountedMeeting<kFewRanks> meeting;
  CountedTask<kFewRanks> exchange;
};
static_assert(sizeof(CountedBetween) <= kShortTaskBytes && sizeof(CountedMeeting<kManyRanks>) <= kLongTaskBytes && sizeof(CountedTask<kManyRanks>) <= kLongTaskBytes);

// Where elements of a datatype lie: runs. All positions, lengths and counts in units of a movement.
struct EvenRuns {
  int64_t offset, stride;    // of the first, to the next
  uint64_t units;            // of each
  Divisor by_units;
};
struct ListedRuns {
  const int64_t* offsets;
  const uint64_t* starts;    // among an element's units
  uint64_t count;
};
struct Placing {
  char* at;
  uint64_t element_units;    // 0: a row
  Divisor by_element;
  int64_t extent;
  uint64_t first;            // of all elements' units: where the movement begins
  uint64_t is_listed;
  union {
    EvenRuns even;
    ListedRuns listed;       // `is_listed`: lengths or spaces differ
  };
};
// Tiles are numbered through all movements of a task; `first_tile` counts those of the ones before.
struct Movement {
  Placing from, to;
  uint64_t count;
  uint64_t first_tile;
  uint64_t unit;             // bytes: 16, 8, 4, 2 or 1
};
constexpr unsigned kMoveThreads = 512;  // of a CTA that moves elements
constexpr unsigned kMostMovements = 16;
struct MoveTask {
  Signal signal;
  uint64_t tiles;
  uint32_t count;
  uint32_t even;             // 1: all movements have equally many tiles
  uint32_t a_thread;         // units of a tile that one thread moves
  uint32_t unused;
  Movement movements[kMostMovements];
};
static_assert(sizeof(MoveTask) <= kLongTaskBytes);

// A command of the persistent kernel is made of stamped words: half data, half the command's number,
// which says by itself that the data has arrived. Three pairs of words (16 bytes each, 8 of data) tell
// of the command, three of each block.
struct StampedPair {
  uint64_t low, high;
};
// Numbers never are 0, which is what memory holds at first.
constexpr uint32_t number_after(uint32_t number) { return number + 1 == 0 ? 1 : number + 1; }
constexpr unsigned kPairs = 3;
constexpr unsigned kCommandSlots = 8;
constexpr unsigned kMostPending = 6;  // commands; fewer than slots, as number 0 is left out
constexpr uint64_t kRetire = 0xffff;  // instead of a number of blocks
struct Command {
  StampedPair pairs[kPairs * (1 + kManyBlocks)];
  uint64_t padding[2];  // to whole cache lines
};
static_assert(sizeof(Command) % 64 == 0);
// In host memory.
struct PersistentBoard {
  Command commands[kCommandSlots];  // written by the host; number n in slot n % kCommandSlots
  uint64_t done;                    // written by the device: number of the last finished command
  uint64_t padding[7];
  uint64_t left;                    // written by the device: the last launch that has left
  uint64_t padding_too[7];
};
struct PersistentTask {
  PersistentBoard* board;
  uint32_t* taken;      // on the device: number of the last finished command
  uint64_t launch;
  uint64_t idle_ns;     // leaves when nothing has come for so long
  uint64_t life_ns;     // and after so long in any case, for those who wait for the device
};

}  // namespace kernels
