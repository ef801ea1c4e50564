#pragma once
/// COTANGENT_HD marks what runs on the host and inside CUDA kernels.

#ifdef __CUDACC__
#define COTANGENT_HD __host__ __device__
#else
#define COTANGENT_HD
#endif
#define COTANGENT_INLINE COTANGENT_HD inline __attribute__((always_inline))
