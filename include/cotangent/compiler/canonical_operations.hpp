#pragma once
/// Pointwise operations that the canonical form has beside those of programs.

#include <cotangent/primitives/primitives.hpp>

namespace cotangent {

/// a * b + c, rounded once on machines that can.
struct fma_p : pointwise {
  static constexpr std::string_view name = "fma";
  static constexpr double flops = 2;
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b, V c) { return fast_fma(a, b, c); }
};

/// The larger of c and x for a c that is not NaN: one instruction, and NaN where x is.
struct max_with_number_p : pointwise {
  static constexpr std::string_view name = "max_with_number";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V c, V x) { return greater(c, x); }
};
/// The smaller of c and x for a c that is not NaN.
struct min_with_number_p : pointwise {
  static constexpr std::string_view name = "min_with_number";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V c, V x) { return lesser(c, x); }
};

/// x, computed for one product alone, whose number the attribute is.
struct made_for_product_p : pointwise {
  static constexpr std::string_view name = "made_for_product";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return x; }
};

}  // namespace cotangent
