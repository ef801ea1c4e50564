#pragma once
/// What kernels need of a GPU, as jit(f).kernels(...) tells it. Needs the CUDA runtime, but not nvcc.

#include <string>

#include <cuda_runtime_api.h>

namespace cotangent::gpu {

/// Of a kernel that runs in blocks of so many threads: registers and local memory of a thread, which holds what was spilled and arrays that
/// are indexed; shared memory of a block; and what part of a multiprocessor's threads run at once. "" if the driver does not tell.
inline std::string occupancy_text(const void* kernel, int threads) {
  cudaFuncAttributes kernel_needs{};
  int device = 0, of_device = 0, blocks = 0;
  const bool known = cudaFuncGetAttributes(&kernel_needs, kernel) == cudaSuccess && cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&of_device, cudaDevAttrMaxThreadsPerMultiProcessor, device) == cudaSuccess &&
                     cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0) == cudaSuccess;
  if (!known || of_device == 0) return cudaGetLastError(), "";
  return std::to_string(threads) + " threads in a block, " + std::to_string(kernel_needs.numRegs) + " registers and " + std::to_string(kernel_needs.localSizeBytes) +
         " local bytes in a thread, " + std::to_string(kernel_needs.sharedSizeBytes) + " shared bytes; " + std::to_string(blocks) + " blocks at once, " +
         std::to_string(100 * blocks * threads / of_device) + " % of a multiprocessor";
}

/// How many blocks of so many threads the current GPU runs at once; 0 if the driver does not tell.
inline int blocks_at_once(const void* kernel, int threads) {
  int device = 0, multiprocessors = 0, blocks = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
                     cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0) == cudaSuccess;
  if (!known) return cudaGetLastError(), 0;
  return multiprocessors * blocks;
}

}  // namespace cotangent::gpu
