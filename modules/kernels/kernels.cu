// These are all kernels of a module. There is one text for every vendor, because gpu_device.h is found by include path.

#include "exchange.h"
#include "barrier.h"
#include "chunks.h"
#include "combine.h"
#include "counted.h"
#include "lines.h"
#include "messages.h"
#include "movement.h"
#include "packets.h"
#include "persistent.h"

GPU_KERNEL exchange_few(GPU_ARGUMENT kernels::FewBlocks task) { kernels::exchange(task); }
GPU_KERNEL exchange_many(GPU_LONG(kernels::ManyBlocks) task) { kernels::exchange(gpu::long_task(task)); }
GPU_KERNEL exchange_between(GPU_ARGUMENT kernels::ExchangeBetween task) {
  kernels::Between barriers(task.meeting);
  kernels::exchange(task.exchange);
  barriers.leave();
}
GPU_KERNEL packets_few(GPU_ARGUMENT kernels::PacketsTask<kernels::kFewRanks> task) { kernels::exchange_packets(task); }
GPU_KERNEL packets_many(GPU_ARGUMENT kernels::PacketsTask<kernels::kManyRanks> task) { kernels::exchange_packets(task); }
GPU_KERNEL_OF(kernels::kCombineThreads) combine_few(GPU_ARGUMENT kernels::CombineTask<kernels::kFewRanks> task) { kernels::combine(task); }
GPU_KERNEL_OF(kernels::kCombineThreads) combine_many(GPU_LONG(kernels::CombineTask<kernels::kManyRanks>) task) { kernels::combine(gpu::long_task(task)); }
GPU_KERNEL_OF(kernels::kCombineThreads) combine_between(GPU_ARGUMENT kernels::CombineBetween task) {
  kernels::Between barriers(task.meeting);
  kernels::combine(task.combine);
  barriers.leave();
}
GPU_KERNEL_OF(kernels::kCombineThreads) combine_packets(GPU_ARGUMENT kernels::CombinePacketsTask task) { kernels::combine_packets(task); }
GPU_KERNEL_BESIDE(kernels::kLineThreads, 2) lines(GPU_ARGUMENT kernels::PacketsTask<kernels::kFewRanks> task) { kernels::exchange_lines(task); }
GPU_KERNEL_OF(kernels::kCombineThreads) combine_lines(GPU_ARGUMENT kernels::CombinePacketsTask task) { kernels::combine_lines(task); }
GPU_KERNEL_BESIDE(kernels::kChunkThreads, 2) exchange_chunks(GPU_ARGUMENT kernels::ChunksTask task) { kernels::exchange_chunks(task); }
GPU_KERNEL_BESIDE(kernels::kChunkThreads, 2) combine_chunks(GPU_ARGUMENT kernels::ChunksTask task) { kernels::combine_chunks(task); }
GPU_KERNEL_BESIDE(kernels::kLineThreads, 2) messages(GPU_ARGUMENT kernels::MessagesTask task) { kernels::pass_messages(task); }
GPU_KERNEL keep_list(GPU_LONG(kernels::ListTask) task) { kernels::keep_list(gpu::long_task(task)); }
GPU_KERNEL barrier_few(GPU_ARGUMENT kernels::BarrierTask<kernels::kFewRanks> task) { kernels::barrier(task); }
GPU_KERNEL barrier_many(GPU_ARGUMENT kernels::BarrierTask<kernels::kManyRanks> task) { kernels::barrier(task); }
GPU_KERNEL meet_many(GPU_LONG(kernels::CountedMeeting<kernels::kManyRanks>) task) { kernels::meet_counted(gpu::long_task(task)); }
GPU_KERNEL_OF(kernels::kCountedThreads) counted_many(GPU_LONG(kernels::CountedTask<kernels::kManyRanks>) task) { kernels::exchange_counted(gpu::long_task(task)); }
GPU_KERNEL_OF(kernels::kCountedThreads) counted_between(GPU_ARGUMENT kernels::CountedBetween task) { kernels::exchange_counted_between(task); }
GPU_KERNEL_BESIDE(kernels::kMoveThreads, 2) move(GPU_LONG(kernels::MoveTask) task) { kernels::move_elements(gpu::long_task(task)); }
GPU_KERNEL persistent(GPU_ARGUMENT kernels::PersistentTask task) { kernels::stay(task); }

// This runs after other work of a stream that is not ours. One thread tells the host.
GPU_KERNEL announce(GPU_ARGUMENT kernels::Signal signal) {
  gpu::fence_system();
  kernels::tell(signal, signal.value);
}
