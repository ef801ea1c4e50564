#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_ARITHMETIC)
#define COTANGENT_PRIMITIVES_ARITHMETIC
/// Arithmetic: neg add sub mul div rem max min abs copysign sign pow integer_pow sqrt rsqrt cbrt floor ceil round.
/// Derivatives follow jax/_src/lax/lax.py, conventions at ties and zeros included.

namespace cotangent {

constexpr value neg(value x);
constexpr value sub(value a, value b);
constexpr value mul(value a, value b);
constexpr value div(value a, value b);
constexpr value abs(value x);
constexpr value copysign(value x, value y);
constexpr value sign(value x);
constexpr value floor(value x);
constexpr value pow(value x, value y);
constexpr value integer_pow(value x, extent n);
constexpr value log(value x);
constexpr value real(value z);
constexpr value conj(value z);
constexpr value direction(value z, value modulus);

constexpr value operator-(value x) { return neg(x); }
constexpr value operator+(value a, value b) { return add(a, b); }
constexpr value operator-(value a, value b) { return sub(a, b); }
constexpr value operator*(value a, value b) { return mul(a, b); }
constexpr value operator/(value a, value b) { return div(a, b); }
constexpr value operator+(value a, double x) { return add(a, full_like(a, x)); }
constexpr value operator+(double x, value a) { return add(full_like(a, x), a); }
constexpr value operator-(value a, double x) { return sub(a, full_like(a, x)); }
constexpr value operator-(double x, value a) { return sub(full_like(a, x), a); }
constexpr value operator*(double x, value a) { return mul(full_like(a, x), a); }
constexpr value operator*(value a, double x) { return mul(a, full_like(a, x)); }
constexpr value operator/(double x, value a) { return div(full_like(a, x), a); }
constexpr value operator/(value a, double x) { return div(a, full_like(a, x)); }

struct neg_p : differentiable<neg_p> {
  static constexpr std::string_view name = "neg";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return -z[0]; }
  static constexpr value derivative(const call&, int, value g) { return -g; }
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr value simplify(const call& c) {
    const node& x = c[0].get();
    if (x.op_id == primitive_of<neg_p>.id) return {c.b, c.b->g.operand(c[0].id, 0)};
    return fold(c, [](double a, double) { return -a; });
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return -x; }
};

struct add_p : differentiable<add_p> {
  static constexpr std::string_view name = "add";
  static constexpr bool commutative = true;
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return z[0] + z[1]; }
  static constexpr value derivative(const call&, int, value g) { return g; }
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr value simplify(const call& c) {
    if (!has_constant(c)) return {};
    if (is_constant(c[0], 0)) return c[1];
    if (is_constant(c[1], 0)) return c[0];
    return fold_arithmetic(c, [](double a, double b) { return a + b; });
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b) { return a + b; }
};

struct sub_p : differentiable<sub_p> {
  static constexpr std::string_view name = "sub";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return z[0] - z[1]; }
  static constexpr value derivative(const call&, int k, value g) { return k == 0 ? g : -g; }
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr value simplify(const call& c) {
    if (!has_constant(c)) return {};
    if (is_constant(c[1], 0)) return c[0];
    return fold_arithmetic(c, [](double a, double b) { return a - b; });
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b) { return a - b; }
};

struct mul_p : differentiable<mul_p> {
  static constexpr std::string_view name = "mul";
  static constexpr bool multiplies = true;
  static constexpr bool commutative = true;
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return z[0] * z[1]; }
  static constexpr bool bilinear = true;
  static constexpr value derivative(const call& c, int k, value g) {
    if (c[0] == c[1]) return k == 0 ? 2.0 * (g * c[0]) : value{};
    return g * c[1 - k];
  }
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr value simplify(const call& c) {
    if (!has_constant(c)) return {};
    if (is_constant(c[0], 1)) return c[1];
    if (is_constant(c[1], 1)) return c[0];
    if (is_constant(c[0], -1)) return neg(c[1]);
    if (is_constant(c[1], -1)) return neg(c[0]);
    return fold_arithmetic(c, [](double a, double b) { return a * b; });
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b) { return a * b; }
};

/// a / b; integers truncate toward zero.
struct div_p : differentiable<div_p> {
  static constexpr std::string_view name = "div";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return z[0] / z[1]; }
  static constexpr value derivative(const call& c, int k, value g) {
    if (k == 0 && is_constant(c[1])) return g / c[1];
    const value inverse = 1.0 / c[1];  // one for all directions
    return k == 0 ? g * inverse : -g * (c.result * inverse);
  }
  static constexpr bool linear(const call&, int k) { return k == 0; }
  static constexpr value simplify(const call& c) {
    if (!has_constant(c)) return {};
    if (is_constant(c[1], 1)) return c[0];
    if (!is_floating(c.type) || (is_constant(c[1]) && constant_value(c[1]) == 0)) return {};
    if (const value r = fold_arithmetic(c, [](double a, double b) { return a / b; })) return r;
    return is_constant(c[0]) && is_power_of_two(constant_value(c[0])) ? c[0] * (full_like(c[0], 1) / c[1]) : value{};
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b) { return a / b; }

 private:
  /// Whether a quotient with this numerator is the same as a product with the reciprocal, which others may share; 1 is not meant.
  static constexpr bool is_power_of_two(double x) {
    constexpr std::uint64_t fraction = (std::uint64_t(1) << 52) - 1;
    return x != 1 && x != 0 && is_calculable(x) && (std::bit_cast<std::uint64_t>(x) & fraction) == 0;
  }
};

