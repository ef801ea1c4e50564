#pragma once
/// COTANGENT_HD marks what runs on the host and inside CUDA kernels. COTANGENT_LANES precedes a template of those that is
/// instantiated on the host with more than device code can call: packs of several lanes, values of a graph.

#ifdef __CUDACC__
#define COTANGENT_HD __host__ __device__
#define COTANGENT_LANES _Pragma("nv_exec_check_disable")
#else
#define COTANGENT_HD
#define COTANGENT_LANES
#endif
#define COTANGENT_INLINE COTANGENT_HD inline __attribute__((always_inline))
