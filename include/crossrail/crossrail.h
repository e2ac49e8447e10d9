/* crossrail: the public C API (C99).
 *
 * Programs need none of it: preloaded (LD_PRELOAD) or linked, crossrail carries MPI_Alltoall, MPI_Allreduce and others (crossrail_collectives)
 * under their own names. These functions tell what crossrail would do and why; the command line is built on
 * them. They live in libcrossrail.so, which knows no MPI.
 *
 * Texts are UTF-8 JSON, owned by the library and valid until this thread's next call. */
#ifndef CROSSRAIL_H
#define CROSSRAIL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CROSSRAIL_API_VERSION 3

/* "0.1.0" */
const char *crossrail_version(void);

/* [{"name": "alltoall", "mpi": ["MPI_Alltoall", "MPI_Ialltoall", "MPI_Alltoall_init"], "counts": "block",
 *   "reduces": false, "setting": "CROSSRAIL_ALLTOALL"}, ...]: the collectives, and MPI's calls of each. "counts": block,
 * one length for all blocks of a call; vector, one for every block; elements. */
const char *crossrail_collectives(void);

/* [{"collective": "alltoall", "memory": "host", "name": "node_shared", "summary": "...", "parameters": [
 *   {"name": "packet", "default": 1024, "unit": "row_bytes", "values": [512, 1024, 2048], "help": "..."}, ...]}, ...]
 * "values": worth trying, none where the default does. "unit": bytes; row_bytes, compared with a rank's blocks taken
 * together; ranks, nodes and node_ranks (ranks of the smallest node), where more than there are do as much as all;
 * processes (of a rank: itself and its helpers), where no more than there are take part. */
const char *crossrail_catalogue(void);

/* [{"variable": "CROSSRAIL_SCRATCH", "kind": "bytes", "scope": "communicator", "preset": "0", "value": "67108864",
 *   "help": "..."}, ...]
 * "value": the one that holds. "scope": communicator, rank 0's value holds for all ranks of one; process, each its own; environment, the same, and
 * never from a file; start and launch, as process and environment, but as it is when the process begins. */
const char *crossrail_settings(void);

/* What this process was given by its environment and by a configuration file, the strongest last, and what is wrong with it:
 * {"files": ["/etc/crossrail.conf"], "given": [{"variable": "CROSSRAIL_SCRATCH", "value": "lots", "from": "environment",
 *   "used": false, "wrong": "CROSSRAIL_SCRATCH=lots is ignored: ..."}, ...]}
 * "files": the one that was read, if any. "from": environment, or a file and its line.
 * "variable": empty for a file, or a line, that makes no sense as a whole. */
const char *crossrail_settings_given(void);

/* A call to explain, as all ranks see it. */
typedef struct crossrail_question {
  const char *collective; /* "alltoall" */
  uint64_t block_bytes;   /* from one rank to one other */
  int in_place;           /* 0 or 1 */
  int size;               /* ranks of the communicator */
  const int *node_of;     /* node of every rank, any labels; NULL: all on one node */
  int shared_segment;     /* 0 or 1: the ranks of a node can share memory */
  int single_copy;        /* 0 or 1: process_vm_readv is allowed between them */
  const char *memory;     /* of all blocks: "host", "device", or "stream" for device memory in a stream's order. NULL: host */
  const char *mpi;        /* the MPI library: "openmpi4.1.6", or what MPI_Get_library_version says; NULL: unknown */
  int ranks_per_device;   /* the most that share a device; below 1: 1 */
  const char *form;       /* "blocking", "nonblocking" or "persistent"; NULL: blocking */
} crossrail_question;

/* {"topology": "8 ranks on 1 node", "mpi": "openmpi4.1.6", "chosen": "node_shared", "segment_bytes_per_node": 123,
 *  "candidates": [{"algorithm": "node_shared", "origin": "default.csv:8", "parameters": {"chunk": 32768, "packet": 512}}, ...],
 *  "passed_over": [{"algorithm": "bruck", "why": "no row names it"}, ...], "enabled": true, "warning": ""}
 * The first candidate is the one chosen, should its plan not fail; all its parameters have values. Uses this process's settings
 * and tuning table. {"error": "..."} if the question makes no sense. */
const char *crossrail_explain(const crossrail_question *question);

/* The machine as hwloc sees it: {"packages": 1, "cores": 32, "threads": 64, "host": "...",
 *  "cpu": "...", "memory_bytes": ..., "domains": [{"number": 0, "cpus": "0-63", "memory_bytes": ...}],
 *  "caches": [{"level": 2, "bytes": 2097152, "count": 32}],
 *  "gpus": [{"name": "cuda0", "model": "...", "domain": 0, "bus": "0000:1b:00.0", "nearest_nics": ["mlx5_0"], "within": "PCI switch"}],
 *  "nics": [{"name": "mlx5_0", "domain": 0, "bus": "0000:1c:00.0"}]}
 * nearest_nics: the network adapters that a GPU reaches over the fewest steps, and the smallest part of the machine that holds both.
 * {"error": "..."} where hwloc cannot be loaded. */