/// The remainder of truncating division; the sign is a's.
struct rem_p : differentiable<rem_p> {
  static constexpr std::string_view name = "rem";
  static constexpr double flops = 10;
  static constexpr value derivative(const call& c, int k, value g) {
    return k == 0 ? g : g * -(sign(c[0] / c[1]) * floor(abs(c[0] / c[1])));
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b) { return rem(a, b); }
};

/// The share of operand x in the derivative of an extremum z of x and y: 1, 1/2 at a tie, 0.
constexpr value tie_share(value x, value z, value y) {
  return select(eq(x, z), select(eq(y, z), full_like(z, 0.5), full_like(z, 1)), zeros_like(z));
}

/// The larger operand; NaN if one is NaN. The derivative splits evenly at ties.
struct max_p : differentiable<max_p> {
  static constexpr std::string_view name = "max";
  static constexpr value simplify(const call& c) { return c[0] == c[1] ? c[0] : value{}; }
  static constexpr value derivative(const call& c, int k, value g) { return g * tie_share(c[k], c.result, c[1 - k]); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b) { return maximum(a, b); }
};

/// The smaller operand; NaN if one is NaN. The derivative splits evenly at ties.
struct min_p : differentiable<min_p> {
  static constexpr std::string_view name = "min";
  static constexpr value simplify(const call& c) { return c[0] == c[1] ? c[0] : value{}; }
  static constexpr value derivative(const call& c, int k, value g) { return g * tie_share(c[k], c.result, c[1 - k]); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V a, V b) { return minimum(a, b); }
};

/// |x|. The derivative at 0 is 1, of complex numbers 0.
struct abs_p : differentiable<abs_p> {
  static constexpr std::string_view name = "abs";
  static constexpr void infer(call& c) {
    pointwise::infer(c);
    c.type = real_dtype(c.type);
  }
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return {abs(z[0]), {}}; }
  static constexpr value derivative(const call& c, int, value g) {
    if (is_complex(c[0].type())) return g * direction(conj(c[0]), c.result);
    return select(ge(c[0], zeros_like(c[0])), g, -g);
  }
  static constexpr value jvp(const call& c, const value* t) { return t[0] ? real(derivative(c, 0, t[0])) : value{}; }
  static constexpr value vjp(const call& c, int k, value g) { return derivative(c, k, convert(g, c[0].type())); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return abs(x); }
};

/// |x| with the sign of y, also of a zero. The derivative by x at 0 is that of |x|.
struct copysign_p : floating<copysign_p> {
  static constexpr std::string_view name = "copysign";
  static constexpr double flops = 1;
  static constexpr value derivative(const call& c, int k, value g) {
    if (k == 1) return {};
    const value turned = lt(c[0], zeros_like(g)), way = copysign(full_like(g, 1), c[1]);
    return g * select(turned, -way, way);
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x, V y) { return copysign(x, y); }
};

/// -1, 0 or 1; NaN of NaN.
struct sign_p : pointwise_constant {
  static constexpr std::string_view name = "sign";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) {
    if constexpr (std::is_unsigned_v<typename V::value_type>) return select(x > V(0), V(1), x);
    else return select(x > V(0), V(1), select(x < V(0), V(-1), x));
  }
};

struct floor_p : pointwise_constant {
  static constexpr std::string_view name = "floor";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return floor(x); }
};
struct ceil_p : pointwise_constant {
  static constexpr std::string_view name = "ceil";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return ceil(x); }
};
struct trunc_p : pointwise_constant {
  static constexpr std::string_view name = "trunc";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return trunc(x); }
};
/// The nearest integer, ties to even.
struct round_p : pointwise_constant {
  static constexpr std::string_view name = "round";
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return round_even(x); }
};

/// x to the power y, both floating.
struct pow_p : floating<pow_p> {
  static constexpr std::string_view name = "pow";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return pow(z[0], z[1]); }
  static constexpr double flops = 30;
  /// The dtype that y had before it took x's dtype and shape.
  static constexpr dtype first_type(value y) {
    while (y.get().op && y.get().op->kind == role::view) y = {y.b, y.b->g.operand(y.id, 0)};
    return y.get().op_id == primitive_of<convert_p>.id ? y.b->g[y.b->g.operand(y.id, 0)].type : y.type();
  }
  static constexpr value derivative(const call& c, int k, value g) {
    const value x = c[0], y = c[1];
    if (const dtype t = first_type(y); k == 0 && !is_floating(t)) {  // 0 where y is 0, also at x = 0
      const value is_zero = eq(y, zeros_like(y)), exponent = select(is_zero, full_like(y, 1), y);
      return g * select(is_zero, zeros_like(x), exponent * pow(x, convert(convert(exponent - 1.0, t), y.type())));
    }
    if (k == 0) return g * (y * pow(x, y - 1.0));
    return g * (log(select(eq(x, zeros_like(x)), full_like(x, 1), x)) * c.result);
  }
  static constexpr value simplify(const call& c) {
    if (is_constant(c[1], 1)) return c[0];
    return {};
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x, V y) { return pow(x, y); }
};

