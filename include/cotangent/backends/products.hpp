#pragma once
/// A term of a sum of products.

#include <type_traits>

#include <cotangent/core/macros.hpp>

namespace cotangent {

/// sum + x y; integers wrap, and bool is "or of ands".
template <class T> COTANGENT_HD COTANGENT_INLINE T plus_product(T sum, T x, T y) {
  if constexpr (std::is_same_v<T, bool>) return sum | bool(x & y);
  else if constexpr (std::is_integral_v<T>) return T(std::make_unsigned_t<T>(sum) + std::make_unsigned_t<T>(x) * std::make_unsigned_t<T>(y));
  else return sum + x * y;
}

}  // namespace cotangent