const char *crossrail_machine(void);

/* The functions below live in the libraries that are preloaded or linked into MPI programs
 * (libcrossrail_mpi_openmpi.so, _mpich.so, _abi.so). A program finds them with dlsym(RTLD_DEFAULT, ...). */

/* Changes a setting of this process, as if its variable had been in the environment. Communicators
 * whose first collective call (of MPI_Allreduce the ninth) is still to come will use it; call it on all their ranks alike.
 * Returns 0, or 1 if there is no such setting, the value makes no sense, or its scope is start or launch: those do not change. */
int crossrail_set(const char *variable, const char *value);

/* What carried this thread's last collective call: an algorithm's name, or "native". */
const char *crossrail_last_algorithm(void);

/* What this rank has moved in this thread's last collective call, counted where it was moved. */
typedef struct crossrail_traffic {
  uint64_t sends;         /* messages to ranks on other nodes */
  uint64_t sent_bytes;    /* in them */
  uint64_t local_sends;   /* messages to ranks on the same node */
  uint64_t staged_bytes;  /* copied into memory that the node shares */
  uint64_t queue_pairs;   /* different ranks on other nodes sent to, in all calls with this plan */
  uint64_t node_bytes;    /* of the node's shared memory that the plan uses */
  uint64_t scratch_bytes; /* of this rank's memory that the plan uses */
  uint64_t plan_calls;    /* calls with this plan so far */
} crossrail_traffic;

/* Fills `traffic`; all zero if the call was native. Returns 0, or 1 if `traffic` is NULL. */
int crossrail_last_traffic(crossrail_traffic *traffic);

/* Writes this process's report into the folder that CROSSRAIL_REPORT names, as it is now, for programs that want one of each of
 * their phases. Returns 0, or 1 where no report is written. */
int crossrail_write_report(void);

/* How many of NCCL's collectives and messages this process has made by crossrail so far, and how many of those that crossrail may handle were left to NCCL.
 * It is in libcrossrail_nccl.so, which `crossrail run --nccl` brings into a program: look it up with dlsym(RTLD_DEFAULT, ...). */
void crossrail_nccl_counts(uint64_t *handled, uint64_t *left);

/* For programs that have included mpi.h before this file. */
#ifdef MPI_VERSION
/* MPI_Alltoall in the order of `stream` (a cudaStream_t or hipStream_t; NULL is the default stream, not the
 * default stream of each thread): the call enqueues the work and returns; the program waits for the stream when it needs the data. It can be captured in a graph, which
 * may be replayed as often as all ranks replay theirs, as long as the buffers and the communicator live: streams and graphs
 * must be done with a call before its buffers are freed, and before MPI_Comm_free and MPI_Finalize.
 *
 * Blocks are contiguous and lie in device memory, not in place; the ranks are on one node, and wait for each other on the
 * device: each has a device of its own, or those that share one run under an MPS server (crossrail run --mps); or the communicator has one rank.
 * Calls on one communicator must be ordered by the program if they use several streams.
 *
 * A communicator's first such call waits until all ranks have made it. Later ones do so only where other ranks must map the buffers, not where
 * data go by packets or in chunks: by the default table, these are all calls of up to eight ranks. Buffers that other ranks have mapped stay so
 * until the program frees them, 4032 allocations of each rank at most (CROSSRAIL_DEVICE_BUFFERS); a call with one more is refused.
 *
 * Returns MPI_SUCCESS, or an error code, without raising an error, after saying why on standard error. Nothing is then enqueued. A call that
 * waits for other ranks is refused on all of them alike. One that does not is refused on the ranks that cannot make it: the others wait for them
 * on their devices, until they have made a call that is right or have ended. */
int crossrail_alltoall_on_stream(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                                 MPI_Datatype recvtype, MPI_Comm comm, void *stream);

/* MPI_Alltoallv in the order of `stream`, on the same terms, but that the host need not know the counts. Each of the four arrays (counts and
 * displacements in elements, one for every rank) may lie in device memory: it is read when the stream gets there, and by a graph at
 * every launch, and has to stay as it is until the stream is done with the call. An array in host memory, pinned memory too, is read
 * before the call returns, and a graph keeps its values. In managed memory it counts as one in device memory.
 *
 * A buffer in which a rank sends or receives nothing may be NULL. Each buffer lies in one allocation, of which chunks that the
 * program has mapped itself are one each. A block for which its receiver has less room is cut off there: nothing else is written.
 * A block of a negative count, or one that is not in its buffer's allocation, is taken as empty. The rank whose block it was, or who has
 * sent what was cut off, is told late: its next call in a stream's order on the communicator that finds this is enqueued and returns an error.
 * The call itself waits until all ranks have made it. */
int crossrail_alltoallv_on_stream(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
                                  const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, void *stream);

