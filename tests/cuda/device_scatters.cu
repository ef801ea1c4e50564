/// tests/device_scatters.cpp on CUDA devices.

#include "../device_scatters.cpp"
