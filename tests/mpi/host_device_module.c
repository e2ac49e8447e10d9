/* This is virtual_world/host_device.h as the module of a driver that a program loads. */
#include "crossrail/device_module.h"

const crossrail_device_module* host_device_module(void);

const crossrail_device_module* crossrail_device_module_table(void);
const crossrail_device_module* crossrail_device_module_table(void) { return host_device_module(); }
