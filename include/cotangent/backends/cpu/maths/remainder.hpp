#pragma once
/// rem.

#include <cotangent/backends/cpu/maths/parts.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

/// a - b trunc(a / b) for a >= 0, b > 0 and a quotient below 2^mantissa_bits: exact, as every multiple of b's last place below b is.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> remainder_of_near(pack<T, N> a, pack<T, N> b) {
  // A quotient that rounds up to an integer is one too large.
  const pack<T, N> r = fnma(trunc(a / b), b, a);
  return select(r < pack<T, N>(T(0)), r + b, r);
}

/// The same for any quotient: b times powers of two are subtracted first.
COTANGENT_LANES template <class T, int N>
#if defined(__GNUC__)
__attribute__((noinline, cold))
#endif
COTANGENT_HD pack<T, N> remainder_of_far(pack<T, N> a, pack<T, N> b) {
  using V = pack<T, N>;
  constexpr T step = T(mantissa_bits<T> - 3);
  for (;;) {
    const V apart = take_apart(a).exponent - take_apart(b).exponent;
    const auto far = apart > V(step);  // not where a is 0
    if (!any(far)) return remainder_of_near(a, b);
    // By b 2^(apart - step), in two factors, for one may overflow where b is subnormal.
    const V shift = select(far, apart - step, V(T(0))), first = lesser(shift, V(T(std::numeric_limits<T>::max_exponent - 28)));
    a = select(far, remainder_of_near(a, scale(scale(b, first), shift - first)), a);
  }
}

/// The remainder of the quotient truncated towards zero, with the sign of x; exact. Integers: x where y is 0. lax.rem.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> rem(pack<T, N> x, pack<T, N> y) {
  using V = pack<T, N>;
  if constexpr (std::is_integral_v<T>) return x % y;
  else {
    const auto ordinary = is_finite(x) & (abs(y) > V(T(0)));  // y is no NaN either
    const V a = select(ordinary, abs(x), V(T(0))), b = select(ordinary & is_finite(y), abs(y), V(T(1)));
    constexpr T limit = T(std::int64_t(1) << (mantissa_bits<T> - 3));
    V r = remainder_of_near(a, b);
    if (any_greater(a, b * V(limit))) [[unlikely]] r = remainder_of_far(a, b);
    r = select(abs(x) < abs(y), x, copysign(r, x));
    return select(ordinary, r, V(nan_of<T>));
  }
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent
