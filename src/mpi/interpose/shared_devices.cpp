// This file defines crossrail_shared_..., for several processes a GPU (shared_device/).

#include <string>

#include "base/log.h"
#include "crossrail/crossrail.h"
#include "mpi/buffers/datatypes.h"
#include "mpi/buffers/reductions.h"
#include "mpi/communicator/opening.h"
#include "mpi/communicator/mpi_exchange.h"
#include "mpi/communicator/persistent_slot.h"
#include "mpi/library/error_codes.h"
#include "mpi/library/pmpi.h"
#include "mpi/observe/traffic.h"
#include "mpi/observe/traced_calls.h"
#include "shared_device/allreduce.h"
#include "shared_device/alltoall.h"

#define CROSSRAIL_VISIBLE extern "C" __attribute__((visibility("default")))

namespace shared = crossrail::shared_device;

// `slot` comes before `device`, which works on it and must be destroyed first.
struct crossrail_shared_device {
  crossrail_shared_device(crossrail::mpi::CommunicatorRecord& its_record, std::unique_ptr<crossrail::mpi::PersistentSlot> its_slot,
                          const std::vector<int>& keys)
      : record(its_record), slot(std::move(its_slot)), device(*slot->slot, keys) {}
  crossrail::mpi::CommunicatorRecord& record;
  std::unique_ptr<crossrail::mpi::PersistentSlot> slot;
  shared::SharedDevice device;
  int buffers = 0;  // This many buffers are open.
};

struct crossrail_shared_buffer {
  crossrail_shared_device& owner;
  shared::Buffer buffer;
};

namespace crossrail::mpi {
namespace {

int refuse(const char* function, const Status& status) {
  log_line(LogLevel::error, "%s: %s", function, status.what);
  return error_code(status.code, status.what);
}

int answer(const char* function, const Status& status) { return status.ok() ? MPI_SUCCESS : refuse(function, status); }

int refuse_null(const char* function) { return refuse(function, failed(Code::invalid, "an argument is null")); }

Status make(MPI_Comm comm, int key, crossrail_shared_device*& made) {
  if (comm == handles().comm_null) return failed(Code::invalid, "MPI_COMM_NULL");
  CommunicatorRecord* const record = record_of(comm);
  if (record == nullptr || record->communicator == nullptr) return failed(Code::unsupported, "crossrail does not carry this communicator");
  MpiExchange exchange(comm, record->communicator->topology.size, sizeof key);
  std::vector<int> keys;
  if (!exchange.gather(key, keys)) return failed(Code::system, "MPI_Allgather has failed");
  exchange.abandon();  // A rank that has not heard the keys says so when the slot is opened.
  for (const int one : keys) {
    if (one < 0) return failed(Code::invalid, "a key is negative");
  }
  std::unique_ptr<PersistentSlot> slot(open_persistent_slot(*record, Code::ok).release());  // It is released so that no other call reuses it.
  if (slot == nullptr) return failed(Code::no_memory, "the node has no memory left for it, or too many are there");
  auto device = std::make_unique<crossrail_shared_device>(*record, std::move(slot), keys);
  CROSSRAIL_TRY(device->device.open());
  use(*record);
  made = device.release();
  return {};
}

// Only predefined types are taken, since no others are rows of elements that are combined one by one.
Status find_reduction(MPI_Datatype type, MPI_Op op, Reduction& reduction) {
  if (type == handles().type_null) return failed(Code::invalid, "MPI_DATATYPE_NULL");
  TypeFacts facts;
  (void)describe(type, handles().comm_self, facts);
  const Reduction combining = combining_of(op);
  if (combining.operation == Operation::none) return failed(Code::invalid, "not an operation of MPI's own, or of crossrail_op");
  if (facts.usable && facts.predefined) reduction = reduction_of(combining, type, facts.bytes);
  const bool defined = reduction.operation != Operation::none;
  return defined ? Status{} : failed(Code::invalid, "not a type of MPI's own, or one for which the operation is not defined");
}

void note(shared::SharedDevice& device) {
  note_traffic(device.moved());
  note_algorithm(device.plan().part);
}

Status reduce(crossrail_shared_buffer& buffer, shared::Elements elements, MPI_Datatype type, MPI_Op op) {
  CROSSRAIL_TRY(find_reduction(type, op, elements.reduction));
  CROSSRAIL_TRY(shared::allreduce(buffer.owner.device, buffer.buffer, elements));
  note(buffer.owner.device);
  return {};
}

Status exchange(crossrail_shared_buffer& send, crossrail_shared_buffer& recv, std::size_t block_bytes) {
  if (&send.owner != &recv.owner) return failed(Code::invalid, "buffers of two crossrail_shared_devices");
  CROSSRAIL_TRY(shared::alltoall(send.owner.device, {send.buffer, recv.buffer, block_bytes}));
  note(send.owner.device);
  return {};
}

}  // namespace
}  // namespace crossrail::mpi

