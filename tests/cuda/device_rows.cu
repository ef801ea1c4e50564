/// tests/device_rows.cpp on CUDA devices.

#include "../device_rows.cpp"
