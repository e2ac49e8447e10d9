/* `crossrail doctor` asks CUDA's driver for this. DRIVER says how it behaves. There are three GPUs; the last is alone and takes one process at a
 * time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *what) { return getenv("DRIVER") != NULL && strcmp(getenv("DRIVER"), what) == 0; }

int cuInit(unsigned flags) {
  (void)flags;
  if (is("crashes")) abort();
  if (is("hangs")) pause();
  return is("fails") ? 100 : 0;
}
int cuGetErrorString(int code, const char **words) {
  *words = code == 100 ? "no CUDA-capable device is detected" : NULL;
  return 0;
}
int cuDeviceGetCount(int *count) { return *count = is("empty") ? 0 : 3, 0; }
int cuDeviceGet(int *device, int number) { return *device = 10 + number, 0; }
int cuDeviceGetName(char *name, int size, int device) { return snprintf(name, size, "NVIDIA H200 number %d", device - 10), 0; }
int cuDeviceGetPCIBusId(char *bus, int size, int device) { return snprintf(bus, size, "0000:%s:00.0", device == 10 ? "12" : device == 11 ? "22" : "5A"), 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = (size_t)(device - 9) << 36, 0; }
int cuDeviceCanAccessPeer(int *can, int device, int other) { return *can = device < 12 && other < 12, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { return *value = attribute == 20 && device == 12 ? 3 : 0, 0; }
