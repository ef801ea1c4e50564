#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_SORTING)
#define COTANGENT_PRIMITIVES_SORTING
/// Order along an axis: argsort, of which sort and top_k are gathers.

namespace cotangent {

/// Integers whose order is that of numbers: -0 is 0, NaN is greatest.
template <class T> struct order_of {
  using key = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  static constexpr key least_negative = key(1) << (8 * sizeof(key) - 1);
  static COTANGENT_HD key of(T x, bool descending) {
    key k = 0;
    if constexpr (std::is_floating_point_v<T>) {
      if (x != x) k = ~key(0);
      else {
        const key bits = std::bit_cast<key>(x + T(0));  // -0 + 0 is 0
        k = bits & least_negative ? ~bits : bits | least_negative;
      }
    } else k = std::is_signed_v<T> ? key(x) ^ least_negative : key(x);
    return descending ? ~k : k;
  }
};

/// The indices (int32) of the first `count` elements along an axis in ascending or descending order; equal ones in theirs.
/// Attributes: the axis, the count, whether descending.
struct argsort_p {
  static constexpr std::string_view name = "argsort";
  static constexpr role kind = role::opaque;
  static constexpr bool by_lines = true;
  static constexpr double flops = 10;
  static constexpr void infer(call& c) {
    c.type = dtype::int32, c.dims = c[0].dims();
    c.dims[int(c.attribute(0))] = c.attribute(1);
  }
  static constexpr value jvp(const call&, const value*) { return {}; }
  static constexpr value vjp(const call&, int, value) { return {}; }
  static constexpr value batch(const call& c, const bool*, extent) { return emit<argsort_p>({c[0]}, {c.attribute(0) + 1, c.attribute(1), c.attribute(2)}); }
};
constexpr value argsort(value x, int axis, extent count, bool descending) { return emit<argsort_p>({x}, {axis, count, descending}); }

}  // namespace cotangent

#endif
