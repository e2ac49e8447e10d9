#include "crossrail/crossrail.h"
extern "C" __attribute__((visibility("default"))) const char* crossrail_machine(void) { return "{\"error\":\"hwloc cannot be loaded\"}"; }
