#pragma once
/// The backends besides the CPU that this file is compiled with: CUDA under nvcc, Thrust's host systems where COTANGENT_THRUST
/// is defined.

#include <cotangent/core/tree.hpp>
#ifdef __CUDACC__
#include <cotangent/backends/cuda/backend.hpp>
#endif
#ifdef COTANGENT_THRUST
#include <cotangent/backends/thrust/backend.hpp>
#endif

namespace cotangent {

using accelerators = decltype(types<>{}
#ifdef __CUDACC__
                              + types<gpu::backend>{}
#endif
#ifdef COTANGENT_THRUST
                              + types<thrust_systems::backend>{}
#endif
);

}  // namespace cotangent
