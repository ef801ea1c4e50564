#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_TRANSCENDENTAL)
#define COTANGENT_PRIMITIVES_TRANSCENDENTAL
/// Exponentials, logarithms, trigonometry and special functions, each with its derivative.
/// Where jax/_src/lax uses the result instead of the operand, so do we: it decides what the backward pass keeps.

namespace cotangent {

constexpr value exp(value x);
constexpr value cos(value x);
constexpr value sin(value x);
constexpr value cosh(value x);
constexpr value sinh(value x);
constexpr value digamma(value x);
constexpr value trigamma(value x);

struct exp_p : floating<exp_p> {
  static constexpr std::string_view name = "exp";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return exp(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g * c.result; }
  static constexpr value simplify(const call& c) { return known(c, 0, 1); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return exp(x); }
};
struct exp2_p : floating<exp2_p> {
  static constexpr std::string_view name = "exp2";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return exp2(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return 0.693147180559945309417 * (g * c.result); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return exp2(x); }
};
struct exp10_p : floating<exp10_p> {
  static constexpr std::string_view name = "exp10";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return exp10(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return 2.30258509299404568402 * (g * c.result); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return exp10(x); }
};
struct expm1_p : floating<expm1_p> {
  static constexpr std::string_view name = "expm1";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return expm1(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g * (c.result + 1.0); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return expm1(x); }
};
struct log_p : floating<log_p> {
  static constexpr std::string_view name = "log";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return log(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g / c[0]; }
  static constexpr value simplify(const call& c) { return known(c, 1, 0); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return log(x); }
};
struct log2_p : floating<log2_p> {
  static constexpr std::string_view name = "log2";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return log2(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g / (0.693147180559945309417 * c[0]); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return log2(x); }
};
struct log10_p : floating<log10_p> {
  static constexpr std::string_view name = "log10";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return log10(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g / (2.30258509299404568402 * c[0]); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return log10(x); }
};
struct log1p_p : floating<log1p_p> {
  static constexpr std::string_view name = "log1p";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return log1p(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g / (c[0] + 1.0); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return log1p(x); }
};
struct sin_p : floating<sin_p> {
  static constexpr std::string_view name = "sin";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return sin(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g * cos(c[0]); }
  static constexpr value simplify(const call& c) { return known(c, 0, 0); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return sin(x); }
};
struct cos_p : floating<cos_p> {
  static constexpr std::string_view name = "cos";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return cos(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return -(g * sin(c[0])); }
  static constexpr value simplify(const call& c) { return known(c, 0, 1); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return cos(x); }
};
struct tan_p : floating<tan_p> {
  static constexpr std::string_view name = "tan";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return tan(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g * (1.0 + c.result * c.result); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return tan(x); }
};
struct asin_p : floating<asin_p> {
  static constexpr std::string_view name = "asin";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return asin(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g * rsqrt(1.0 - c[0] * c[0]); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return asin(x); }
};
struct acos_p : floating<acos_p> {
  static constexpr std::string_view name = "acos";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return acos(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g * -rsqrt(1.0 - c[0] * c[0]); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return acos(x); }
};
struct atan_p : floating<atan_p> {
  static constexpr std::string_view name = "atan";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return atan(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g / (1.0 + c[0] * c[0]); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return atan(x); }
};
/// The angle of the point (operand 1, operand 0), in radians, in [-pi, pi].
struct atan2_p : floating<atan2_p> {
  static constexpr std::string_view name = "atan2";
  static constexpr value derivative(const call& c, int k, value g) {
    const value r = c[0] * c[0] + c[1] * c[1];
    return k == 0 ? g * (c[1] / r) : g * (-c[0] / r);
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V y, V x) { return atan2(y, x); }
};
/// sqrt(x^2 + y^2) without overflow. At the origin and at infinities its derivatives are those of max(|x|, |y|).
struct hypot_p : floating<hypot_p> {
  static constexpr std::string_view name = "hypot";
  static constexpr value derivative(const call& c, int k, value g) {
    const value h = c.result, one = full_like(h, 1), x = c[k];
    const value extreme = logical_or(eq(h, zeros_like(h)), eq(h, full_like(h, __builtin_inf())));
    const value share = tie_share(abs(x), h, abs(c[1 - k])), sign = select(lt(x, zeros_like(x)), -one, one);
    return g * select(extreme, sign * share, x / select(extreme, one, h));
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x, V y) { return hypot(x, y); }
};
struct sinh_p : floating<sinh_p> {
  static constexpr std::string_view name = "sinh";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return sinh(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g * cosh(c[0]); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return sinh(x); }
};
struct cosh_p : floating<cosh_p> {
  static constexpr std::string_view name = "cosh";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return cosh(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g * sinh(c[0]); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return cosh(x); }
};
/// tanh; the derivative (g + g y)(1 - y) keeps its accuracy near |y| = 1.
struct tanh_p : floating<tanh_p> {
  static constexpr std::string_view name = "tanh";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return tanh(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return (g + g * c.result) * (1.0 - c.result); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return tanh(x); }
};
struct asinh_p : floating<asinh_p> {
  static constexpr std::string_view name = "asinh";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return asinh(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g * rsqrt(c[0] * c[0] + 1.0); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return asinh(x); }
};
struct acosh_p : floating<acosh_p> {
  static constexpr std::string_view name = "acosh";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return acosh(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g * rsqrt((c[0] - 1.0) * (c[0] + 1.0)); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return acosh(x); }
};
struct atanh_p : floating<atanh_p> {
  static constexpr std::string_view name = "atanh";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return atanh(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return (1.0 / (1.0 + c[0])) * (g / (1.0 - c[0])); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return atanh(x); }
};
/// 1 / (1 + exp(-x))
struct logistic_p : floating<logistic_p> {
  static constexpr std::string_view name = "logistic";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return logistic(z[0]); }
  static constexpr value derivative(const call& c, int, value g) { return g * c.result * (1.0 - c.result); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return logistic(x); }
};
/// log(e^x + e^y). Its derivative is a logistic function of the difference, which infinities that are equal do not have.
struct logaddexp_p : floating<logaddexp_p> {
  static constexpr std::string_view name = "logaddexp";
  static constexpr value derivative(const call& c, int k, value g) {
    const value x = c[k], y = c[1 - k];
    return g * emit<logistic_p>({select(logical_or(is_finite(x), ne(x, y)), x - y, zeros_like(x))});
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x, V y) { return logaddexp(x, y); }
};
struct erf_p : floating<erf_p> {
  static constexpr std::string_view name = "erf";
  static constexpr value derivative(const call& c, int, value g) {
    return 1.12837916709551257390 * (g * exp(-(c[0] * c[0])));  // 2 / sqrt(pi)
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return erf(x); }
};
struct erfc_p : floating<erfc_p> {
  static constexpr std::string_view name = "erfc";
  static constexpr value derivative(const call& c, int, value g) {
    return -1.12837916709551257390 * (g * exp(-(c[0] * c[0])));
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return erfc(x); }
};
struct erf_inv_p : floating<erf_inv_p> {
  static constexpr std::string_view name = "erf_inv";
  static constexpr value derivative(const call& c, int, value g) {
    return 0.886226925452758013649 * (g * exp(c.result * c.result));  // sqrt(pi) / 2
  }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return erf_inv(x); }
};
struct lgamma_p : floating<lgamma_p> {
  static constexpr std::string_view name = "lgamma";
  static constexpr value derivative(const call& c, int, value g) { return g * digamma(c[0]); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return lgamma(x); }
};
/// The logarithmic derivative of the gamma function.
struct digamma_p : floating<digamma_p> {
  static constexpr std::string_view name = "digamma";
  static constexpr value derivative(const call& c, int, value g) { return g * trigamma(c[0]); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return digamma(x); }
};
/// The derivative of digamma. Its own derivative is not there yet.
struct trigamma_p : pointwise {
  static constexpr std::string_view name = "trigamma";
  static constexpr double flops = 10;
  static constexpr void infer(call& c) { floating<digamma_p>::infer(c); }
  COTANGENT_LANES template <class V> static COTANGENT_INLINE V lane(V x) { return trigamma(x); }
};

