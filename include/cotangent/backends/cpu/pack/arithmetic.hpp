#pragma once
/// Arithmetic on packs that the operators do not cover: fma, rounding, signs, extremes, and sums over lanes.

#include <cotangent/backends/cpu/pack.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

template <class T> inline constexpr T infinity_of = std::numeric_limits<T>::infinity();
template <class T> inline constexpr T nan_of = std::numeric_limits<T>::quiet_NaN();

/// a * b + c, rounded once. Integers: a * b + c.
template <class T, int N> COTANGENT_HOST_INLINE pack<T, N> fma(pack<T, N> a, pack<T, N> b, pack<T, N> c) {
  if constexpr (std::is_integral_v<T>) return a * b + c;
  else {
    pack<T, N> r;
    int k = 0;
    do r.set_part(k, as_written(vector_fma(a.part(k), b.part(k), c.part(k)))); while (++k < pack<T, N>::parts);
    return r;
  }
}
template <class T> COTANGENT_INLINE pack<T, 1> fma(pack<T, 1> a, pack<T, 1> b, pack<T, 1> c) {
  if constexpr (std::is_integral_v<T>) return a * b + c;
#if defined(COTANGENT_ASKS_FOR_FMA)
  else if (processor_has_fma) return as_written(fma_instruction(a[0], b[0], c[0]));
#endif
#ifndef __CUDA_ARCH__
  else if constexpr (std::is_same_v<T, float> && !has_fma) return as_written(float(double(a[0]) * double(b[0]) + double(c[0])));
#endif
  else return as_written(std::fma(a[0], b[0], c[0]));
}

/// The same for sums of products that need not be rounded once: where a machine has no such instruction, it multiplies and adds.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> fast_fma(pack<T, N> a, pack<T, N> b, pack<T, N> c) {
#ifndef __CUDA_ARCH__
  if constexpr (!has_fma) return a * b + c;
  else
#endif
    return fma(a, b, c);
}

/// c - a * b, rounded once.
template <class T, int N> COTANGENT_HOST_INLINE pack<T, N> fnma(pack<T, N> a, pack<T, N> b, pack<T, N> c) {
  if constexpr (std::is_integral_v<T>) return c - a * b;
  else {
    pack<T, N> r;
    int k = 0;
    do r.set_part(k, as_written(vector_fnma(a.part(k), b.part(k), c.part(k)))); while (++k < pack<T, N>::parts);
    return r;
  }
}
template <class T> COTANGENT_INLINE pack<T, 1> fnma(pack<T, 1> a, pack<T, 1> b, pack<T, 1> c) { return fma(-a, b, c); }

/// Whether a > b in some lane.
template <class T, int N> COTANGENT_HOST_INLINE bool any_greater(pack<T, N> a, pack<T, N> b) {
  bool r = false;
  int k = 0;
  do r |= vector_any_greater(a.part(k), b.part(k)); while (++k < pack<T, N>::parts);
  return r;
}
template <class T> COTANGENT_INLINE bool any_greater(pack<T, 1> a, pack<T, 1> b) { return a[0] > b[0]; }
/// Whether integers differ in some lane.
template <class T, int N> COTANGENT_HOST_INLINE bool any_different(pack<T, N> a, pack<T, N> b) {
  bool r = false;
  int k = 0;
  do r |= vector_any_different(a.part(k), b.part(k)); while (++k < pack<T, N>::parts);
  return r;
}

/// Correctly rounded; sqrt(-0) = -0, NaN below.
template <class T, int N> COTANGENT_HOST_INLINE pack<T, N> sqrt(pack<T, N> x) {
  pack<T, N> r;
  int k = 0;
  do r.set_part(k, vector_sqrt(x.part(k))); while (++k < pack<T, N>::parts);
  return r;
}
template <class T> COTANGENT_INLINE pack<T, 1> sqrt(pack<T, 1> x) {
#if defined(__SSE2__) && !defined(__CUDACC__)
  // std::sqrt sets errno; this is the one instruction.
  if constexpr (std::is_same_v<T, float>) return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x[0])));
  else return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(x[0])));
#else
  return std::sqrt(x[0]);
#endif
}

template <rounding R, class T, int N> COTANGENT_HOST_INLINE pack<T, N> round_to(pack<T, N> x) {
  pack<T, N> r;
  int k = 0;
  do r.set_part(k, vector_round<R>(x.part(k))); while (++k < pack<T, N>::parts);
  return r;
}
template <rounding R, class T> COTANGENT_INLINE pack<T, 1> round_to(pack<T, 1> x) { return scalar_round<R>(x[0]); }

COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> floor(pack<T, N> x) { return round_to<rounding::down>(x); }
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> ceil(pack<T, N> x) { return round_to<rounding::up>(x); }
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> trunc(pack<T, N> x) { return round_to<rounding::zero>(x); }
/// To the nearest integer, ties to even (jnp.round).
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> round_even(pack<T, N> x) { return round_to<rounding::even>(x); }

// Bits of floating-point numbers.

