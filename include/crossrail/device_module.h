/* The plug-in table of a device module (libcrossrail_cuda.so, libcrossrail_hip.so, ...). C99.
 *
 * A module is loaded only into processes that have already loaded the vendor's driver. A null entry means "not supported". Functions return
 * NULL on success, else a text that says what went wrong, valid until the thread's next call. They never throw, never exit, and leave the
 * thread's current device as it was. They never wait for work of the program's, nor keep it from launching: what a driver frees or unmaps only
 * on an idle device is left for when it is idle (CROSSRAIL_SYNC_IDLE), unless memory has run out or 512 MiB are left so. Any thread may call
 * them; one queue is used by one thread at a time.
 *
 * The table has 14 functions and no version. What devices learn to do arrives as a new kind of work (crossrail_work_kind), and a module that does not know a kind says
 * so when it is asked (supports). A kind and its struct never change: work that needs another field is another kind. A table that grows does so at its end; `size` tells. */
#ifndef CROSSRAIL_DEVICE_MODULE_H
#define CROSSRAIL_DEVICE_MODULE_H

#include <stddef.h>
#include <stdint.h>

#include "crossrail/device_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The program's default stream, which it writes as NULL: here NULL is the queue's own stream. */
#define CROSSRAIL_DEFAULT_STREAM ((void *)UINTPTR_MAX)

/* Kernels, streams and copy engines of one device, for one communicator. */
typedef struct crossrail_queue crossrail_queue;
typedef struct crossrail_queue_facts {
  uint64_t identity; /* of the queue's device, the same in every process */
  uint64_t place;    /* of its context, in this process: what was mapped for one queue of a place serves all of them */
  int concurrent;    /* 1: kernels of several processes run there at the same time, as with an MPS server */
} crossrail_queue_facts;

typedef struct crossrail_block {
  void *to;
  const void *from;
  size_t bytes;
} crossrail_block;

/* `count` rows of `bytes`, `pitch` apart on both sides, which is not less where there are several. */
typedef struct crossrail_rows {
  void *to;
  const void *from;
  size_t bytes, count, pitch;
} crossrail_rows;

/* A barrier of the ranks of a node in device order, through lines at the end of their receive buffers (see crossrail_packets). Nobody is told
 * when a kernel has given up waiting. */
typedef struct crossrail_barrier {
  int rank, ranks;
  void *const *buffers;
  size_t buffer_bytes;
  const uint64_t *abort; /* see crossrail_packets */
} crossrail_barrier;

typedef enum crossrail_work_kind {
  CROSSRAIL_WORK_EXCHANGE = 1, /* crossrail_exchange */
  CROSSRAIL_WORK_MOVE = 2,     /* crossrail_movements */
  CROSSRAIL_WORK_COMBINE = 3,  /* crossrail_combination */
  CROSSRAIL_WORK_PACKETS = 4,  /* crossrail_packets */
  CROSSRAIL_WORK_COUNTED = 5,  /* crossrail_counted_exchange */
  CROSSRAIL_WORK_BARRIER = 6,  /* crossrail_work alone: the barrier `before` and nothing else */
  CROSSRAIL_WORK_MESSAGES = 7  /* crossrail_messages */
} crossrail_work_kind;

/* What a queue is asked to do. It is the first member of the struct of each kind. All lists that it points to are host memory that is read
 * before `enqueue` returns, however long they are. */
typedef struct crossrail_work {
  uint32_t kind;           /* crossrail_work_kind */
  int32_t multiprocessors; /* the most that may be used; 0: the module chooses */
  void *stream;            /* the program's stream to be ordered in; NULL: the queue's own */
  uint64_t *flag;          /* is set to `value` once all is done, seen by all that share it; in memory given to open_pages; NULL: none */
  uint64_t value;
  /* With the program's stream, of an exchange and a combination: barriers of the ranks before anything is done and after everything has
   * been, in the kernel itself where that is possible; their ranks and buffers are the same. NULL: none. */
  const crossrail_barrier *before, *after;
  /* For a trace, in the queue's own stream: the number of a piece of work whose times are asked for (see times). 0: a new piece begins with
   * this work and gets a number, unless there are no times. Else this work continues the last piece. NULL: no times are wanted. */
  uint64_t *piece;
} crossrail_work;