/* MPI_Allreduce in the order of `stream`, on the same terms; `sendbuf` may be MPI_IN_PLACE. Operations and types are
 * those that MPI defines, without long double, and those of crossrail_op; types without gaps. The order of combining is that of the ranks. */
int crossrail_allreduce_on_stream(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                  void *stream);

/* MPI_Allgather in the order of `stream`, on the same terms; `sendbuf` may be MPI_IN_PLACE. */
int crossrail_allgather_on_stream(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                                  MPI_Datatype recvtype, MPI_Comm comm, void *stream);

/* MPI_Reduce_scatter_block in the order of `stream`, on the terms of crossrail_allreduce_on_stream, but not in place. A rank's block may be
 * received where it lies in what the rank sends: at sendbuf + rank x recvcount elements. */
int crossrail_reduce_scatter_block_on_stream(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                                             MPI_Comm comm, void *stream);

/* Floats of 8 and 16 bits, for which few MPI libraries have types: IEEE's binary16; the upper half of a float; and two of the Open Compute
 * Project's, of which E4M3 has no infinity. */
typedef enum crossrail_format {
  CROSSRAIL_FLOAT16 = 1,
  CROSSRAIL_BFLOAT16,
  CROSSRAIL_FLOAT8_E4M3,
  CROSSRAIL_FLOAT8_E5M2
} crossrail_format;

/* Gives an operation that does to floats of such a format what `operation` does: MPI_SUM, MPI_PROD, MPI_MIN or MPI_MAX. It may be given to any MPI
 * function that takes operations of the program's, with any datatype without gaps whose elements are one or more such floats, one after the
 * other; any other ends the program, as an operation cannot return an error. crossrail
 * carries it with the datatypes of MPI's own that are as long as one float: MPI_UINT16_T, or MPI_BYTE for 8 bits, ... All ranks give the same.
 *
 * Two floats are combined as floats of 32 bits and rounded to the nearest, of two to the even one. What is too large becomes infinite, or no
 * number in E4M3. MPI has been initialized; the operation lives until MPI_Finalize, is not to be freed, and is the same one for all
 * who ask for it. Returns MPI_SUCCESS, or an error code, without raising an error, after saying why on standard error. */
int crossrail_op(crossrail_format format, MPI_Op operation, MPI_Op *op);

/* Several processes a GPU: each drives its share of an allreduce of buffers in the GPU's memory, all at the same time
 * (docs/several_processes.md). The first rank on each GPU is its leader, to whom the buffers belong. All ranks of the communicator
 * call these functions alike, but for crossrail_shared_device_place and crossrail_shared_buffer_address, and give the same lengths,
 * counts, types and operations. They return MPI_SUCCESS, or an error code, without raising an error, after saying why on standard
 * error. Of one crossrail_shared_device no two calls may run at the same time. */
typedef struct crossrail_shared_device crossrail_shared_device;
typedef struct crossrail_shared_buffer crossrail_shared_buffer;

/* Ranks of one node that give the same `key` (0 or more; the number of the GPU will do) share a GPU. Freed before the communicator is,
 * and before MPI_Finalize. */
int crossrail_shared_device_create(MPI_Comm comm, int key, crossrail_shared_device **device);
int crossrail_shared_device_free(crossrail_shared_device **device);
/* This rank's number among those of its GPU, which is 0 for the leader, and how many these are. */
int crossrail_shared_device_place(const crossrail_shared_device *device, int *place, int *processes);

/* Opens `bytes` (on all ranks as many) of the leaders' memory. `memory`: of a leader, where they begin, in device memory that stays until
 * the buffer is closed; of others NULL, or any device memory of theirs on the same GPU: then they have the leader's memory mapped,
 * too. With CROSSRAIL_ONE_LAUNCHER=0 they must. Errors, on all ranks alike: a leader's memory is host memory, or shorter. */
int crossrail_shared_buffer_open(crossrail_shared_device *device, void *memory, size_t bytes, crossrail_shared_buffer **buffer);
int crossrail_shared_buffer_close(crossrail_shared_buffer **buffer);
/* Where the leader's memory lies for this process; NULL where it is not mapped. */
void *crossrail_shared_buffer_address(const crossrail_shared_buffer *buffer);

/* Allreduce among the GPUs, in place: `count` elements from byte `offset` of every leader's buffer on, which the leader's work on the
 * GPU has written when it calls, become the same combined ones. On return the leader's buffer has them. Operations and types are those
 * that MPI defines, and those of crossrail_op. */
int crossrail_shared_allreduce(crossrail_shared_buffer *buffer, size_t offset, size_t count, MPI_Datatype datatype, MPI_Op op);

/* Alltoall among the GPUs: block i of every leader's `send` goes to the i-th leader, in the order of their ranks, as the sender's block of
 * its `recv`. The buffers do not overlap. */
int crossrail_shared_alltoall(crossrail_shared_buffer *send, crossrail_shared_buffer *recv, size_t block_bytes);
#endif

#ifdef __cplusplus
}
#endif
#endif