template <class T> inline constexpr integer_like<T> sign_bit = std::numeric_limits<integer_like<T>>::lowest();

/// |x|; the lowest integer is its own. NaN keeps its payload.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> abs(pack<T, N> x) {
  if constexpr (std::is_unsigned_v<T>) return x;
  else if constexpr (std::is_integral_v<T>) return select(x < pack<T, N>(T(0)), -x, x);
  else return bit_cast<T>(bit_cast<integer_like<T>>(x) & pack<integer_like<T>, N>(integer_like<T>(~sign_bit<T>)));
}

/// The sign bit of x, and zeros.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<integer_like<T>, N> sign_of(pack<T, N> x) {
  return bit_cast<integer_like<T>>(x) & pack<integer_like<T>, N>(sign_bit<T>);
}

/// x with its sign flipped where `sign`, a sign bit, is set.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> flip_sign(pack<T, N> x, pack<integer_like<T>, N> sign) {
  return bit_cast<T>(bit_cast<integer_like<T>>(x) ^ sign);
}

/// The magnitude of x with the sign of y; signs of zeros and NaNs count.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> copysign(pack<T, N> x, pack<T, N> y) {
  const pack<T, N> magnitude = abs(x);
  // A selection and no "or" of bits: where the result is selected once more, clang 19 makes one vpternlog of it all and
  // computes that wrongly.
  return select(bit_cast<integer_like<T>>(y) < pack<integer_like<T>, N>(integer_like<T>(0)), -magnitude, magnitude);
}

COTANGENT_LANES template <class T, int N> COTANGENT_INLINE mask<int(sizeof(T)), N> is_nan(pack<T, N> x) { return x != x; }
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE mask<int(sizeof(T)), N> is_finite(pack<T, N> x) {
  return abs(x) < pack<T, N>(infinity_of<T>);
}

// Extremes.

/// a < b ? a : b, and a > b ? a : b: b if one is NaN.
template <class T, int N> COTANGENT_HOST_INLINE pack<T, N> lesser(pack<T, N> a, pack<T, N> b) {
  pack<T, N> r;
  int k = 0;
  do r.set_part(k, vector_lesser(a.part(k), b.part(k))); while (++k < pack<T, N>::parts);
  return r;
}
template <class T> COTANGENT_INLINE pack<T, 1> lesser(pack<T, 1> a, pack<T, 1> b) { return a[0] < b[0] ? a : b; }
template <class T, int N> COTANGENT_HOST_INLINE pack<T, N> greater(pack<T, N> a, pack<T, N> b) {
  pack<T, N> r;
  int k = 0;
  do r.set_part(k, vector_greater(a.part(k), b.part(k))); while (++k < pack<T, N>::parts);
  return r;
}
template <class T> COTANGENT_INLINE pack<T, 1> greater(pack<T, 1> a, pack<T, 1> b) { return a[0] > b[0] ? a : b; }

/// The larger of the two; NaN if one is NaN. Of +0 and -0 the second.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> maximum(pack<T, N> a, pack<T, N> b) {
  if constexpr (std::is_integral_v<T>) return greater(a, b);
  else return select(a != a, a, greater(a, b));
}
/// The smaller of the two; NaN if one is NaN. Of +0 and -0 the second.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> minimum(pack<T, N> a, pack<T, N> b) {
  if constexpr (std::is_integral_v<T>) return lesser(a, b);
  else return select(a != a, a, lesser(a, b));
}

// Over the lanes of one pack. The upper half is combined with the lower one until one lane is left, so the order
// depends on N alone.

/// f over all lanes.
template <class T, int N, class F> COTANGENT_HOST_INLINE T reduce(pack<T, N> x, F f) { return reduce(f(lower(x), upper(x)), f); }
template <class T, class F> COTANGENT_INLINE T reduce(pack<T, 1> x, F) { return x[0]; }

struct adding {
  COTANGENT_LANES template <class V> COTANGENT_INLINE V operator()(V a, V b) const { return a + b; }
};
struct multiplying {
  COTANGENT_LANES template <class V> COTANGENT_INLINE V operator()(V a, V b) const { return a * b; }
};
struct taking_maximum {
  COTANGENT_LANES template <class V> COTANGENT_INLINE V operator()(V a, V b) const { return maximum(a, b); }
};
struct taking_minimum {
  COTANGENT_LANES template <class V> COTANGENT_INLINE V operator()(V a, V b) const { return minimum(a, b); }
};

COTANGENT_LANES template <class T, int N> COTANGENT_INLINE T reduce_add(pack<T, N> x) { return reduce(x, adding()); }
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE T reduce_mul(pack<T, N> x) { return reduce(x, multiplying()); }
/// NaN if a lane is NaN.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE T reduce_max(pack<T, N> x) { return reduce(x, taking_maximum()); }
/// NaN if a lane is NaN.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE T reduce_min(pack<T, N> x) { return reduce(x, taking_minimum()); }

}  // namespace COTANGENT_ISA
}  // namespace cotangent
