#pragma once
/// COTANGENT_HD marks what runs on the host and inside CUDA kernels. COTANGENT_LANES precedes a template of those that is
/// instantiated on the host with more than device code can call: packs of several lanes, values of a graph.
/// COTANGENT_INLINE is always inlined, on both; COTANGENT_HOST_INLINE on the host: code that names a vector type, or the
/// lists of a program, cannot be device code. clang drops such a function once it is inlined only if no other file could mean the same one;
/// otherwise it inlines all that it calls into it as well. COTANGENT_EXPANDED follows the parameters of a lambda that is always inlined.
/// Where nothing is optimized nothing is inlined: it would only take compilers longer.
/// COTANGENT_HOST_ONCE precedes a function template at namespace scope that most programs call from one place. Always inlined, g++ would
/// optimize it once more in each function on the way to the one that is called; as a function of this file alone it is inlined in the end.
/// COTANGENT_UNROLL precedes a loop that device code must unroll: registers have no addresses.

#ifdef __CUDACC__
#define COTANGENT_HD __host__ __device__
#define COTANGENT_LANES _Pragma("nv_exec_check_disable")
#else
#define COTANGENT_HD
#define COTANGENT_LANES
#endif
#ifdef __CUDA_ARCH__
#define COTANGENT_UNROLL _Pragma("unroll")
#else
#define COTANGENT_UNROLL
#endif
#if !defined(__OPTIMIZE__) && !defined(__CUDACC__)
#define COTANGENT_EXPANDED
#define COTANGENT_HOST_INLINE inline
#else
#define COTANGENT_EXPANDED __attribute__((always_inline))
#ifdef __clang__
#define COTANGENT_HOST_INLINE inline __attribute__((always_inline, internal_linkage))
#else
#define COTANGENT_HOST_INLINE inline __attribute__((always_inline))
#endif
#endif
#if defined(__clang__) || defined(__CUDACC__)
#define COTANGENT_HOST_ONCE COTANGENT_HOST_INLINE
#else
#define COTANGENT_HOST_ONCE static inline
#endif
#define COTANGENT_INLINE COTANGENT_HD COTANGENT_HOST_INLINE
