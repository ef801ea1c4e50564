/// tests/device_calls.cpp on CUDA devices.

#include "../device_calls.cpp"
