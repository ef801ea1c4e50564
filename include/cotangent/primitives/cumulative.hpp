#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_CUMULATIVE)
#define COTANGENT_PRIMITIVES_CUMULATIVE
/// Running combinations along an axis: cumsum cumprod cummax cummin, and the linear recurrence that is the derivative
/// of the last three.
///
/// Attributes of all: the axis, and 1 to run from its end. The element before k is then k + 1.

namespace cotangent {

/// y[k] = a[k] * y[k - 1] + b[k], where y[-1] is 0.
constexpr value linear_recurrence(value a, value b, extent axis, bool reverse);

/// What stands before each element in the order of running; `fill` before the first.
constexpr value previous_along(value x, extent axis, bool reverse, double fill) {
  const shape none = filled(x.rank(), 0);
  shape one = none;
  one[int(axis)] = 1;
  const value padded = pad(x, constant(*x.b, x.type(), {}, fill), reverse ? none : one, reverse ? one : none, none);
  return slice(padded, reverse ? one : none, x.dims(), filled(x.rank(), 1));
}

struct cumulative {
  static constexpr role kind = role::opaque;
  static constexpr bool by_lines = true;
  static constexpr bool in_order = false;  // whether elements must be combined one by one
  static constexpr double flops = 1;
  static constexpr extent axis(const call& c) { return c.attribute(0); }
  static constexpr bool reverse(const call& c) { return c.attribute(1) != 0; }
  static constexpr void infer(call& c) { c.type = c[0].type(), c.dims = c[0].dims(); }
  static constexpr value batch(const call& c, const bool*, extent) {
    const extent behind[] = {axis(c) + 1, c.attribute(1)};
    call d = c;
    d.attributes = behind;
    return c.b->emit(d);
  }
  static constexpr extent most_elements = 32;
  /// y[k] = step(y[k - 1], x[k]...), where there is no y before the first; step gets null values for zeros.
  template <class Step> static constexpr void elements_by_steps(element_call& e, const Step& step) {
    const int along = int(axis(e.c));
    e.whole = e.form.place(along) >= 0 || !are_few_lines(e.c.dims, e.form, along, most_elements);
    for (int k = 0; k < e.c.count; ++k) e.whole = e.whole || !(e.operands[k].form.axes == e.form.axes);
    if (e.whole) return;
    const extent n = e.c.dims[along], stride = e.form.strides[along];
    e.parts.assign(std::size_t(e.form.count), value());
    for (extent i = 0; i < e.form.count; ++i) {
      const extent at = reverse(e.c) ? e.form.count - 1 - i : i, k = at / stride % n;
      const bool first = k == (reverse(e.c) ? n - 1 : 0);
      e.parts[std::size_t(at)] = step(at, first, first ? value() : e.parts[std::size_t(reverse(e.c) ? at + stride : at - stride)]);
    }
  }
  /// The same of one operand, where step(y, x) is a combination.
  template <class Combine> static constexpr void elements_by(element_call& e, const Combine& combine) {
    elements_by_steps(e, [&](extent at, bool first, value y) {
      value x = e.operands[0].parts[at];
      if (first) return x;
      if (y && x) match_ranks(y, x);
      return combine(y, x);
    });
  }
  static constexpr value before(const call& c, value x, double fill) { return previous_along(x, axis(c), reverse(c), fill); }
  /// The transpose of b -> linear_recurrence(a, b): it runs the other way, and each step takes the a behind it.
  static constexpr value pull_recurrence(const call& c, value a, value g) {
    return linear_recurrence(previous_along(a, axis(c), !reverse(c), 0), g, axis(c), !reverse(c));
  }
};

struct cumsum_p : cumulative {
  static constexpr std::string_view name = "cumsum";
  static constexpr bool by_parts = true;
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr value jvp(const call& c, const value* t) { return t[0] ? emit_again(c, t) : value{}; }
  static constexpr value vjp(const call& c, int, value g) { return emit<cumsum_p>({g}, {axis(c), !reverse(c)}); }
  using reduction = reduce_sum_p;
  static constexpr void elements(element_call& e) {
    elements_by(e, [](value y, value x) { return !y ? x : !x ? y : y + x; });
  }
};

/// The derivative of y[k] = y[k - 1] * x[k] never divides: exact at zeros.
struct cumprod_p : cumulative {
  static constexpr std::string_view name = "cumprod";
  static constexpr value jvp(const call& c, const value* t) {
    return t[0] ? linear_recurrence(c[0], t[0] * before(c, c.result, 1), axis(c), reverse(c)) : value{};
  }
  static constexpr value vjp(const call& c, int, value g) { return pull_recurrence(c, c[0], g) * before(c, c.result, 1); }
  using reduction = reduce_prod_p;
  static constexpr bool in_order = true;  // a product of some elements may overflow where that of all before does not
  static constexpr void elements(element_call& e) {
    elements_by(e, [](value y, value x) { return y && x ? y * x : value(); });
  }
};

/// What cummax and cummin share: the derivative of y[k] = max(y[k - 1], x[k]), which splits evenly at ties.
struct cumulative_extremum : cumulative {
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0]) return {};
    const value y = before(c, c.result, __builtin_nan(""));  // equal to nothing: the first element has no rival
    return linear_recurrence(tie_share(y, c.result, c[0]), t[0] * tie_share(c[0], c.result, y), axis(c), reverse(c));
  }
  static constexpr value vjp(const call& c, int, value g) {
    const value y = before(c, c.result, __builtin_nan(""));
    return pull_recurrence(c, tie_share(y, c.result, c[0]), g) * tie_share(c[0], c.result, y);
  }

 protected:
  static constexpr void extrema(element_call& e, value (*of)(value, value)) {
    const auto filled = [&](value v) { return v ? v : constant(e.b, e.c.type, {}, 0); };
    elements_by(e, [&](value y, value x) {
      value a = filled(y), b = filled(x);
      match_ranks(a, b);
      return of(a, b);
    });
  }
};
struct cummax_p : cumulative_extremum {
  static constexpr std::string_view name = "cummax";
  using reduction = reduce_max_p;
  static constexpr void elements(element_call& e) { extrema(e, max); }
};
struct cummin_p : cumulative_extremum {
  static constexpr std::string_view name = "cummin";
  using reduction = reduce_min_p;
  static constexpr void elements(element_call& e) { extrema(e, min); }
};

