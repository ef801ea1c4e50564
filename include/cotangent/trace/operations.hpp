#pragma once
/// What users write inside traced functions: operators and NumPy's functions on vars.
///
/// Numbers beside a var take its dtype (a floating number beside an integer var makes it floating). Shapes broadcast
/// and dtypes promote as in NumPy and JAX; what does not fit is a compile error that names the operation and shapes.

#include <array>
#include <tuple>

#include <cotangent/trace/einsum.hpp>
#include <cotangent/trace/expression.hpp>
#include <cotangent/trace/functions.hpp>
#include <cotangent/trace/var.hpp>

namespace cotangent {

template <class A, class B>
concept tensor_pair = (tensor<A> || tensor<B>) && operand<A> && operand<B>;
/// Two arrays are equal or not, as regular values are: == and != compare elements only beside a var or an expression.
template <class A, class B>
concept compared_pair = (traced<A> || traced<B> || is_expression<A> || is_expression<B>) && operand<A> && operand<B>;

/// Tags that choose axes and ranges.
template <extent... Axes> struct axis_tag {
  static constexpr shape list{Axes...};
};
template <extent... Axes> inline constexpr axis_tag<Axes...> axis{};
struct keepdims_tag {};
inline constexpr keepdims_tag keepdims{};
struct full_extent_tag {};
inline constexpr full_extent_tag full_extent{};
/// In a list of indices: as many whole axes as the others leave, NumPy's `...`.
struct ellipsis_tag {};
inline constexpr ellipsis_tag ellipsis{};
template <extent I> struct index_tag {};
template <extent I> inline constexpr index_tag<I> index{};
template <extent First, extent Last, extent Step = 1> struct range_tag {};
template <extent First, extent Last, extent Step = 1> inline constexpr range_tag<First, Last, Step> range{};
/// From First to the end of the axis: NumPy's [First:], or [First::Step].
template <extent First, extent Step = 1> inline constexpr range_tag<First, open_end, Step> range_from{};
template <extent... E> struct low {
  static constexpr shape list{E...};
};
template <extent... E> struct high {
  static constexpr shape list{E...};
};

/// The bits of a number as constants have them.
template <class T> constexpr std::uint64_t bits_of(const T& x) {
  if constexpr (is_floating(dtype_of<T>)) return std::bit_cast<std::uint64_t>(double(x));
  else return std::uint64_t(std::int64_t(x));
}
/// An array that a rule makes, in a trace.
template <class T> constexpr value made_in(builder& b, const element_rule<T>& r, const shape& dims) {
  if (r.what == r.full) return broadcast_to(number_constant(b, dtype_of<T>, r.value), dims);
  const value i = iota(b, dtype::int32, dims, 0);
  if (r.what == r.identity) return convert(eq(i, iota(b, dtype::int32, dims, 1)), dtype_of<T>);
  const extent count = dims[0];
  if (r.first == 0 && r.step(count) == 1) return iota(b, dtype_of<T>, dims, 0);
  const auto number = [&](double x) { return constant(b, dtype::float64, dims, x); };
  if (r.what == r.frequencies) {
    const value positive = convert(i, dtype::float64), is_positive = lt(i, constant(b, dtype::int32, dims, double((count + 1) / 2)));
    return convert(select(is_positive, positive, positive - double(count)) * number(r.first), dtype_of<T>);
  }
  const value inner = convert(i, dtype::float64) * number(r.step(count)) + number(r.first);
  return convert(select(eq(i, constant(b, dtype::int32, dims, double(count - 1))), number(count > 1 ? r.last : r.first), inner), dtype_of<T>);
}

/// A concrete array as a constant of a trace.
template <class A> constexpr value array_constant_in(builder& b, const A& a) {
  using T = std::remove_cv_t<typename A::value_type>;
  constexpr shape dims = A::type_shape();
  static_assert(dims.is_static(), "an array used as a constant in a traced function must have static extents");
  if constexpr (requires { a.rule(); })
    if (const element_rule<T>* r = a.rule()) return made_in(b, *r, dims);
  const auto with_elements = [&](auto number_at) {
    constexpr dtype d = real_dtype(dtype_of<T>);
    const auto bits_at = [&](extent i) { return bits_of(number_at(a.data()[i])); };
    bool same = a.size() > 0;
    for (extent i = 1; i < a.size() && same; ++i) same = bits_at(i) == bits_at(0);
    if (same) return constant_from_bits(b, d, dims, bits_at(0));
    sequence<std::uint64_t> bits;
    for (extent i = 0; i < a.size(); ++i) bits.push_back(bits_at(i));
    return dense(b, d, dims, bits);
  };
  if constexpr (is_complex_number<T>) return complex(with_elements([](const T& z) { return z.real(); }), with_elements([](const T& z) { return z.imag(); }));
  else return with_elements([](const T& x) { return x; });
}
template <traced V, class A> constexpr auto array_constant(const V& beside, const A& a) {
  using T = std::remove_cv_t<typename A::value_type>;
  constexpr shape dims = A::type_shape();
  return var_of<dtype_of<T>, dims>(array_constant_in(*beside.b, a));
}

/// x as element type T; floating to integer truncates.
template <class T, tensor X> constexpr auto astype(const X& x) { return apply<astype_function{dtype_of<T>}>(x); }

/// The bits of x as elements of type T, which are as wide. JAX: lax.bitcast_convert_type.
template <class T, tensor X> constexpr auto bit_cast(const X& x) { return apply<bit_cast_function{dtype_of<T>}>(x); }

template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator+(const A& a, const B& b) { return apply_mixed<binary_function<&add, add_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator-(const A& a, const B& b) { return apply_mixed<binary_function<&sub, sub_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator*(const A& a, const B& b) { return apply_mixed<binary_function<&mul, mul_p>{}>(a, b); }
/// True division: integers become floating, as in Python and JAX.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator/(const A& a, const B& b) { return apply_mixed<inexact_binary_function<&div, div_p>{}>(a, b); }
/// The remainder with the sign of b, as in Python and JAX.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator%(const A& a, const B& b) { return apply_mixed<binary_function<&floor_mod, rem_p>{}>(a, b); }
template <tensor A> constexpr auto operator-(const A& a) { return apply<unary_function<&neg>{}>(a); }
template <tensor A> constexpr A operator+(const A& a) { return a; }

template <class A, class B> requires compared_pair<A, B>
constexpr auto operator==(const A& a, const B& b) { return apply_mixed<binary_function<&eq, eq_p>{}>(a, b); }
template <class A, class B> requires compared_pair<A, B>
constexpr auto operator!=(const A& a, const B& b) { return apply_mixed<binary_function<&ne, ne_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator<(const A& a, const B& b) { return apply_mixed<binary_function<&lt, lt_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator<=(const A& a, const B& b) { return apply_mixed<binary_function<&le, le_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator>(const A& a, const B& b) { return apply_mixed<binary_function<&gt, gt_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator>=(const A& a, const B& b) { return apply_mixed<binary_function<&ge, ge_p>{}>(a, b); }

template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator&(const A& a, const B& b) { return apply_mixed<binary_function<&logical_and, and_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator|(const A& a, const B& b) { return apply_mixed<binary_function<&logical_or, or_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator^(const A& a, const B& b) { return apply_mixed<binary_function<&logical_xor, xor_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator<<(const A& a, const B& b) { return apply_mixed<binary_function<&shift_left, shift_left_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator>>(const A& a, const B& b) { return apply_mixed<binary_function<&shift_right, shift_right_p>{}>(a, b); }
template <tensor A> constexpr auto operator~(const A& a) { return apply<unary_function<&logical_not>{}>(a); }
template <tensor A> constexpr auto operator!(const A& a) { return apply<unary_function<&logical_not>{}>(astype<bool>(a)); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator&&(const A& a, const B& b) { return apply_mixed<truth_function<&logical_and>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto operator||(const A& a, const B& b) { return apply_mixed<truth_function<&logical_or>{}>(a, b); }

template <tensor A, class B> constexpr A& operator+=(A& a, const B& b) { return a = a + b; }
template <tensor A, class B> constexpr A& operator-=(A& a, const B& b) { return a = a - b; }
template <tensor A, class B> constexpr A& operator*=(A& a, const B& b) { return a = a * b; }
template <tensor A, class B> constexpr A& operator/=(A& a, const B& b) { return a = a / b; }

// Floating-point functions; integers and bool are converted first.
/// e to the power x
template <tensor A> constexpr auto exp(const A& x) { return apply<inexact_unary_function<&exp>{}>(x); }
/// 2 to the power x
template <tensor A> constexpr auto exp2(const A& x) { return apply<inexact_unary_function<&exp2>{}>(x); }
/// 10 to the power x
template <tensor A> constexpr auto exp10(const A& x) { return apply<inexact_unary_function<&exp10>{}>(x); }
/// exp(x) - 1, accurate near 0
template <tensor A> constexpr auto expm1(const A& x) { return apply<inexact_unary_function<&expm1>{}>(x); }
/// the natural logarithm
template <tensor A> constexpr auto log(const A& x) { return apply<inexact_unary_function<&log>{}>(x); }
/// the logarithm to base 2
template <tensor A> constexpr auto log2(const A& x) { return apply<inexact_unary_function<&log2>{}>(x); }
/// the logarithm to base 10
template <tensor A> constexpr auto log10(const A& x) { return apply<inexact_unary_function<&log10>{}>(x); }
/// log(1 + x), accurate near 0
template <tensor A> constexpr auto log1p(const A& x) { return apply<inexact_unary_function<&log1p>{}>(x); }
/// sine of radians
template <tensor A> constexpr auto sin(const A& x) { return apply<inexact_unary_function<&sin>{}>(x); }
/// cosine of radians
template <tensor A> constexpr auto cos(const A& x) { return apply<inexact_unary_function<&cos>{}>(x); }
/// tangent of radians
template <tensor A> constexpr auto tan(const A& x) { return apply<inexact_unary_function<&tan>{}>(x); }
template <tensor A> constexpr auto asin(const A& x) { return apply<inexact_unary_function<&asin>{}>(x); }
template <tensor A> constexpr auto acos(const A& x) { return apply<inexact_unary_function<&acos>{}>(x); }
template <tensor A> constexpr auto atan(const A& x) { return apply<inexact_unary_function<&atan>{}>(x); }
template <tensor A> constexpr auto sinh(const A& x) { return apply<inexact_unary_function<&sinh>{}>(x); }
template <tensor A> constexpr auto cosh(const A& x) { return apply<inexact_unary_function<&cosh>{}>(x); }
template <tensor A> constexpr auto tanh(const A& x) { return apply<inexact_unary_function<&tanh>{}>(x); }
template <tensor A> constexpr auto asinh(const A& x) { return apply<inexact_unary_function<&asinh>{}>(x); }
template <tensor A> constexpr auto acosh(const A& x) { return apply<inexact_unary_function<&acosh>{}>(x); }
template <tensor A> constexpr auto atanh(const A& x) { return apply<inexact_unary_function<&atanh>{}>(x); }
/// 1 / (1 + exp(-x)), the sigmoid
template <tensor A> constexpr auto logistic(const A& x) { return apply<inexact_unary_function<&logistic>{}>(x); }
/// the error function
template <tensor A> constexpr auto erf(const A& x) { return apply<inexact_unary_function<&erf>{}>(x); }
/// 1 - erf(x)
template <tensor A> constexpr auto erfc(const A& x) { return apply<inexact_unary_function<&erfc>{}>(x); }
/// the inverse of erf
template <tensor A> constexpr auto erf_inv(const A& x) { return apply<inexact_unary_function<&erf_inv>{}>(x); }
/// log |gamma(x)|
template <tensor A> constexpr auto lgamma(const A& x) { return apply<inexact_unary_function<&lgamma>{}>(x); }
/// the derivative of lgamma
template <tensor A> constexpr auto digamma(const A& x) { return apply<inexact_unary_function<&digamma>{}>(x); }
/// the derivative of digamma, jax.scipy.special.polygamma(1, x); infinite at 0 and the negative integers
template <tensor A> constexpr auto trigamma(const A& x) { return apply<inexact_unary_function<&trigamma>{}>(x); }
/// the square root; its derivative at 0 is infinite
template <tensor A> constexpr auto sqrt(const A& x) { return apply<inexact_unary_function<&sqrt>{}>(x); }
/// 1 / sqrt(x)
template <tensor A> constexpr auto rsqrt(const A& x) { return apply<inexact_unary_function<&rsqrt>{}>(x); }
/// the cube root
template <tensor A> constexpr auto cbrt(const A& x) { return apply<inexact_unary_function<&cbrt>{}>(x); }
/// 1 / x
template <tensor A> constexpr auto reciprocal(const A& x) { return apply<inexact_unary_function<&reciprocal>{}>(x); }

/// |x|, of complex numbers real; the derivative at 0 is 1, of complex numbers 0
template <tensor A> constexpr auto abs(const A& x) { return apply<unary_function<&abs>{}>(x); }
/// The real part; real numbers are their own.
template <tensor A> constexpr auto real(const A& z) { return apply<unary_function<&real>{}>(z); }
/// The imaginary part; that of real numbers is 0.
template <tensor A> constexpr auto imag(const A& z) { return apply<unary_function<&imag>{}>(z); }
/// The complex conjugate; real numbers are their own.
template <tensor A> constexpr auto conj(const A& z) { return apply<unary_function<&conj>{}>(z); }
/// The angle of z in radians, in [-pi, pi]. JAX: jnp.angle.
template <tensor A> constexpr auto angle(const A& z) { return apply<inexact_unary_function<&angle>{}>(z); }
/// re + i im of real arrays, complex64, or complex128 if one is double; shapes broadcast. JAX: lax.complex.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto complex(const A& re, const B& im) { return apply_mixed<inexact_binary_function<&complex, complex_p>{}>(re, im); }

/// -1, 0 or 1; of complex numbers x / |x|, or 0
template <tensor A> constexpr auto sign(const A& x) { return apply<unary_function<&sign_of>{}>(x); }
template <tensor A> constexpr auto floor(const A& x) { return apply<unary_function<&floor>{}>(x); }
template <tensor A> constexpr auto ceil(const A& x) { return apply<unary_function<&ceil>{}>(x); }
template <tensor A> constexpr auto trunc(const A& x) { return apply<unary_function<&trunc>{}>(x); }
/// the nearest integer, ties to even
template <tensor A> constexpr auto round(const A& x) { return apply<unary_function<&round>{}>(x); }
/// x * x
template <tensor A> constexpr auto square(const A& x) { return apply<unary_function<&square>{}>(x); }
template <tensor A> constexpr auto logical_not(const A& x) { return !x; }
/// Whether x is negative, -0 included.
template <tensor A> constexpr auto signbit(const A& x) { return apply<inexact_unary_function<&signbit>{}>(x); }
template <tensor A> constexpr auto is_nan(const A& x) { return apply<inexact_unary_function<&is_nan>{}>(x); }
template <tensor A> constexpr auto is_finite(const A& x) { return apply<inexact_unary_function<&are_finite>{}>(x); }

/// x as a constant of differentiation.
template <tensor A> constexpr A stop_gradient(const A& x) { return A(stop_gradient(value(x))); }

/// The larger of a and b; NaN if either is. The derivative splits evenly at ties.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto maximum(const A& a, const B& b) { return apply_mixed<binary_function<&max, max_p>{}>(a, b); }
/// The smaller of a and b; NaN if either is. The derivative splits evenly at ties.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto minimum(const A& a, const B& b) { return apply_mixed<binary_function<&min, min_p>{}>(a, b); }
/// The exact quotient rounded down, as Python's //; NaN for infinite a
template <class A, class B> requires tensor_pair<A, B>
constexpr auto floor_divide(const A& a, const B& b) { return apply_mixed<binary_function<&floor_divide, div_p>{}>(a, b); }
/// The remainder with the sign of b
template <class A, class B> requires tensor_pair<A, B>
constexpr auto remainder(const A& a, const B& b) { return apply_mixed<binary_function<&floor_mod, rem_p>{}>(a, b); }
/// The remainder with the sign of a, as std::fmod
template <class A, class B> requires tensor_pair<A, B>
constexpr auto fmod(const A& a, const B& b) { return apply_mixed<binary_function<&rem, rem_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto logical_and(const A& a, const B& b) { return apply_mixed<binary_function<&logical_and, and_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto logical_or(const A& a, const B& b) { return apply_mixed<binary_function<&logical_or, or_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto logical_xor(const A& a, const B& b) { return apply_mixed<binary_function<&logical_xor, xor_p>{}>(a, b); }
/// |x| with the sign of y, also of a zero.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto copysign(const A& x, const B& y) { return apply_mixed<inexact_binary_function<&copysign, copysign_p>{}>(x, y); }
/// The angle of the point (x, y) in radians
template <class A, class B> requires tensor_pair<A, B>
constexpr auto atan2(const A& a, const B& b) { return apply_mixed<inexact_binary_function<&atan2, atan2_p>{}>(a, b); }
/// log(exp(a) + exp(b)), without overflow
template <class A, class B> requires tensor_pair<A, B>
constexpr auto logaddexp(const A& a, const B& b) { return apply_mixed<inexact_binary_function<&logaddexp, add_p>{}>(a, b); }
/// sqrt(a * a + b * b), without overflow; the derivatives at the origin are 1/2, as those of max(|a|, |b|)
template <class A, class B> requires tensor_pair<A, B>
constexpr auto hypot(const A& a, const B& b) { return apply_mixed<inexact_binary_function<&hypot, hypot_p>{}>(a, b); }

/// x to the power y. Where y is a C++ integer the derivative is that of repeated multiplication, finite at 0.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto pow(const A& x, const B& y) {
  if constexpr (traced<A> && std::is_integral_v<B>) return A(integer_pow(value(x), y));
  else return apply_mixed<inexact_binary_function<static_cast<value (*)(value, value)>(&pow), pow_p>{}>(x, y);
}

struct where_function {
  constexpr value operator()(value p, value a, value b) const {
    if (p.type() != dtype::boolean) p = ne(p, zeros_like(p));
    match("where", a, b);
    if (a.b->failed()) return a;
    adopt_pair(p, a), adopt_pair(p, b), adopt_pair(a, b);
    const shape dims = broadcast_shape("where", p, a);
    if (a.b->failed()) return a;
    return select(broadcast_to(p, dims), broadcast_to(a, dims), broadcast_to(b, dims));
  }
};
/// a where p, else b. Both are evaluated, and both receive a cotangent (zero where not chosen).
template <class P, class A, class B> requires tensor<P> || tensor<A> || tensor<B>
constexpr auto where(const P& p, const A& a, const B& b) {
  if constexpr (!traced<P> && !traced<A> && !traced<B>) {
    return defer_call<true>([](const auto& x, const auto& y, const auto& q) { return where(q, x, y); }, a, b, p);
  } else if constexpr (const auto& beside = first_traced(p, a, b); !traced<A> && !traced<B>) {
    constexpr dtype d = promote(adopted_dtype<A>(dtype::int32), adopted_dtype<B>(dtype::int32));
    const auto zero = var_of<d, shape{}>(constant(*beside.b, d, {}, 0));
    return apply<where_function{}>(as_var(beside, p), literal(zero, a), literal(zero, b));
  } else if constexpr (traced<A>) {
    return apply<where_function{}>(as_var(beside, p), a, as_var(a, b));
  } else {
    return apply<where_function{}>(as_var(beside, p), as_var(b, a), b);
  }
}

struct clip_function {
  constexpr value operator()(value x, value lo, value hi) const {
    return binary_function<&min, min_p>{}(binary_function<&max, max_p>{}(x, lo), hi);
  }
};
/// minimum(maximum(x, lo), hi): at a bound half the derivative passes, as in jax.numpy.clip.
template <tensor X, class L, class H> constexpr auto clip(const X& x, const L& lo, const H& hi) {
  if constexpr (!traced<X>) return defer_call<true>([](const auto&... v) { return clip(v...); }, x, lo, hi);
  else return apply<clip_function{}>(x, as_var(x, lo), as_var(x, hi));
}
struct clamp_function {
  constexpr value operator()(value lo, value x, value hi) const {
    return clamp(broadcast_to(convert(lo, x.type()), x.dims()), x, broadcast_to(convert(hi, x.type()), x.dims()));
  }
};
/// x limited to [lo, hi], with derivative 0 at the bounds, as in jax.lax.clamp.
template <class L, tensor X, class H> constexpr auto clamp(const L& lo, const X& x, const H& hi) {
  if constexpr (!traced<X>) return defer_call<true>([](const auto&... v) { return clamp(v...); }, lo, x, hi);
  else return apply<clamp_function{}>(as_var(x, lo), x, as_var(x, hi));
}

template <class... Tags> constexpr reduction_axes axes_from_tags() {
  reduction_axes r;
  [[maybe_unused]] const auto read = [&]<class Tag>(Tag) {
    if constexpr (std::is_same_v<Tag, keepdims_tag>) r.keepdims = true;
    else if constexpr (requires { Tag::list; }) r.all = false, r.axes = Tag::list;
    else static_assert(std::is_same_v<Tag, keepdims_tag>, "a reduction's axes are types: say ct::axis<0> or ct::axis<0, 1>, and ct::keepdims if they stay; not a number");
  };
  (read(Tags{}), ...);
  return r;
}
// Reductions over all axes, or those of `axis<...>`; with `keepdims` the reduced axes stay with extent 1.
template <tensor X> constexpr auto ravel(const X& x) { return apply<ravel_function{}>(x); }

template <tensor X, class... Tags> constexpr auto sum(const X& x, Tags...) {
  return apply<reduction_function<&reduce_sum, sum_name>{axes_from_tags<Tags...>()}>(x);
}
template <tensor X, class... Tags> constexpr auto prod(const X& x, Tags...) {
  return apply<reduction_function<&reduce_prod, prod_name>{axes_from_tags<Tags...>()}>(x);
}
template <tensor X, class... Tags> constexpr auto max(const X& x, Tags...) {
  return apply<reduction_function<&reduce_max, max_name>{axes_from_tags<Tags...>()}>(x);
}
template <tensor X, class... Tags> constexpr auto min(const X& x, Tags...) {
  return apply<reduction_function<&reduce_min, min_name>{axes_from_tags<Tags...>()}>(x);
}
template <tensor X, class... Tags> constexpr auto any(const X& x, Tags...) {
  return apply<reduction_function<&reduce_or, any_name>{axes_from_tags<Tags...>()}>(x);
}
template <tensor X, class... Tags> constexpr auto all(const X& x, Tags...) {
  return apply<reduction_function<&reduce_and, all_name>{axes_from_tags<Tags...>()}>(x);
}
template <tensor X, class... Tags> constexpr auto mean(const X& x, Tags...) {
  return apply<mean_function{axes_from_tags<Tags...>()}>(x);
}
template <extent N> struct ddof_tag {
  static constexpr extent removed = N;
};
/// Of a variance: the sum of squares is divided by the number of elements less N.
template <extent N> inline constexpr ddof_tag<N> ddof{};
template <bool Root, class... Tags> constexpr variance_function variance_from_tags() {
  variance_function f{{}, Root};
  [[maybe_unused]] const auto without = []<class Tag>(std::type_identity<Tag>) {
    if constexpr (requires { Tag::removed; }) return std::tuple<>();
    else return std::tuple<Tag>();
  };
  ([&] {
    if constexpr (requires { Tags::removed; }) f.ddof = Tags::removed;
  }(), ...);
  f.axes = std::apply([]<class... Axes>(Axes...) { return axes_from_tags<Axes...>(); }, std::tuple_cat(without(std::type_identity<Tags>())...));
  return f;
}
/// The mean of squared deviations from the mean; also takes ct::ddof<N>.
template <tensor X, class... Tags> constexpr auto variance(const X& x, Tags...) { return apply<variance_from_tags<false, Tags...>()>(x); }
template <tensor X, class... Tags> constexpr auto logsumexp(const X& x, Tags...) {
  return apply<logsumexp_function{axes_from_tags<Tags...>()}>(x);
}
/// The root of the variance.
template <tensor X, class... Tags> constexpr auto std_(const X& x, Tags...) { return apply<variance_from_tags<true, Tags...>()>(x); }

template <bool Largest, class... Tags> constexpr arg_function arg_from_tags() {
  constexpr reduction_axes a = axes_from_tags<Tags...>();
  static_assert(a.all || a.axes.rank == 1, "argmax, argmin: name one axis, or none for the whole array");
  return {Largest, a.all, a.keepdims, a.all ? 0 : int(a.axes[0])};
}
/// The index (int32) of the first largest element, of the whole array or along an axis. NaN counts as largest.
template <tensor X, class... Tags> constexpr auto argmax(const X& x, Tags...) { return apply<arg_from_tags<true, Tags...>()>(x); }
/// The index (int32) of the first smallest element. NaN counts as smallest.
template <tensor X, class... Tags> constexpr auto argmin(const X& x, Tags...) { return apply<arg_from_tags<false, Tags...>()>(x); }
// Running results of the same shape, along an axis or of the flattened array; bool counts as int32.
/// Running sums. Long ones (128 elements and more) are not added one by one: the rounding error is that of some hundred additions. JAX: jnp.cumsum,
/// lax.cumsum.
template <tensor X, extent A> constexpr auto cumsum(const X& x, axis_tag<A>) { return apply<cumulative_function<&cumsum, cumsum_p>{int(A)}>(x); }
template <tensor X> constexpr auto cumsum(const X& x) { return cumsum(ravel(x), axis<0>); }
/// Running products; the derivative is exact at zeros. JAX: jnp.cumprod, lax.cumprod.
template <tensor X, extent A> constexpr auto cumprod(const X& x, axis_tag<A>) { return apply<cumulative_function<&cumprod, cumprod_p>{int(A)}>(x); }
template <tensor X> constexpr auto cumprod(const X& x) { return cumprod(ravel(x), axis<0>); }
/// Running maxima, NaN from the first NaN on. The cotangent goes to the element that is the running maximum; an element
/// equal to the maximum before it shares evenly with that, as in `maximum`. JAX: lax.cummax.
template <tensor X, extent A> constexpr auto cummax(const X& x, axis_tag<A>) { return apply<cumulative_function<&cummax, cummax_p>{int(A)}>(x); }
template <tensor X> constexpr auto cummax(const X& x) { return cummax(ravel(x), axis<0>); }
/// Running minima; NaN and ties as in cummax. JAX: lax.cummin.
template <tensor X, extent A> constexpr auto cummin(const X& x, axis_tag<A>) { return apply<cumulative_function<&cummin, cummin_p>{int(A)}>(x); }
template <tensor X> constexpr auto cummin(const X& x) { return cummin(ravel(x), axis<0>); }

/// Asks sort and argsort for the greatest first.
struct descending_tag {};
inline constexpr descending_tag descending{};
/// The elements along an axis in ascending order; NaN last, -0 and 0 equal. Stable. The derivative follows the elements. JAX: jnp.sort.
template <extent Axis = -1, tensor X> constexpr auto sort(const X& x) { return apply<sorted_function{Axis}>(x); }
template <extent Axis = -1, tensor X> constexpr auto sort(const X& x, descending_tag) { return apply<sorted_function{Axis, -1, true}>(x); }
/// The indices (int32) that sort: those of equal elements ascend, in descending order as well. JAX: jnp.argsort.
template <extent Axis = -1, tensor X> constexpr auto argsort(const X& x) { return apply<sorted_function{Axis, -1, false, true}>(x); }
template <extent Axis = -1, tensor X> constexpr auto argsort(const X& x, descending_tag) { return apply<sorted_function{Axis, -1, true, true}>(x); }
/// The K greatest elements along the last axis, the greatest first, and their indices (int32). NaN counts as greatest; of equal
/// elements the first come first. The derivative follows the elements. JAX: lax.top_k.
template <extent K, tensor X> constexpr auto top_k(const X& x) {
  return std::tuple(apply<sorted_function{-1, K, true}>(x), apply<sorted_function{-1, K, true, true}>(x));
}

/// The elements under another shape; one extent may be `dyn`, which is then computed.
template <extent... E, tensor X> constexpr auto reshape(const X& x) { return apply<reshape_function{{E...}}>(x); }
/// The elements (i, j) of matrices [..., m, n] with j <= i + Diagonal, and zeros: numpy.tril. A product of the result skips its zeros.
template <int Diagonal = 0, tensor X> constexpr auto tril(const X& x) { return apply<triangle_function{true, Diagonal}>(x); }
/// Those with j >= i + Diagonal: numpy.triu.
template <int Diagonal = 0, tensor X> constexpr auto triu(const X& x) { return apply<triangle_function{false, Diagonal}>(x); }
/// Axes reversed, or in the given order.
template <extent... Axes, tensor X> constexpr auto transpose(const X& x) {
  return apply<transpose_function{{Axes...}, sizeof...(Axes) == 0}>(x);
}
template <extent Axis, tensor X> constexpr auto expand_dims(const X& x) { return apply<expand_dims_function{int(Axis)}>(x); }
/// Without the named axes of extent 1, or without all of them.
template <extent... Axes, tensor X> constexpr auto squeeze(const X& x) { return apply<squeeze_function{{Axes...}}>(x); }
template <extent... E, tensor X> constexpr auto broadcast_to(const X& x) { return apply<broadcast_to_function{{E...}}>(x); }
template <extent Axis, class... X> constexpr auto concatenate(const X&... x) { return apply_mixed<concatenate_function{int(Axis)}>(x...); }
template <extent Axis, class... X> constexpr auto stack(const X&... x) { return apply_mixed<concatenate_function{int(Axis), true}>(x...); }
/// The same of the elements of a std::array, as split returns.
template <extent Axis, class X, std::size_t N> constexpr auto concatenate(const std::array<X, N>& parts) {
  return std::apply([](const auto&... x) { return concatenate<Axis>(x...); }, parts);
}
template <extent Axis, class X, std::size_t N> constexpr auto stack(const std::array<X, N>& parts) {
  return std::apply([](const auto&... x) { return stack<Axis>(x...); }, parts);
}
template <extent... Axes, tensor X> constexpr auto flip(const X& x) { return apply<flip_function{{Axes...}, sizeof...(Axes) == 0}>(x); }
/// Elements shifted along an axis, those beyond the end coming back at the start. The shift is a C++ integer or an integer
/// scalar var, of either sign and any size. JAX: jnp.roll(x, shift, axis).
template <extent Axis, tensor X, class S> constexpr auto roll(const X& x, const S& shift) {
  if constexpr (!traced<X>) {
    return defer_call<false>([](const auto&... v) { return roll<Axis>(v...); }, x, shift);
  } else if constexpr (traced<S>) {
    return apply<roll_function{int(Axis)}>(x, shift);
  } else {
    static_assert(std::is_integral_v<S>, "roll: the shift must be an integer");
    return apply<roll_function{int(Axis)}>(x, var<std::int64_t>(constant_from_bits(*x.b, dtype::int64, {}, std::uint64_t(std::int64_t(shift)))));
  }
}
template <extent Axis, extent Shift, tensor X> constexpr auto roll(const X& x) { return roll<Axis>(x, Shift); }
template <extent... Times, tensor X> constexpr auto tile(const X& x) { return apply<tile_function{{Times...}}>(x); }
template <extent Times, extent Axis, tensor X> constexpr auto repeat(const X& x) { return apply<repeat_function{Times, int(Axis)}>(x); }
/// x with `value` before (low) and after (high) each axis.
template <class Low, class High, tensor X, class V = int> constexpr auto pad(const X& x, const V& value = {}) {
  if constexpr (!traced<X>) return defer_call<true>([](const auto&... v) { return pad<Low, High>(v...); }, x, value);
  else return apply<pad_function{Low::list, High::list}>(x, as_var(x, value));
}

constexpr slice_function part_of_split(int axis, extent first, extent size) {
  slice_function f{{}, axis + 1};
  f.bounds[axis] = {first, first + size, 1, false, false};
  return f;
}
template <extent Parts, extent Axis, shape Dims> struct wrong_split {
  constexpr message operator()() const {
    if (Axis < -Dims.rank || Axis >= Dims.rank) return message{} << "split: axis " << Axis << " is out of range for rank " << Dims.rank << " (" << Dims << ")";
    const extent n = Dims[int(Axis < 0 ? Axis + Dims.rank : Axis)];
    if (n < 0) return message{} << "split: axis " << Axis << " of " << Dims << " has a run-time extent";
    if (Parts < 1 || n % Parts != 0) return message{} << "split: axis " << Axis << " of " << Dims << " does not divide into " << Parts << " equal parts";
    return {};
  }
};
/// Equal parts along an axis, as a std::array.
template <extent Parts, extent Axis, tensor X> constexpr auto split(const X& x) {
  constexpr int k = int(Axis < 0 ? Axis + X::rank() : Axis);
  using wrong = wrong_split<Parts, Axis, X::type_shape()>;
  static_assert(report<wrong{}>(lines_of<wrong{}>{}));
  constexpr extent size = X::type_shape()[k] / Parts;
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{apply<part_of_split(k, extent(I) * size, size)>(x)...};
  }(std::make_index_sequence<std::size_t(Parts)>{});
}

template <class Tag> struct bounds_of;
template <> struct bounds_of<full_extent_tag> {
  static constexpr slice_bounds value{};
};
template <extent I> struct bounds_of<index_tag<I>> {
  static constexpr slice_bounds value{I, I + 1 == 0 ? open_end : I + 1, 1, false, true};
};
template <extent F, extent L, extent S> struct bounds_of<range_tag<F, L, S>> {
  static constexpr slice_bounds value{F, L, S, false, false};
};

template <class... I> inline constexpr int ellipses = (0 + ... + std::is_same_v<I, ellipsis_tag>);
/// run(i...) for an array of this rank, whole axes in place of the ellipsis.
template <int Rank, class Run, class... I> constexpr auto with_whole_axes(const Run& run, const I&... i) {
  static_assert(ellipses<I...> == 1, "index: ct::ellipsis stands for all axes that other indices leave, so there can be one of it alone");
  constexpr int left = Rank + 1 - int(sizeof...(I));
  const auto part = []<class J>(const J& j) {
    if constexpr (!std::is_same_v<J, ellipsis_tag>) return std::tie(j);
    else return []<std::size_t... K>(std::index_sequence<K...>) { return std::tie((static_cast<void>(K), full_extent)...); }(std::make_index_sequence<left < 0 ? 0 : left>());
  };
  return std::apply(run, std::tuple_cat(part(i)...));
}

/// x[range, full_extent, ...]: the leading axes cut, the others whole.
template <auto... Tags, tensor X> constexpr auto slice(const X& x) {
  if constexpr (ellipses<std::remove_cvref_t<decltype(Tags)>...> > 0) return x(Tags...);
  else return apply<slice_function{{bounds_of<std::remove_cvref_t<decltype(Tags)>>::value...}, int(sizeof...(Tags))}>(x);
}

/// An index operand: integers become int32 scalars of the trace of x.
template <traced X, class I> constexpr auto index_var(const X& x, const I& i) {
  if constexpr (number<I>) {
    static_assert(std::is_integral_v<I>, "index: an index must be an integer, not a floating-point number");
    return var<std::int32_t>(constant(*x.b, dtype::int32, {}, double(i)));
  } else {
    return as_var(x, i);
  }
}

template <class I>
concept run_time_index = number<I> || traced<I>;
/// Of the first indices that are known at run time only: how many there are, and the rank that they have together.
template <class... I> inline constexpr int leading_indices = 0;
template <class... I> inline constexpr int rank_of_leading = 0;
template <run_time_index First, class... Rest> inline constexpr int leading_indices<First, Rest...> = 1 + leading_indices<Rest...>;
template <number First, class... Rest> inline constexpr int rank_of_leading<First, Rest...> = rank_of_leading<Rest...>;
template <traced First, class... Rest>
inline constexpr int rank_of_leading<First, Rest...> = First::rank() > rank_of_leading<Rest...> ? First::rank() : rank_of_leading<Rest...>;
/// The same of those that are traced: what is known goes alone, as a slice.
template <class... I> inline constexpr int leading_traced = 0;
template <traced First, class... Rest> inline constexpr int leading_traced<First, Rest...> = 1 + leading_traced<Rest...>;
template <bool Apart> struct index_arrays_apart {
  constexpr message operator()() const {
    return !Apart ? message{} : message{} << "index: arrays of indices with another axis between them; index one axis with ct::take, or transpose the axes to be neighbours";
  }
};

/// x at the indices of its axes from Axis on. HasArray: whether one before is an array.
template <int Axis, bool HasArray = false, traced X> constexpr auto index_axes(const X& x) { return x; }
template <int Axis, bool HasArray = false, traced X, class First, class... Rest>
constexpr auto index_axes(const X& x, const First& first, const Rest&... rest) {
  constexpr int rank = rank_of_leading<First, Rest...>, scalars = traced<First> ? leading_traced<First, Rest...> : 1;
  constexpr int together = leading_indices<First, Rest...> > 0 && rank == 0 ? scalars : leading_indices<First, Rest...>;
  if constexpr (together > 0) {
    using wrong = index_arrays_apart<(HasArray && rank > 0)>;
    static_assert(report<wrong{}>(lines_of<wrong{}>{}));
    if constexpr (together == 1) return index_axes<Axis + rank, HasArray || (rank > 0)>(apply<element_function{Axis}>(x, index_var(x, first)), rest...);
    else return [&]<std::size_t... K, std::size_t... L>(std::index_sequence<K...>, std::index_sequence<L...>) {
      const auto all = std::tie(first, rest...);
      return index_axes<Axis + rank, HasArray || (rank > 0)>(apply<element_function{Axis}>(x, index_var(x, std::get<K>(all))...), std::get<std::size_t(together) + L>(all)...);
    }(std::make_index_sequence<std::size_t(together)>(), std::make_index_sequence<sizeof...(Rest) + 1 - std::size_t(together)>());
  } else {
    constexpr auto cut = [] {
      slice_function f{{}, Axis + 1};
      f.bounds[Axis] = bounds_of<First>::value;
      return f;
    }();
    return index_axes<Axis + (cut.bounds[Axis].index ? 0 : 1), HasArray>(apply<cut>(x), rest...);
  }
}

/// Sizes... elements along each axis from run-time starts (integer scalars), clamped so that they lie inside.
template <extent... Sizes, tensor X, class... I> constexpr auto dynamic_slice(const X& x, const I&... start) {
  if constexpr (!traced<X>) return defer_call<false>([](const auto&... v) { return dynamic_slice<Sizes...>(v...); }, x, start...);
  else return apply<dynamic_slice_function{{Sizes...}}>(x, index_var(x, start)...);
}
/// x with `update` written from run-time starts, clamped so that it lies inside.
template <tensor X, class U, class... I> constexpr auto dynamic_update_slice(const X& x, const U& update, const I&... start) {
  if constexpr (!traced<X>) return defer_call<false>([](const auto&... v) { return dynamic_update_slice(v...); }, x, update, start...);
  else return apply<dynamic_update_slice_function{}>(x, as_var(x, update), index_var(x, start)...);
}
/// x[..., indices, ...] along an axis. Out of range gives NaN; negative indices count from the end.
template <extent Axis, tensor X, class I> constexpr auto take(const X& x, const I& indices) {
  if constexpr (!traced<X>) return defer_call<false>([](const auto&... v) { return take<Axis>(v...); }, x, indices);
  else return apply<take_function{int(Axis)}>(x, index_var(x, indices));
}
/// For each place of `indices`, the element of x there but for its index along the axis.
template <extent Axis, tensor X, class I> constexpr auto take_along_axis(const X& x, const I& indices) {
  if constexpr (!traced<X>) return defer_call<false>([](const auto&... v) { return take_along_axis<Axis>(v...); }, x, indices);
  else return apply<take_along_axis_function{int(Axis)}>(x, index_var(x, indices));
}

/// Matrix products, as numpy.matmul.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto matmul(const A& a, const B& b) { return apply_mixed<pair_function<static_cast<value (*)(value, value)>(&matmul)>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto dot(const A& a, const B& b) { return apply_mixed<pair_function<static_cast<value (*)(value, value)>(&dot)>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto outer(const A& a, const B& b) { return apply_mixed<pair_function<static_cast<value (*)(value, value)>(&outer)>{}>(a, b); }
/// Sum of products over the last axis of both.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto inner(const A& a, const B& b) { return apply_mixed<pair_function<static_cast<value (*)(value, value)>(&inner)>{}>(a, b); }
/// Sum of products of all elements.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto vdot(const A& a, const B& b) { return apply_mixed<pair_function<static_cast<value (*)(value, value)>(&vdot)>{}>(a, b); }
/// Vector products: a and b are [..., 3], the axes in front broadcast. JAX: jnp.cross with vectors of three.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto cross(const A& a, const B& b) { return apply_mixed<pair_function<&cross>{}>(a, b); }
/// The Kronecker product: [m, n] and [p, q] give [m * p, n * q], the block (i, j) being a(i, j) * b. Likewise for vectors
/// and up to rank 4; the operand of lower rank gets axes of extent 1 in front.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto kron(const A& a, const B& b) { return apply_mixed<pair_function<&kron>{}>(a, b); }
/// Contracts the last `Axes` axes of a with the first of b.
template <int Axes = 2, class A, class B> requires tensor_pair<A, B>
constexpr auto tensordot(const A& a, const B& b) { return apply_mixed<tensordot_function{Axes}>(a, b); }
/// Sums of products by axis letters: `einsum<"bij,bjk->bik">(a, b)`, of any number of operands. A letter twice in one operand is its diagonal,
/// an ellipsis stands for axes that broadcast. Of several operands those two are multiplied first, and so on, that take the fewest operations.
template <text Subscripts, class... X> constexpr auto einsum(const X&... x) {
  static_assert(sizeof...(X) > 0, "einsum: at least one operand");
  return apply_mixed<einsum_function<Subscripts>{}>(x...);
}

/// 0, 1, ..., N - 1 as element type T, in the trace of `beside`.
template <class T, extent N, traced V> constexpr auto iota(const V& beside) {
  static_assert(N >= 0, "iota: the number of elements must be known; along a run-time axis count with ct::cumsum(ct::ones_like(x), ct::axis<0>) - 1");
  return var<T, N>(iota(*beside.b, dtype_of<T>, {N}, 0));
}
template <class T, extent N> struct iota_function {
  template <class V> constexpr var<T, N> operator()(const V& beside) const { return iota<T, N>(beside); }
};
/// 0, 1, ..., N - 1 as element type T: outside a trace an array, beside vars a constant of their trace. JAX: jax.numpy.arange.
template <class T, extent N> constexpr auto iota() {
  static_assert(N >= 0, "iota: the number of elements must be known");
  return expression<iota_function<T, N>, T>{std::tuple<T>(0)};
}
/// Arrays of one value, of x's dtype and shape.
template <traced X> constexpr X zeros_like(const X& x) { return X(zeros_like(value(x))); }
template <traced X> constexpr X ones_like(const X& x) { return X(full_like(value(x), 1)); }
template <traced X, number N> constexpr X full_like(const X& x, N n) { return X(full_like(value(x), double(n))); }

/// The promise that no place is updated twice, so that derivatives need not tell the updates of one place apart. If it
/// is broken, derivatives are wrong.
struct unique_indices_tag {};
inline constexpr unique_indices_tag unique_indices{};

template <class I>
concept index_tagged = requires { bounds_of<I>::value; };
/// An operand for each index: 0 for what is known.
template <class I> constexpr decltype(auto) index_operand(const I& i) {
  if constexpr (index_tagged<I>) return 0;
  else return (i);
}
template <class I> constexpr slice_bounds bounds_at() {
  if constexpr (index_tagged<I>) return bounds_of<I>::value;
  else return {};
}
/// Updates of x at indices of its leading axes; see at.
template <class X, class... I> struct indexed_update {
  template <class A> using kept = std::conditional_t<traced<A> || number<A>, A, const A&>;
  kept<X> x;
  std::tuple<kept<I>...> indices;

  /// x with the elements replaced; the last of several updates of one place stays.
  template <class U, class... Tag> constexpr auto set(const U& update, Tag... tag) const { return with<scatter_p>(update, each, tag...); }
  /// x with the update added; several updates of one place add up.
  template <class U, class... Tag> constexpr auto add(const U& update, Tag... tag) const { return with<scatter_add_p>(update, each, tag...); }
  /// x with the elements multiplied; several updates of one place all multiply it. The derivative by the update needs
  /// `unique_indices` (or a single place), or is a compile error; that by x does not.
  template <class U, class... Tag> constexpr auto multiply(const U& update, Tag... tag) const { return with<scatter_mul_p>(update, each, tag...); }
  /// x with the smallest of the element and its updates; NaN if one is. The derivative splits evenly at ties.
  template <class U, class... Tag> constexpr auto min(const U& update, Tag... tag) const { return with<scatter_min_p>(update, each, tag...); }
  /// x with the largest of the element and its updates; NaN if one is. The derivative splits evenly at ties.
  template <class U, class... Tag> constexpr auto max(const U& update, Tag... tag) const { return with<scatter_max_p>(update, each, tag...); }

 private:
  static constexpr std::index_sequence_for<I...> each{};
  template <class P, bool Unique> static constexpr auto function = [] {
    if constexpr (!(index_tagged<I> || ...)) return at_function<P>{Unique};
    else return at_places_function<P>{{bounds_at<I>()...}, {!index_tagged<I>...}, int(sizeof...(I)), Unique};
  }();
  template <class P, class U, std::size_t... K, class... Tag>
  constexpr auto with(const U& update, std::index_sequence<K...>, Tag...) const {
    static_assert((std::is_same_v<Tag, unique_indices_tag> && ...), "at: the only tag of an update is ct::unique_indices");
    constexpr bool unique = sizeof...(Tag) > 0;
    if constexpr (traced<X>) return apply<function<P, unique>>(x, as_var(x, update), index_var(x, index_operand(std::get<K>(indices)))...);
    else return defer_call<false>([](const auto& v, const auto& u, const auto&... i) { return apply<function<P, (sizeof...(Tag) > 0)>>(v, as_var(v, u), index_var(v, i)...); }, x, update, index_operand(std::get<K>(indices))...);
  }
};
/// x updated at indices of its leading axes, as x.at[i, j] in JAX: at(x, i, j).set(v), .add(v), .multiply(v), .min(v), .max(v). An index is an
/// integer or an array of them, which broadcast together, or what is known: index<I>, range<First, Last, Step>, full_extent, ellipsis. Negative ones
/// count from the end; updates outside are dropped. The update takes x's dtype and broadcasts to what x has at these places, x(i, j). What
/// at returns refers to x and the indices if they are concrete arrays.
template <tensor X, class... I> constexpr auto at(const X& x, const I&... i) {
  if constexpr (ellipses<I...> > 0) return with_whole_axes<X::rank()>([&](const auto&... j) { return at(x, j...); }, i...);
  else return indexed_update<X, I...>{x, {i...}};
}

/// x(i, ...) of indices of these types; those that are known are in the types.
template <class... I> struct elements_function {
  template <class X, class... V> constexpr auto operator()(const X& x, const V&... v) const { return x(index<I>(v)...); }

 private:
  template <class J, class V> static constexpr auto index(const V& v) {
    if constexpr (index_tagged<J>) return J{};
    else return v;
  }
};
/// The elements of an array or an expression at indices: as a constant of the trace of indices that are traced.
template <tensor A, class... I> constexpr auto elements_at(const A& a, const I&... i) {
  if constexpr (ellipses<I...> > 0) return with_whole_axes<A::rank()>([&](const auto&... j) { return elements_at(a, j...); }, i...);
  else if constexpr ((traced<I> || ...)) return as_var(first_traced(i...), a)(i...);
  else return defer_call<false>(elements_function<I...>{}, a, index_operand(i)...);
}

template <int Indices, shape Dims> struct too_many_indices {
  constexpr message operator()() const {
    return Indices <= Dims.rank ? message{} : message{} << "index: " << Indices << " indices for rank " << Dims.rank << " (" << Dims << ")";
  }
};
/// An index of x(...): arrays become constants of its trace.
template <traced X, class I> constexpr auto index_beside(const X& x, const I& i) {
  if constexpr (tensor<I>) return as_var(x, i);
  else return i;
}
/// One index of x(...): a tag, or a run-time integer, which takes one element of its axis.
template <class T, extent... E>
template <class... I>
constexpr auto var<T, E...>::operator()(const I&... i) const {
  using wrong = too_many_indices<int(sizeof...(I)) - ellipses<I...>, cotangent::shape{E...}>;
  static_assert(report<wrong{}>(lines_of<wrong{}>{}));
  if constexpr (ellipses<I...> > 0) return with_whole_axes<int(sizeof...(E))>([&](const auto&... j) { return (*this)(j...); }, i...);
  else if constexpr (sizeof...(I) <= sizeof...(E)) return index_axes<0>(*this, index_beside(*this, i)...);
  else return *this;
}
/// x(index<I>): with it `auto [x, y, z] = v` works for a v of three elements, or rows.
template <std::size_t I, class T, extent N, extent... Rest> constexpr auto get(const var<T, N, Rest...>& x) { return x(index<extent(I)>); }

}  // namespace cotangent

template <class T, cotangent::extent N, cotangent::extent... Rest>
  requires(N >= 0)
struct std::tuple_size<cotangent::var<T, N, Rest...>> : std::integral_constant<std::size_t, std::size_t(N)> {};
template <std::size_t I, class T, cotangent::extent N, cotangent::extent... Rest>
struct std::tuple_element<I, cotangent::var<T, N, Rest...>> {
  using type = cotangent::var<T, Rest...>;
};