/// x to a constant integer power, by repeated squaring. Attribute: the exponent.
struct integer_pow_p : differentiable<integer_pow_p> {
  static constexpr std::string_view name = "integer_pow";
  static constexpr complex_value of_complex(const call& c, const complex_value* z) { return integer_pow(z[0], c.attribute(0)); }
  static constexpr double flops = 2;
  static constexpr extent most_shared = 4;
  static constexpr value derivative(const call& c, int, value g) {
    const extent n = c.attribute(0);
    if (n == 0) return {};
    if (n == 1) return g;
    return g * (double(n) * integer_pow(c[0], n - 1));
  }
  static constexpr value simplify(const call& c) {
    if (c.attribute(0) == 0) return full_like(c[0], 1);
    if (c.attribute(0) == 1) return c[0];
    if (c.attribute(0) == 2) return c[0] * c[0];
    // Powers of one reciprocal, as derivatives have several of them.
    if (c.attribute(0) < 0 && c.attribute(0) >= -most_shared) return integer_pow(1.0 / c[0], -c.attribute(0));
    return {};
  }
  /// The lane program for exponent N.
  template <extent N> struct exponent {
    COTANGENT_LANES template <extent M, class V> static COTANGENT_INLINE V power(V x) {
      if constexpr (M == 1) return x;
      else if constexpr (M % 2 == 0) return power<M / 2>(x * x);
      else return x * power<M / 2>(x * x);
    }
    COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) {
      if constexpr (N == 0) return V(1);
      else if constexpr (N < 0) return V(1) / power<-N>(x);
      else return power<N>(x);
    }
  };
  template <class T, extent... N> using lane_for = exponent<N...>;
};

struct sqrt_p : floating<sqrt_p> {
  static constexpr std::string_view name = "sqrt";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return sqrt(z[0]); }
  static constexpr double flops = 4;
  static constexpr value derivative(const call& c, int, value g) { return g * (0.5 / c.result); }
  static constexpr value simplify(const call& c) {
    const value r = known(c, 0, 0);
    return r ? r : known(c, 1, 1);
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return sqrt(x); }
};
struct rsqrt_p : floating<rsqrt_p> {
  static constexpr std::string_view name = "rsqrt";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return rsqrt(z[0]); }
  static constexpr double flops = 6;
  static constexpr value derivative(const call& c, int, value g) { return g * (-0.5 * (c.result / c[0])); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return rsqrt(x); }
};
struct cbrt_p : floating<cbrt_p> {
  static constexpr std::string_view name = "cbrt";
  static constexpr value derivative(const call& c, int, value g) {
    return g * ((1.0 / 3.0) * integer_pow(c.result, -2));
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return cbrt(x); }
};

constexpr value neg(value x) { return emit<neg_p>({x}); }
constexpr value add(value a, value b) { return emit<add_p>({a, b}); }
constexpr value sub(value a, value b) { return emit<sub_p>({a, b}); }
constexpr value mul(value a, value b) { return emit<mul_p>({a, b}); }
constexpr value div(value a, value b) { return emit<div_p>({a, b}); }
constexpr value rem(value a, value b) { return emit<rem_p>({a, b}); }
constexpr value max(value a, value b) { return emit<max_p>({a, b}); }
constexpr value min(value a, value b) { return emit<min_p>({a, b}); }
constexpr value maximum(value a, value b) { return max(a, b); }  // as packs have them
constexpr value minimum(value a, value b) { return min(a, b); }
constexpr value abs(value x) { return emit<abs_p>({x}); }
constexpr value copysign(value x, value y) { return emit<copysign_p>({x, y}); }
constexpr value sign(value x) { return emit<sign_p>({x}); }
constexpr value floor(value x) { return emit<floor_p>({x}); }
constexpr value ceil(value x) { return emit<ceil_p>({x}); }
constexpr value trunc(value x) { return emit<trunc_p>({x}); }
constexpr value round(value x) { return emit<round_p>({x}); }
constexpr value pow(value x, value y) { return emit<pow_p>({x, y}); }
constexpr value integer_pow(value x, extent n) { return emit<integer_pow_p>({x}, &n, 1); }
constexpr value sqrt(value x) { return emit<sqrt_p>({x}); }
constexpr value rsqrt(value x) { return emit<rsqrt_p>({x}); }
constexpr value cbrt(value x) { return emit<cbrt_p>({x}); }

}  // namespace cotangent

#endif
