// crossrail_machine: the machine as hwloc sees it.

#include "crossrail/crossrail.h"

#include <string>

#include "topology/hwloc_library.h"

#if CROSSRAIL_HWLOC
