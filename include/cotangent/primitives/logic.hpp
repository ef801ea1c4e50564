#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_LOGIC)
#define COTANGENT_PRIMITIVES_LOGIC
/// Comparisons, logic, selection and conversion: eq ne lt le gt ge and or xor not is_finite select clamp convert
/// stop_gradient.

namespace cotangent {

/// A comparison: bool from two operands of one dtype. False if an operand is NaN (ne: true).
struct comparison : pointwise_constant {
  static constexpr void infer(call& c) {
    pointwise::infer(c);
    c.type = dtype::boolean;
  }
};
struct eq_p : comparison {
  static constexpr std::string_view name = "eq";
  static constexpr bool commutative = true;
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return {equal(z[0], z[1]), {}}; }
  static constexpr bool ascends = true, differs = true;
  static constexpr value simplify(const call& c) { return fold(c, [](double a, double b) { return a == b; }); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V a, V b) { return a == b; }
};
/// Whether an element attains an extremum: eq of a derivative, whose zeros elsewhere make no NaN of infinities if they are left out.
struct attains_p : comparison {
  static constexpr std::string_view name = "attains";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return {equal(z[0], z[1]), {}}; }
  static constexpr value simplify(const call& c) { return eq_p::simplify(c); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V a, V b) { return a == b; }
};
struct ne_p : comparison {
  static constexpr std::string_view name = "ne";
  static constexpr bool commutative = true;
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return {unequal(z[0], z[1]), {}}; }
  static constexpr value simplify(const call& c) { return fold(c, [](double a, double b) { return a != b; }); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V a, V b) { return a != b; }
};
struct lt_p : comparison {
  static constexpr std::string_view name = "lt";
  static constexpr bool ascends = true;
  static constexpr value simplify(const call& c) { return fold(c, [](double a, double b) { return a < b; }); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V a, V b) { return a < b; }
};
struct le_p : comparison {
  static constexpr std::string_view name = "le";
  static constexpr bool ascends = true;
  static constexpr value simplify(const call& c) { return fold(c, [](double a, double b) { return a <= b; }); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V a, V b) { return a <= b; }
};
struct gt_p : comparison {
  static constexpr std::string_view name = "gt";
  static constexpr value simplify(const call& c) { return fold(c, [](double a, double b) { return a > b; }); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V a, V b) { return a > b; }
};
struct ge_p : comparison {
  static constexpr std::string_view name = "ge";
  static constexpr value simplify(const call& c) { return fold(c, [](double a, double b) { return a >= b; }); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V a, V b) { return a >= b; }
};

/// Logical on bool, bitwise on integers.
struct bitwise : pointwise_constant {
  template <class F> static constexpr value fold_integers(const call& c, F f) {
    return fold(c, [f](double a, double b) { return double(f(std::int32_t(a), std::int32_t(b))); });
  }
  static constexpr void infer(call& c) {
    pointwise::infer(c);
    if (is_floating(c.type) || is_complex(c.type))
      c.b->fail(message{} << c.op->name << ": needs bool or an integer dtype, got " << c.type << c.dims);
  }
};
struct and_p : bitwise {
  static constexpr std::string_view name = "and";
  static constexpr bool commutative = true;
  static constexpr value simplify(const call& c) { return fold_integers(c, [](std::int32_t a, std::int32_t b) { return a & b; }); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b) { return a & b; }
};
struct or_p : bitwise {
  static constexpr std::string_view name = "or";
  static constexpr bool commutative = true;
  static constexpr value simplify(const call& c) { return fold_integers(c, [](std::int32_t a, std::int32_t b) { return a | b; }); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b) { return a | b; }
};
struct xor_p : bitwise {
  static constexpr std::string_view name = "xor";
  static constexpr bool commutative = true;
  static constexpr value simplify(const call& c) { return fold_integers(c, [](std::int32_t a, std::int32_t b) { return a ^ b; }); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b) { return a ^ b; }
};
struct not_p : bitwise {
  static constexpr std::string_view name = "not";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a) {
    if constexpr (requires { ~a; }) return ~a;
    else return !a;
  }
};
/// Shifts of an integer's bits. All are shifted out by as many as it has, or more; negative distances are such ones.
struct shift : bitwise {
  static constexpr void infer(call& c) {
    bitwise::infer(c);
    if (c.type == dtype::boolean) c.b->fail(message{} << c.op->name << ": needs an integer dtype, got bool" << c.dims);
  }

