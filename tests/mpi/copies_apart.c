/* The MPI library gets copies of the device memory of nonblocking calls. The two copies may lie so that a side whose data begin behind its address
 * gets the address of the other one, which MPI libraries take for a call in place. HOST_DEVICE is the path of the driver. */
#include <dlfcn.h>
#include <stdlib.h>

#include "check.h"

enum { kBytes = 384, kMost = 4096, kStep = 16 };

int main(int argc, char** argv) {
  void* const driver = dlopen(getenv("HOST_DEVICE"), RTLD_NOW | RTLD_GLOBAL);
  if (driver == NULL) return 1;
  void* (*alloc)(size_t, int) = (void* (*)(size_t, int))dlsym(driver, "host_device_alloc");
  void* (*touchable)(const void*) = (void* (*)(const void*))dlsym(driver, "host_device_touchable");
  MPI_Init(&argc, &argv);
  MPI_Comm comm;
  MPI_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  char* const send = alloc(kMost + kBytes, 0);
  char* const recv = alloc(kMost + kBytes, 0);
  for (int received = 0; received < 2; ++received) {
    for (int before = 0; before <= kMost; before += kStep) {
      const int length = kBytes, first = before;
      MPI_Datatype behind;
      MPI_OK(MPI_Type_indexed(1, &length, &first, MPI_BYTE, &behind));
      MPI_OK(MPI_Type_commit(&behind));
      char* const from = touchable(send + (received ? 0 : before));
      char* const to = touchable(recv + (received ? before : 0));
      for (int i = 0; i < kBytes; ++i) from[i] = (char)(i + before / kStep);
      memset(to, 0xA5, kBytes);
      MPI_Request request;
      MPI_OK(MPI_Iallgather(send, received ? kBytes : 1, received ? MPI_BYTE : behind, recv, received ? 1 : kBytes, received ? behind : MPI_BYTE, comm, &request));
      MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(memcmp(from, to, kBytes) == 0, "%d bytes before the data of the %s side", before, received ? "receive" : "send");
      MPI_OK(MPI_Type_free(&behind));
    }
  }
  MPI_OK(MPI_Comm_free(&comm));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
