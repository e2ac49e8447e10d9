// This library does nothing: crossrail finds drivers by the names of their libraries.
extern "C" __attribute__((visibility("default"))) int no_driver();
int no_driver() { return 0; }