typedef enum crossrail_engine {
  CROSSRAIL_ENGINE_KERNEL = 0,  /* one kernel launch */
  CROSSRAIL_ENGINE_COPY = 1,    /* copy engines; a block whose two ends lie on the queue's device is copied beside the others */
  CROSSRAIL_ENGINE_PERSISTENT = 2 /* a kernel that stays for a while and waits for the next exchange */
} crossrail_engine;

/* Blocks to be copied, in this order where order matters to speed; memory of the queue's device, of peers, or any that it can reach. */
typedef struct crossrail_exchange {
  crossrail_work work;
  const crossrail_block *blocks;
  int block_count;
  crossrail_engine engine;
  uint32_t persistent_us; /* PERSISTENT: the kernel leaves when nothing has come for so long */
} crossrail_exchange;

/* What becomes of elements that meet: rows of src/comm/reductions.def, counted from 1. An average is that of all operands. */
typedef struct crossrail_reduction {
  int operation, element;
} crossrail_reduction;

/* What packets look like. */
typedef enum crossrail_packet_form {
  CROSSRAIL_PACKETS_LL = 0,    /* 16 bytes that one thread writes at once, 8 of them data */
  CROSSRAIL_PACKETS_LL128 = 1, /* 128 bytes that eight threads write at once, 120 of them data; at most CROSSRAIL_MOST_COMBINING ranks */
  /* Chunks of data, and flags beside them: blocks of any length, in the program's stream; at most CROSSRAIL_MOST_COMBINING ranks. All ranks give the
   * same `multiprocessors`. */
  CROSSRAIL_PACKETS_CHUNKS = 2
} crossrail_packet_form;

#define CROSSRAIL_MOST_COMBINING 8

/* All-to-all of small blocks through receive buffers: device memory of every rank, mapped by all. A packet is data and the number of its round
 * together, so that no other signal is needed. Nobody needs to know that the others have come: the kernel waits for their packets. */
typedef struct crossrail_packets {
  crossrail_work work; /* ~value is written to the flag instead when the kernel has given up: the buffers are then of no more use */
  const void *send;    /* block i goes to rank i; any memory the device can reach */
  void *recv;          /* block i comes from rank i; does not overlap `send` */
  size_t block_bytes;
  size_t send_pitch, recv_pitch; /* bytes from one block to the next; 0: all ranks get the same one */
  int rank, ranks;
  void *const *buffers;   /* of every rank, as mapped here; own included */
  size_t buffer_bytes;    /* at least what `supports` says, all zero at first; only block_bytes may vary from round to round */
  const uint64_t *abort;  /* in memory given to open_pages: the kernel gives up once it is not 0 */
  crossrail_packet_form form;
  /* Operation 0: none. Else the blocks that come become one block, combined in the order of the ranks, at `recv`, which may be `send` where
   * all ranks get the same one. At most CROSSRAIL_MOST_COMBINING ranks. */
  crossrail_reduction reduction;
} crossrail_packets;

/* One side of an exchange whose blocks, one to or from every rank, the device finds when it gets there: block i has counts[i] elements, from
 * element displacements[i] on. Each array lies in device memory, which is read then, or in host memory, which is read before return. A block
 * of a negative length, or not from `lowest` to `highest`, is taken as empty. */
typedef struct crossrail_counted_side {
  void *base; /* element 0 */
  const int32_t *counts, *displacements;
  int64_t element_bytes;   /* below 2^31 */
  int64_t lowest, highest; /* bytes from `base`: what may be touched */
} crossrail_counted_side;

/* All-to-all of such blocks. The ranks meet as in a barrier, in whose lines each tells the others where their blocks go and how
 * long they may be; then each writes its own there, and no more than fits; then all meet once more. */
typedef struct crossrail_counted_exchange {
  crossrail_work work; /* without flag, `before` and `after` */
  crossrail_barrier barrier;
  crossrail_counted_side send, recv;
  void *const *to;           /* recv.base of every rank, as mapped here; own included */
  uint64_t *wrong;           /* in memory given to open_pages: set to a crossrail_counted_wrong << 32 | rank where it is found */
} crossrail_counted_exchange;