struct linear_recurrence_p : cumulative {
  static constexpr std::string_view name = "linear_recurrence";
  static constexpr double flops = 2;
  static constexpr void infer(call& c) {
    infer_same_shape(c);
    infer_same_dtype(c);
  }
  static constexpr bool linear(const call&, int k) { return k == 1; }
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0] && !t[1]) return {};
    value b = t[1];
    if (t[0]) {
      const value of_a = t[0] * before(c, c.result, 0);
      b = b ? b + of_a : of_a;
    }
    return linear_recurrence(c[0], b, axis(c), reverse(c));
  }
  static constexpr value vjp(const call& c, int k, value g) {
    const value of_b = pull_recurrence(c, c[0], g);
    return k == 1 ? of_b : of_b * before(c, c.result, 0);
  }
  static constexpr value batch(const call& c, const bool* batched, extent size) {
    return linear_recurrence(batched_operand(c[0], batched[0], size), batched_operand(c[1], batched[1], size), axis(c) + 1, reverse(c));
  }
  static constexpr value simplify(const call& c) { return is_constant(c[1], 0) ? c[1] : value{}; }
  static constexpr void elements(element_call& e) {
    elements_by_steps(e, [&](extent at, bool, value y) {
      value a = e.operands[0].parts[at], b = e.operands[1].parts[at];
      if (!y || !a) return b;
      match_ranks(a, y);
      value product = a * y;
      if (!b) return product;
      match_ranks(product, b);
      return product + b;
    });
  }
};

constexpr value cumsum(value x, int axis, bool reverse) { return emit<cumsum_p>({x}, {axis, reverse}); }
constexpr value cumprod(value x, int axis, bool reverse) { return emit<cumprod_p>({x}, {axis, reverse}); }
constexpr value cummax(value x, int axis, bool reverse) { return emit<cummax_p>({x}, {axis, reverse}); }
constexpr value cummin(value x, int axis, bool reverse) { return emit<cummin_p>({x}, {axis, reverse}); }
constexpr value linear_recurrence(value a, value b, extent axis, bool reverse) {
  return emit<linear_recurrence_p>({a, b}, {axis, reverse});
}

}  // namespace cotangent

#endif