 protected:
  template <class T> static constexpr int width_of = 8 * int(sizeof(T));
  COTANGENT_LANES template <class V> static COTANGENT_INLINE auto is_shift(V distance) {
    using T = typename V::value_type;
    return (distance & V(T(~T(width_of<T> - 1)))) == V(T(0));
  }
};
struct shift_left_p : shift {
  static constexpr std::string_view name = "shift_left";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b) {
    using T = typename V::value_type;
    return select(is_shift(b), a << (b & V(T(width_of<T> - 1))), V(T(0)));
  }
};
/// Signed numbers keep their sign.
struct shift_right_p : shift {
  static constexpr std::string_view name = "shift_right";
  static constexpr value simplify(const call& c) {
    if (is_constant(c[1]) && (constant_value(c[1]) < 0 || constant_value(c[1]) > 31)) return {};
    return fold_integers(c, [](std::int32_t a, std::int32_t b) { return a >> b; });
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b) {
    using T = typename V::value_type;
    if constexpr (std::is_signed_v<T>) return a >> select(is_shift(b), b, V(T(width_of<T> - 1)));
    else return select(is_shift(b), a >> (b & V(T(width_of<T> - 1))), V(T(0)));
  }
};

struct is_finite_p : pointwise_constant {
  static constexpr std::string_view name = "is_finite";
  static constexpr void infer(call& c) {
    pointwise::infer(c);
    if (!is_floating(c.type)) c.b->fail(message{} << "is_finite: needs a floating-point dtype, got " << c.type << c.dims);
    c.type = dtype::boolean;
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V a) { return is_finite(a); }
};

constexpr value select(value predicate, value on_true, value on_false);

/// on_true where predicate, else on_false. Both cotangents are masked, never skipped, as in JAX.
struct select_p : differentiable<select_p> {
  static constexpr std::string_view name = "select";
  static constexpr bool by_parts = true;
  static constexpr bool chooses = true;
  static constexpr void infer(call& c) {
    infer_same_shape(c);
    infer_same_dtype(c, 1);
    if (c[0].type() != dtype::boolean)
      c.b->fail(message{} << "select: the predicate must be bool, got " << c[0].type() << c[0].dims());
  }
  static constexpr value derivative(const call& c, int k, value g) {
    if (k == 0) return {};
    return k == 1 ? select(c[0], g, zeros_like(g)) : select(c[0], zeros_like(g), g);
  }
  static constexpr bool linear(const call&, int k) { return k > 0; }
  static constexpr value jvp(const call& c, const value* tangents) {
    if (!tangents[1] && !tangents[2]) return {};
    return select(c[0], tangents[1] ? tangents[1] : zeros_like(c.result), tangents[2] ? tangents[2] : zeros_like(c.result));
  }
  static constexpr value simplify(const call& c) {
    if (c[1] == c[2]) return c[1];
    if (is_constant(c[0])) return is_constant(c[0], 0) ? c[2] : c[1];
    return {};
  }
  COTANGENT_LANES template <class M, class V> static COTANGENT_INLINE V lane(M p, V a, V b) {
    if constexpr (requires { select(p, a, b); }) return select(p, a, b);
    else return select(mask_cast<int(sizeof(typename V::value_type))>(p), a, b);  // a comparison of wider elements
  }
};

