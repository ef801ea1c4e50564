#pragma once
/// NumPy's other names for operations, and functions that are made of several. Dtypes promote and shapes broadcast as in operators.

#include <cotangent/trace/operations.hpp>

namespace cotangent {

/// F of vars, for arrays and numbers as one expression.
template <class F, class... X> constexpr auto composed(F f, const X&... x) {
  if constexpr ((traced<X> || ...)) {
    const auto& beside = first_traced(x...);
    return f(as_var(beside, x)...);
  } else return defer_call<true>(f, x...);
}

// ---- arrays like others ----

/// An array of x's dtype and shape, full of a number. Of traced values: trace/operations.hpp.
template <class X>
  requires(tensor<X> && !traced<X>)
constexpr auto full_like(const X& x, double v) {
  if constexpr (is_expression<X>) return full_like(x.evaluate(), v);
  else {
    using result = rebind_tree<X, array>;
    result a(uninitialized, x.shape());
    for (auto& e : a) e = typename result::value_type(v);
    return a;
  }
}
template <class X>
  requires(tensor<X> && !traced<X>)
constexpr auto zeros_like(const X& x) { return full_like(x, 0); }
template <class X>
  requires(tensor<X> && !traced<X>)
constexpr auto ones_like(const X& x) { return full_like(x, 1); }

// ---- names ----

template <tensor X> constexpr auto negative(const X& x) { return -x; }
template <tensor X> constexpr auto fabs(const X& x) { return abs(x); }
template <tensor X> constexpr auto rint(const X& x) { return round(x); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto subtract(const A& a, const B& b) { return a - b; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto multiply(const A& a, const B& b) { return a * b; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto add(const A& a, const B& b) { return a + b; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto divide(const A& a, const B& b) { return a / b; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto true_divide(const A& a, const B& b) { return a / b; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto mod(const A& a, const B& b) { return a % b; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto power(const A& a, const B& b) { return pow(a, b); }
template <tensor X> constexpr auto arcsin(const X& x) { return asin(x); }
template <tensor X> constexpr auto arccos(const X& x) { return acos(x); }
template <tensor X> constexpr auto arctan(const X& x) { return atan(x); }
template <tensor X> constexpr auto arcsinh(const X& x) { return asinh(x); }
template <tensor X> constexpr auto arccosh(const X& x) { return acosh(x); }
template <tensor X> constexpr auto arctanh(const X& x) { return atanh(x); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto arctan2(const A& a, const B& b) { return atan2(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto bitwise_and(const A& a, const B& b) { return a & b; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto bitwise_or(const A& a, const B& b) { return a | b; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto bitwise_xor(const A& a, const B& b) { return a ^ b; }
template <tensor X> constexpr auto bitwise_not(const X& x) { return ~x; }
template <tensor X> constexpr auto invert(const X& x) { return ~x; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto left_shift(const A& a, const B& b) { return a << b; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto right_shift(const A& a, const B& b) { return a >> b; }

// Comparisons element by element, also of two arrays, whose == is that of values.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto equal(const A& a, const B& b) { return apply_mixed<binary_function<&eq, eq_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto not_equal(const A& a, const B& b) { return apply_mixed<binary_function<&ne, ne_p>{}>(a, b); }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto less(const A& a, const B& b) { return a < b; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto less_equal(const A& a, const B& b) { return a <= b; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto greater(const A& a, const B& b) { return a > b; }
template <class A, class B> requires tensor_pair<A, B>
constexpr auto greater_equal(const A& a, const B& b) { return a >= b; }

/// a where c, else b: `where` under the name of lax.select.
template <class C, class A, class B> requires tensor<C> || tensor<A> || tensor<B>
constexpr auto select(const C& c, const A& a, const B& b) { return where(c, a, b); }

// ---- finite numbers ----

constexpr value are_infinite(value x) { return logical_and(logical_not(are_finite(x)), logical_not(is_nan(x))); }
template <tensor X> constexpr auto isnan(const X& x) { return is_nan(x); }
template <tensor X> constexpr auto isfinite(const X& x) { return is_finite(x); }
template <tensor X> constexpr auto isinf(const X& x) { return apply<inexact_unary_function<&are_infinite>{}>(x); }
template <tensor X> constexpr auto isposinf(const X& x) { return composed([](auto v) { return isinf(v) && v > 0; }, x); }
template <tensor X> constexpr auto isneginf(const X& x) { return composed([](auto v) { return isinf(v) && v < 0; }, x); }

struct nan_to_num_function {
  constexpr value operator()(value x, value nan, value posinf, value neginf) const {
    if (!is_floating(x.type())) return x;
    const dtype t = x.type();
    const double greatest = t == dtype::float64 ? std::numeric_limits<double>::max() : t == dtype::float16 ? 65504.0 : t == dtype::bfloat16 ? 0x1.FEp127 : double(std::numeric_limits<float>::max());
    const auto like_x = [&](value v) { return broadcast_to(convert(v, t), x.dims()); };
    const auto or_else = [&](value v, double otherwise) { return select(is_nan(like_x(v)), full_like(x, otherwise), like_x(v)); };
    const value infinite = select(lt(x, zeros_like(x)), or_else(neginf, -greatest), or_else(posinf, greatest));
    return select(is_nan(x), like_x(nan), select(are_infinite(x), infinite, x));
  }
};
/// x with numbers in place of NaN and infinities (default: 0 and the largest finite ones). JAX: jnp.nan_to_num.
template <tensor X> constexpr auto nan_to_num(const X& x, double nan = 0, double posinf = __builtin_nan(""), double neginf = __builtin_nan("")) {
  return composed([](auto v, auto n, auto p, auto m) { return apply<nan_to_num_function{}>(v, n, p, m); }, x, nan, posinf, neginf);
}

/// Whether |a - b| <= atol + rtol |b|, or both are the same infinity. JAX: jnp.isclose.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto isclose(const A& a, const B& b, double rtol = 1e-5, double atol = 1e-8) {
  return composed([](auto x, auto y, auto r, auto t) { return x == y || (isfinite(x) && isfinite(y) && abs(x - y) <= t + r * abs(y)); }, a, b, rtol, atol);
}
/// Whether all are. JAX: jnp.allclose.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto allclose(const A& a, const B& b, double rtol = 1e-5, double atol = 1e-8) { return all(isclose(a, b, rtol, atol)); }
/// Whether all elements are equal.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto array_equal(const A& a, const B& b) { return all(equal(a, b)); }

// ---- functions ----

/// The larger of a and b; of a number and NaN the number. JAX: jnp.fmax.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto fmax(const A& a, const B& b) {
  return composed([](auto x, auto y) { return where(x > y || isnan(y), x, y); }, a, b);
}
/// The smaller of a and b; of a number and NaN the number. JAX: jnp.fmin.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto fmin(const A& a, const B& b) {
  return composed([](auto x, auto y) { return where(x < y || isnan(y), x, y); }, a, b);
}
/// Degrees as radians.
template <tensor X> constexpr auto deg2rad(const X& x) { return x * 0.017453292519943295; }
template <tensor X> constexpr auto radians(const X& x) { return deg2rad(x); }
/// Radians as degrees.
template <tensor X> constexpr auto rad2deg(const X& x) { return x * 57.29577951308232; }
template <tensor X> constexpr auto degrees(const X& x) { return rad2deg(x); }
/// sin(pi x) / (pi x), 1 at 0; smooth, with every derivative at 0.
template <tensor X> constexpr auto sinc(const X& x) {
  return composed([](auto v) {
    // Near 0 the series, whose derivatives are right there.
    const auto y = 3.14159265358979323846 * v;
    const auto is_near = abs(y) < 0.05;
    const auto near = where(is_near, y, zeros_like(y)), s = near * near, far = where(is_near, ones_like(y), y);
    return where(is_near, 1 - s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72))), sin(far) / far);
  }, x);
}
/// 0 below 0, h at 0, 1 above.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto heaviside(const A& x, const B& h) {
  return composed([](auto v, auto at_zero) { return where(v < 0, 0, where(v > 0, 1, where(v == 0, at_zero, v))); }, x, h);
}

}  // namespace cotangent
