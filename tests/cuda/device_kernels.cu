/// tests/device_kernels.cpp on CUDA devices.

#include "../device_kernels.cpp"