using crossrail::mpi::answer;
using crossrail::mpi::refuse;
using crossrail::mpi::refuse_null;

CROSSRAIL_VISIBLE int crossrail_shared_device_create(MPI_Comm comm, int key, crossrail_shared_device** device) {
  // Without MPI there are no error codes of our own.
  if (const crossrail::Status up = crossrail::mpi::mpi_is_up(); !up.ok()) {
    crossrail::log_line(crossrail::LogLevel::error, "%s: %s", __func__, up.what);
    return MPI_ERR_OTHER;
  }
  if (device == nullptr) return refuse_null(__func__);
  *device = nullptr;
  return answer(__func__, crossrail::mpi::make(comm, key, *device));
}

CROSSRAIL_VISIBLE int crossrail_shared_device_place(const crossrail_shared_device* device, int* place, int* processes) {
  if (device == nullptr) return refuse_null(__func__);
  if (place != nullptr) *place = device->device.members().place();
  if (processes != nullptr) *processes = device->device.members().processes();
  return MPI_SUCCESS;
}

CROSSRAIL_VISIBLE int crossrail_shared_device_free(crossrail_shared_device** device) {
  if (device == nullptr || *device == nullptr) return refuse_null(__func__);
  if ((*device)->buffers > 0) return refuse(__func__, crossrail::failed(crossrail::Code::invalid, "some of its buffers are still open"));
  crossrail::mpi::CommunicatorRecord& record = (*device)->record;
  delete *device;
  *device = nullptr;
  crossrail::mpi::unuse(record);
  return MPI_SUCCESS;
}

CROSSRAIL_VISIBLE int crossrail_shared_buffer_open(crossrail_shared_device* device, void* memory, size_t bytes,
                                                   crossrail_shared_buffer** buffer) {
  if (device == nullptr || buffer == nullptr) return refuse_null(__func__);
  *buffer = nullptr;
  auto made = std::make_unique<crossrail_shared_buffer>(crossrail_shared_buffer{*device, {}});
  const crossrail::Status opened = device->device.open_buffer({memory, bytes}, made->buffer);
  if (!opened.ok()) return refuse(__func__, opened);
  ++device->buffers;
  *buffer = made.release();
  return MPI_SUCCESS;
}

CROSSRAIL_VISIBLE void* crossrail_shared_buffer_address(const crossrail_shared_buffer* buffer) {
  return buffer == nullptr ? nullptr : buffer->buffer.memory;
}

CROSSRAIL_VISIBLE int crossrail_shared_buffer_close(crossrail_shared_buffer** buffer) {
  if (buffer == nullptr || *buffer == nullptr) return refuse_null(__func__);
  crossrail_shared_device& owner = (*buffer)->owner;
  const crossrail::Status closed = owner.device.close_buffer((*buffer)->buffer);
  --owner.buffers;
  delete *buffer;
  *buffer = nullptr;
  return answer(__func__, closed);
}

CROSSRAIL_VISIBLE int crossrail_shared_allreduce(crossrail_shared_buffer* buffer, size_t offset, size_t count, MPI_Datatype datatype,
                                                 MPI_Op op) {
  const crossrail::trace::Slice traced(crossrail::mpi::trace_function(__func__));
  if (buffer == nullptr) return refuse_null(__func__);
  return answer(__func__, crossrail::mpi::reduce(*buffer, {offset, count, {}}, datatype, op));
}

CROSSRAIL_VISIBLE int crossrail_shared_alltoall(crossrail_shared_buffer* send, crossrail_shared_buffer* recv, size_t block_bytes) {
  const crossrail::trace::Slice traced(crossrail::mpi::trace_function(__func__));
  if (send == nullptr || recv == nullptr) return refuse_null(__func__);
  return answer(__func__, crossrail::mpi::exchange(*send, *recv, block_bytes));
}
