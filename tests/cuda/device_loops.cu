/// tests/device_loops.cpp on CUDA devices.

#include "../device_loops.cpp"