typedef enum crossrail_counted_wrong {
  CROSSRAIL_COUNTED_CUT = 1,     /* a block to this rank is longer than it has room for, and was cut off */
  CROSSRAIL_COUNTED_SEND = 2,    /* a block to this rank was taken as empty */
  CROSSRAIL_COUNTED_RECEIVE = 3  /* a block from this rank was */
} crossrail_counted_wrong;

/* Messages between pairs of ranks, through receive buffers that serve nothing else: device memory of every rank, mapped by all. At most
 * CROSSRAIL_MOST_COMBINING ranks. The messages from one rank to another are paired in the order in which both have asked for them, in whatever pieces of
 * work, and are equally long at both ends. All messages of a piece of work go on at the same time, and none waits for a rank that is neither of its two.
 * Pieces of work of a rank come one after the other. */
typedef struct crossrail_message {
  void *address; /* any memory the device can reach */
  size_t bytes;
  int peer;
} crossrail_message;

typedef struct crossrail_messages {
  crossrail_work work; /* without flag, `before` and `after` */
  int rank, ranks;
  void *const *buffers;  /* of every rank, as mapped here; own included */
  size_t buffer_bytes;   /* at least what `supports` says, all zero at first */
  const uint64_t *abort; /* in memory given to open_pages: the kernel gives up once it is not 0, and the buffers are then of no more use */
  const crossrail_message *sends, *recvs; /* to this rank itself there are as many as from it, equally long */
  int send_count, recv_count;
} crossrail_messages;

/* Rows of elements that become one: from[0] op from[1] op ..., in this order, which goes to every `to`. A row may be both
 * among `from` and `to`; none overlaps another. At any address. All devices come to the same bits. */
#define CROSSRAIL_MOST_OPERANDS 128
typedef struct crossrail_combination {
  crossrail_work work;
  crossrail_reduction reduction;
  const void *const *from;
  void *const *to;
  int from_count, to_count; /* at most CROSSRAIL_MOST_OPERANDS each */
  int turn;                 /* with which row of `from` to begin reading, where ranks combine at the same time: each with another one */
  size_t bytes;             /* of a row, whole elements */
} crossrail_combination;

/* Where elements of a datatype lie in device memory: runs of bytes, in the order of an element's bytes. */
typedef struct crossrail_segment {
  int64_t offset; /* from the element's address */
  uint64_t bytes;
} crossrail_segment;
/* Runs of one length, from one to the next equally far. */
typedef struct crossrail_runs {
  int64_t offset; /* of the first, from the element's address */
  uint64_t bytes;
  int64_t stride;
} crossrail_runs;
typedef struct crossrail_elements {
  void *at;                          /* the first one; of a row: its first byte */
  uint64_t element_bytes;            /* sum of its runs'; 0: a row of bytes, of which the rest is not asked for */
  int64_t extent;                    /* from one element to the next */
  uint64_t first;                    /* of all elements' bytes one after the other: where the movement begins */
  const crossrail_segment *segments; /* an element's runs; host memory, read before return; NULL: they are `runs` */
  uint64_t segment_count;
  uint64_t layout;                   /* id of the list, of no other one ever: the module may keep a copy of it on the device */
  crossrail_runs runs;
} crossrail_elements;
typedef struct crossrail_movement {
  crossrail_elements from, to;
  uint64_t bytes;
} crossrail_movement;

/* Elements to where others lie, by kernels. */
typedef struct crossrail_movements {
  crossrail_work work;
  const crossrail_movement *all;
  int count;
} crossrail_movements;

typedef enum crossrail_sync {
  CROSSRAIL_SYNC_ALIVE = 0,  /* only whether the queue's context is still there: quick */
  CROSSRAIL_SYNC_ERRORS = 1, /* whether the device has met an error that stops the queue; does not wait */
  /* What has been left for an idle device is done now, if it is idle. A thread of the program's asks for it, at the end of a call, before it
   * launches anything. Waits a fraction of a millisecond, and seldom where the device never is idle. */
  CROSSRAIL_SYNC_IDLE = 2,
  CROSSRAIL_SYNC_DRAIN = 3 /* waits until the queue's own streams are empty (not the device) */
} crossrail_sync;