constexpr value eq(value a, value b) { return emit<eq_p>({a, b}); }
constexpr value attains(value a, value b) { return emit<attains_p>({a, b}); }
constexpr value ne(value a, value b) { return emit<ne_p>({a, b}); }
constexpr value lt(value a, value b) { return emit<lt_p>({a, b}); }
constexpr value le(value a, value b) { return emit<le_p>({a, b}); }
constexpr value gt(value a, value b) { return emit<gt_p>({a, b}); }
constexpr value ge(value a, value b) { return emit<ge_p>({a, b}); }
constexpr value logical_and(value a, value b) { return emit<and_p>({a, b}); }
constexpr value logical_or(value a, value b) { return emit<or_p>({a, b}); }
constexpr value operator&(value a, value b) { return logical_and(a, b); }  // as masks have them
constexpr value operator|(value a, value b) { return logical_or(a, b); }
constexpr value logical_xor(value a, value b) { return emit<xor_p>({a, b}); }
constexpr value logical_not(value a) { return emit<not_p>({a}); }
constexpr value shift_left(value a, value b) { return emit<shift_left_p>({a, b}); }
constexpr value shift_right(value a, value b) { return emit<shift_right_p>({a, b}); }
constexpr value is_finite(value x) { return emit<is_finite_p>({x}); }
constexpr value select(value p, value a, value b) { return emit<select_p>({p, a, b}); }

/// min(max(x, lo), hi) with derivative 0 at the bounds (jax.lax.clamp). Operands: lo, x, hi.
struct clamp_p : differentiable<clamp_p> {
  static constexpr std::string_view name = "clamp";
  static constexpr double flops = 2;
  static constexpr bool clamps = true;
  static constexpr value derivative(const call& c, int k, value g) {
    const value lo = c[0], x = c[1], hi = c[2], zero = zeros_like(g);
    if (k == 0) return select(logical_and(gt(lo, x), lt(lo, hi)), g, zero);
    if (k == 1) return select(logical_and(gt(x, lo), lt(x, hi)), g, zero);
    return select(lt(hi, x), g, zero);
  }
  static constexpr value simplify(const call& c) {
    if (!is_constant(c[0]) || !is_constant(c[1]) || !is_constant(c[2])) return {};
    const double low = constant_value(c[0]), x = constant_value(c[1]), high = constant_value(c[2]);
    return low <= x && x <= high ? c[1] : value{};
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V lo, V x, V hi) { return minimum(maximum(x, lo), hi); }
};
constexpr value clamp(value lo, value x, value hi) { return emit<clamp_p>({lo, x, hi}); }

constexpr value convert(value x, dtype to);

/// x in another dtype. Floating to integer truncates; to bool compares with 0; of complex numbers others take the real part. The tangent
/// is converted too.
struct convert_p : pointwise {
  static constexpr std::string_view name = "convert";
  static constexpr complex_value of_complex(const call& c, const complex_value* z) {
    if (c.type == dtype::boolean) return {unequal(z[0], {zeros_like(z[0].re), {}}), {}};
    const dtype part = real_dtype(c.type);
    return {convert(z[0].re, part), is_complex(c.type) && z[0].im ? convert(z[0].im, part) : value()};
  }
  static constexpr void infer(call& c) { c.dims = c[0].dims(); }
  static constexpr value jvp(const call& c, const value* tangents) {
    if (!tangents[0] || !is_differentiable(c.type)) return {};
    return convert(tangents[0], c.type);
  }
  static constexpr value vjp(const call& c, int, value g) {
    return is_differentiable(c[0].type()) && is_differentiable(c.type) ? convert(g, c[0].type()) : value{};
  }
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr value simplify(const call& c) {
    if (c[0].type() == c.type) return c[0];
    if (is_constant(c[0]) && is_differentiable(c.type)) return constant(*c.b, c.type, c.dims, constant_value(c[0]));
    return {};
  }
  /// The lane program for the result's element type.
  template <class T> struct to {
    COTANGENT_LANES template <class V> static COTANGENT_INLINE auto lane(V x) {
      if constexpr (std::is_same_v<T, bool>) return x != V(0);
      else return convert<T>(x);
    }
  };
  template <class T, extent...> using lane_for = to<T>;
};
constexpr value convert(value x, dtype to) { return x.type() == to ? x : emit<convert_p>({x}, nullptr, 0, to); }

/// x, seen as a constant by differentiation.
struct stop_gradient_p : pointwise_constant {
  static constexpr std::string_view name = "stop_gradient";
  static constexpr bool by_parts = true;
  static constexpr double flops = 0;
  static constexpr value simplify(const call& c) { return c[0]; }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return x; }
};
constexpr value stop_gradient(value x) { return emit<stop_gradient_p>({x}); }

}  // namespace cotangent

#endif
