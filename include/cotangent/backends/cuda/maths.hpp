#pragma once
/// Functions of one float in device code that the GPU, or CUDA's mathematical library, computes in fewer instructions, most of them because
/// there is an instruction for a part of it. Found in place of the templates of backends/cpu/maths.hpp. Errors are the maxima that the CUDA C++
/// Programming Guide gives ("Mathematical Functions", standard functions in single precision).

#include <cotangent/backends/cpu/pack.hpp>

#ifdef __CUDA_ARCH__
namespace cotangent {
inline namespace COTANGENT_ISA {

#if __CUDA_ARCH__ >= 800
/// The greater and the lesser number; NaN if one is NaN.
COTANGENT_INLINE pack<float, 1> maximum(pack<float, 1> x, pack<float, 1> y) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x[0]), "f"(y[0]));
  return r;
}
COTANGENT_INLINE pack<float, 1> minimum(pack<float, 1> x, pack<float, 1> y) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x[0]), "f"(y[0]));
  return r;
}
#endif
/// 1 ULP.
COTANGENT_INLINE pack<float, 1> exp(pack<float, 1> x) { return ::expf(x[0]); }
/// 1 ULP.
COTANGENT_INLINE pack<float, 1> log1p(pack<float, 1> x) { return ::log1pf(x[0]); }
/// 1 ULP.
COTANGENT_INLINE pack<float, 1> cbrt(pack<float, 1> x) { return ::cbrtf(x[0]); }
/// 2 ULP.
COTANGENT_INLINE pack<float, 1> exp2(pack<float, 1> x) { return ::exp2f(x[0]); }
/// 2 ULP.
COTANGENT_INLINE pack<float, 1> exp10(pack<float, 1> x) { return ::exp10f(x[0]); }
/// 2 ULP.
COTANGENT_INLINE pack<float, 1> tanh(pack<float, 1> x) { return ::tanhf(x[0]); }
/// 3 ULP.
COTANGENT_INLINE pack<float, 1> sinh(pack<float, 1> x) { return ::sinhf(x[0]); }
/// 2 ULP.
COTANGENT_INLINE pack<float, 1> cosh(pack<float, 1> x) { return ::coshf(x[0]); }
/// 3 ULP, from the errors of exp and of two roundings.
COTANGENT_INLINE pack<float, 1> logistic(pack<float, 1> x) { return 1.0f / (1.0f + ::expf(-x[0])); }
/// 2 ULP.
COTANGENT_INLINE pack<float, 1> erf(pack<float, 1> x) { return ::erff(x[0]); }
/// 4 ULP.
COTANGENT_INLINE pack<float, 1> erfc(pack<float, 1> x) { return ::erfcf(x[0]); }
/// 2 ULP.
COTANGENT_INLINE pack<float, 1> erf_inv(pack<float, 1> x) { return ::erfinvf(x[0]); }
/// 2 ULP.
COTANGENT_INLINE pack<float, 1> asin(pack<float, 1> x) { return ::asinf(x[0]); }
/// 2 ULP.
COTANGENT_INLINE pack<float, 1> acos(pack<float, 1> x) { return ::acosf(x[0]); }
/// 2 ULP.
COTANGENT_INLINE pack<float, 1> atan(pack<float, 1> x) { return ::atanf(x[0]); }
/// 3 ULP.
COTANGENT_INLINE pack<float, 1> asinh(pack<float, 1> x) { return ::asinhf(x[0]); }
/// 4 ULP.
COTANGENT_INLINE pack<float, 1> acosh(pack<float, 1> x) { return ::acoshf(x[0]); }
/// 3 ULP.
COTANGENT_INLINE pack<float, 1> atanh(pack<float, 1> x) { return ::atanhf(x[0]); }

}  // namespace COTANGENT_ISA
}  // namespace cotangent
#endif