/* When the device began and ended a piece of work, in nanoseconds of the host's CLOCK_MONOTONIC. */
typedef struct crossrail_times {
  int64_t began_ns, ended_ns;
} crossrail_times;

typedef struct crossrail_device_module {
  size_t size;      /* of this struct, as the module knows it */
  const char *name; /* "cuda" */

  /* ----- memory */
  /* What memory the range of `bytes` from `pointer` on is. Never fails: memory the driver does not know is host memory. With 0 bytes only
   * `kind` is filled in, which is quick. Else a range asked about before is quick, and a program's own copies into memory that is asked about
   * for the first time are given a moment to end. */
  void (*describe)(const void *pointer, size_t bytes, crossrail_memory *memory);
  /* Copies rows, and nothing between them, between memory of any kind; each side of them all is memory of one kind. Returns when the bytes
   * have arrived. */
  const char *(*copy)(const crossrail_rows *rows, size_t count);
  /* Shareable memory of our own, zeroed, beside `near`. */
  const char *(*alloc)(const crossrail_memory *near, size_t bytes, void **memory);
  /* Takes back what `alloc` or `open_memory` gave. */
  const char *(*free)(void *memory);

  /* ----- memory of other processes */
  /* `chunks` has room for CROSSRAIL_MOST_CHUNKS; the caller closes the descriptors. */
  const char *(*export_memory)(const crossrail_memory *memory, crossrail_handle *handle, crossrail_chunk *chunks);
  /* Maps what another process has exported for the device of `queue`. The caller keeps and closes the
   * descriptors. Drivers may refuse memory that overlaps, in its owner, what is still mapped. */
  const char *(*open_memory)(crossrail_queue *queue, const crossrail_handle *handle, const crossrail_chunk *chunks, void **mapped);

  /* ----- queues */
  /* `near` is memory of the device. `timed`: 1 where times of work will be asked for. */
  const char *(*open_queue)(const crossrail_memory *near, int timed, crossrail_queue **queue, crossrail_queue_facts *facts);
  void (*close_queue)(crossrail_queue *queue); /* waits for its own work only */
  /* Lets the device reach whole pages of host memory, which other processes may share, at `mapped`. Flags in them are named as the
   * processor sees them. */
  const char *(*open_pages)(crossrail_queue *queue, void *pages, size_t bytes, void **mapped);
  void (*close_pages)(crossrail_queue *queue, void *pages);

  /* ----- work */
  /* NULL if such work can be done, else why not. What matters is the kind, and of packets their form (whether they arrive whole, at the
   * queue's device and from it at all others), ranks, block_bytes and reduction, of a combination its reduction, of messages their ranks. Of
   * packets and messages `*buffer_bytes`, unless it is NULL, becomes what a receive buffer must have at least; it is not touched otherwise. */
  const char *(*supports)(crossrail_queue *queue, const crossrail_work *work, size_t *buffer_bytes);
  /* Returns before the work is done; work of one queue (or stream) is done in order. */
  const char *(*enqueue)(crossrail_queue *queue, const crossrail_work *work);
  /* NULL unless the queue is of no more use. */
  const char *(*sync)(crossrail_queue *queue, crossrail_sync how);
  /* When the device did a piece of work (crossrail_work), which does not wait for it. 1: these are its times; 0: not known yet, it may still
   * be under way; -1: they never will be. The piece begins where the device comes to it, and may wait there for the host to ask for the rest
   * of it. A host that sees a flag does so a moment before the times are known. NULL where there are never any. */
  int (*times)(crossrail_queue *queue, uint64_t piece, crossrail_times *times);
} crossrail_device_module;

/* What a module exports; it returns NULL where it cannot work with the driver that is there. */
typedef const crossrail_device_module *(*crossrail_device_module_entry)(void);
#define CROSSRAIL_DEVICE_MODULE_ENTRY "crossrail_device_module_table"

#ifdef __cplusplus
}
#endif
#endif