constexpr value exp(value x) { return emit<exp_p>({x}); }
constexpr value exp2(value x) { return emit<exp2_p>({x}); }
constexpr value exp10(value x) { return emit<exp10_p>({x}); }
constexpr value expm1(value x) { return emit<expm1_p>({x}); }
constexpr value log(value x) { return emit<log_p>({x}); }
constexpr value log2(value x) { return emit<log2_p>({x}); }
constexpr value log10(value x) { return emit<log10_p>({x}); }
constexpr value log1p(value x) { return emit<log1p_p>({x}); }
constexpr value sin(value x) { return emit<sin_p>({x}); }
constexpr value cos(value x) { return emit<cos_p>({x}); }
constexpr value tan(value x) { return emit<tan_p>({x}); }
constexpr value asin(value x) { return emit<asin_p>({x}); }
constexpr value acos(value x) { return emit<acos_p>({x}); }
constexpr value atan(value x) { return emit<atan_p>({x}); }
constexpr value atan2(value y, value x) { return emit<atan2_p>({y, x}); }
constexpr value hypot(value x, value y) { return emit<hypot_p>({x, y}); }
constexpr value sinh(value x) { return emit<sinh_p>({x}); }
constexpr value cosh(value x) { return emit<cosh_p>({x}); }
constexpr value tanh(value x) { return emit<tanh_p>({x}); }
constexpr value asinh(value x) { return emit<asinh_p>({x}); }
constexpr value acosh(value x) { return emit<acosh_p>({x}); }
constexpr value atanh(value x) { return emit<atanh_p>({x}); }
constexpr value logistic(value x) { return emit<logistic_p>({x}); }
constexpr value erf(value x) { return emit<erf_p>({x}); }
constexpr value erfc(value x) { return emit<erfc_p>({x}); }
constexpr value erf_inv(value x) { return emit<erf_inv_p>({x}); }
constexpr value lgamma(value x) { return emit<lgamma_p>({x}); }
constexpr value digamma(value x) { return emit<digamma_p>({x}); }
constexpr value trigamma(value x) { return emit<trigamma_p>({x}); }

}  // namespace cotangent

#endif
