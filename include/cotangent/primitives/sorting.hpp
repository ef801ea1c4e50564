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
  static constexpr extent most_elements = 9;  // by exchanges of neighbours
  static constexpr void elements(element_call& e) {
    const int along = int(e.c.attribute(0));
    const element_array& x = e.operands[0];
    e.whole = x.form.place(along) >= 0 || !are_few_lines(x.dims, x.form, along, most_elements) || !(x.form.axes == e.form.axes) || e.c[0].type() == dtype::boolean;
    if (e.whole) return;
    const element_arithmetic arithmetic{e.b, e.c[0].type()};
    const extent n = x.dims[along], count = e.c.attribute(1);
    shape skipped = e.form.axes;
    skipped.push_back(along);
    e.parts.assign(std::size_t(e.form.count), value());
    element_call::each(x.dims, skipped, {x.form.strides, e.form.strides}, [&](const extent* at) {
      sequence<value> keys, places;
      for (extent k = 0; k < n; ++k) {
        keys.push_back(arithmetic.filled(x.parts[at[0] + k * x.form.strides[along]]));
        places.push_back(constant(e.b, dtype::int32, {}, double(k)));
      }
      for (extent first = 0; first < count; ++first) {
        for (extent k = n; --k > first;) {
          value &x0 = keys[std::size_t(k - 1)], &x1 = keys[std::size_t(k)], &p0 = places[std::size_t(k - 1)], &p1 = places[std::size_t(k)];
          const value exchanges = follows(x0, x1, e.c.attribute(2) != 0), y0 = x0, q0 = p0;
          x0 = arithmetic.chosen(exchanges, x1, y0), x1 = arithmetic.chosen(exchanges, y0, x1);
          p0 = arithmetic.chosen(exchanges, p1, q0), p1 = arithmetic.chosen(exchanges, q0, p1);
        }
        e.parts[std::size_t(at[1] + first * e.form.strides[along])] = places[std::size_t(first)];
      }
    });
  }

 private:
  /// Whether x0 comes behind x1.
  static constexpr value follows(value x0, value x1, bool descending) {
    if (descending) std::swap(x0, x1);
    match_ranks(x0, x1);
    if (!is_floating(x0.type())) return gt(x0, x1);
    return logical_and(logical_not(le(x0, x1)), eq(x1, x1));  // where one of them is NaN: if it is x0 alone
  }
};
constexpr value argsort(value x, int axis, extent count, bool descending) { return emit<argsort_p>({x}, {axis, count, descending}); }

}  // namespace cotangent

#endif
