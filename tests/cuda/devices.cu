/// tests/devices.cpp on CUDA devices.

#include "../devices.cpp"
