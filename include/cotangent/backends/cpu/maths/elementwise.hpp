#pragma once
/// Functions without a vector form yet: each lane goes to the C library, or to a published scalar formula.

#include <cotangent/backends/cpu/maths/parts.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

#define COTANGENT_ELEMENTWISE(NAME)                                                                            \
  struct NAME##_of_element {                                                                                   \
    template <class T> COTANGENT_HD T operator()(T x) const { return std::NAME(x); }                           \
  };                                                                                                           \
  COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> NAME(pack<T, N> x) {                   \
    return lane_by_lane(x, NAME##_of_element());                                                               \
  }
#define COTANGENT_ELEMENTWISE2(NAME, FUNCTION)                                                                 \
  struct NAME##_of_elements {                                                                                  \
    template <class T> COTANGENT_HD T operator()(T x, T y) const { return std::FUNCTION(x, y); }               \
  };                                                                                                           \
  COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> NAME(pack<T, N> x, pack<T, N> y) {     \
    return lane_by_lane(x, y, NAME##_of_elements());                                                           \
  }

/// The C library's accuracy (1 to 2 ULP in glibc) and special values.
COTANGENT_ELEMENTWISE(asinh)
COTANGENT_ELEMENTWISE(acosh)
COTANGENT_ELEMENTWISE(atanh)
COTANGENT_ELEMENTWISE(erfc)
/// sqrt(x^2 + y^2) without overflow. jnp.hypot.
COTANGENT_ELEMENTWISE2(hypot, hypot)
/// The remainder of the quotient truncated towards zero, with the sign of x; exact. lax.rem.
COTANGENT_ELEMENTWISE2(rem, fmod)
#undef COTANGENT_ELEMENTWISE
#undef COTANGENT_ELEMENTWISE2

}  // namespace COTANGENT_ISA
}  // namespace cotangent
