#pragma once
/// NumPy's functions of ordered numbers: differences, polynomials, interpolation, searches, counts, filters.

#include <utility>

#include <cotangent/numpy/elementwise.hpp>
#include <cotangent/trace/convolution.hpp>

namespace cotangent {

struct difference_function {
  int n;
  extent axis;
  constexpr value operator()(value x) const {
    const int k = checked_axis(x, "diff", axis, x.rank());
    if (x.type() == dtype::boolean) x.b->fail(message{} << "diff: numbers are needed, got " << x.type() << x.dims());
    for (int turn = 0; turn < n && !x.b->failed(); ++turn) {
      const extent count = x.dims()[k];
      if (!is_symbol(count) && count < 1) break;
      shape starts = filled(x.rank(), 0), sizes = x.dims();
      const shape ones = filled(x.rank(), 1);
      sizes[k] = x.b->symbols.combine(symbol::difference, count, 1);
      const value before = slice(x, starts, sizes, ones);
      starts[k] = 1;
      x = slice(x, starts, sizes, ones) - before;
    }
    return x;
  }
};
/// The N-th differences of neighbours along an axis (default: the last). JAX: jnp.diff.
template <int N = 1, extent Axis = -1, tensor X> constexpr auto diff(const X& x) {
  static_assert(N >= 0, "diff: the order must not be negative");
  return apply<difference_function{N, Axis}>(x);
}
struct trapezoid_function {
  constexpr value operator()(value y, value dx) const {
    y = inexact(y);
    if (y.rank() < 1) y.b->fail(message{} << "trapezoid: an axis is needed, got " << y.dims());
    if (y.b->failed()) return y;
    const int k = y.rank() - 1;
    shape starts = filled(y.rank(), 0), sizes = y.dims();
    const shape ones = filled(y.rank(), 1);
    sizes[k] = y.b->symbols.combine(symbol::difference, y.dims()[k], 1);
    const value before = slice(y, starts, sizes, ones);
    starts[k] = 1;
    const value both = reduce_sum(before + slice(y, starts, sizes, ones), {k});
    return both * broadcast_to(convert(dx, y.type()) * 0.5, both.dims());
  }
};
/// The integral along the last axis by trapezoids `dx` wide. JAX: jnp.trapezoid.
template <tensor Y, class D = double> constexpr auto trapezoid(const Y& y, const D& dx = 1) {
  return composed([](auto v, auto h) { return apply<trapezoid_function{}>(v, h); }, y, dx);
}

struct polynomial_function {
  constexpr value operator()(value p, value x) const {
    adopt_pair(p, x);
    if (p.rank() != 1 || is_symbol(p.dims()[0])) x.b->fail(message{} << "polyval: a vector of coefficients of known length is needed, got " << p.dims());
    if (x.b->failed()) return x;
    const dtype t = promote(p.type(), x.type());
    p = convert(p, t), x = convert(x, t);
    value r = zeros_like(x);
    for (extent k = 0; k < p.dims()[0]; ++k) {
      const value c = broadcast_to(reshape(slice(p, {k}, {1}, {1}), {}), x.dims());
      r = k == 0 ? c : r * x + c;
    }
    return r;
  }
};
/// p(0) x^(n-1) + ... + p(n-1) for coefficients p [n] of known length, by Horner's rule; x's shape. JAX: jnp.polyval.
template <class P, class X> requires tensor_pair<P, X>
constexpr auto polyval(const P& p, const X& x) { return apply_mixed<polynomial_function{}>(p, x); }

/// How many of the sorted numbers a are less than each of v, or, `right`, not greater. By bisection.
struct search_function {
  bool right;
  constexpr value operator()(value a, value v) const {
    adopt_pair(a, v);
    if (a.rank() != 1 || is_symbol(a.dims()[0])) a.b->fail(message{} << "searchsorted: a vector of known length is needed, got " << a.dims());
    if (a.b->failed()) return a;
    const dtype t = promote(a.type(), v.type());
    a = convert(a, t), v = convert(v, t);
    const extent n = a.dims()[0];
    value place = constant(*v.b, dtype::int32, v.dims(), 0);
    extent step = 1;
    while (step <= n / 2) step *= 2;
    for (; step > 0 && n > 0; step /= 2) {
      const value next = place + full_like(place, double(step));
      const value element = gather(a, {min(next, full_like(next, double(n))) - full_like(next, 1)}, v.dims(), all_from_first());
      // NaN is greater than every number.
      const value before = right ? logical_not(less(v, element)) : less(element, v);
      place = select(logical_and(le(next, full_like(next, double(n))), before), next, place);
    }
    return place;
  }
  static constexpr value less(value a, value b) { return is_floating(a.type()) ? logical_or(lt(a, b), logical_and(logical_not(is_nan(a)), is_nan(b))) : lt(a, b); }
  static constexpr addressing all_from_first() {
    addressing a;
    a.push({-1, 0});
    return a;
  }
};
struct right_tag {};
/// Asks searchsorted for the place behind equal elements, and digitize for bins that are closed on the right.
inline constexpr right_tag right{};
/// The places (int32) where v would be inserted into the sorted vector a: in front of equal elements, or behind. JAX: jnp.searchsorted.
template <class A, class V> requires tensor_pair<A, V>
constexpr auto searchsorted(const A& a, const V& v) { return apply_mixed<search_function{false}>(a, v); }
template <class A, class V> requires tensor_pair<A, V>
constexpr auto searchsorted(const A& a, const V& v, right_tag) { return apply_mixed<search_function{true}>(a, v); }
/// The number of the bin of each x between rising edges: 0 below all. JAX: jnp.digitize.
template <class X, class B> requires tensor_pair<X, B>
constexpr auto digitize(const X& x, const B& bins) { return searchsorted(bins, x, right); }
template <class X, class B> requires tensor_pair<X, B>
constexpr auto digitize(const X& x, const B& bins, right_tag) { return searchsorted(bins, x); }

struct interpolation_function {
  constexpr value operator()(value x, value xp, value fp) const {
    adopt_pair(x, xp), adopt_pair(x, fp), adopt_pair(xp, fp);
    if (xp.rank() != 1 || fp.rank() != 1 || !same_shape("interp", xp, fp) || is_symbol(xp.dims()[0]) || xp.dims()[0] < 1)
      x.b->fail(message{} << "interp: vectors of points of one known length are needed, got " << xp.dims() << " and " << fp.dims());
    if (x.b->failed()) return x;
    const dtype t = promote(promote(x.type(), xp.type()), fp.type());
    x = inexact(convert(x, t)), xp = inexact(convert(xp, t)), fp = inexact(convert(fp, t));
    const extent n = xp.dims()[0];
    const value place = search_function{true}(xp, x), one = full_like(place, 1), last = full_like(place, double(n - 1));
    const value right = min(max(place, min(one, last)), last), left = max(right - one, zeros_like(right));
    const auto at = [&](value a, value i) { return gather(a, {i}, x.dims(), search_function::all_from_first()); };
    const value from = at(xp, left), width = at(xp, right) - from, a = at(fp, left), b = at(fp, right);
    const value flat = eq(width, zeros_like(width)), part = (x - from) / select(flat, full_like(width, 1), width);
    const value inside = select(flat, a, a + part * (b - a));
    const auto end = [&](value v, extent i) { return broadcast_to(reshape(slice(v, {i}, {1}, {1}), {}), x.dims()); };
    const value first_x = end(xp, 0), last_x = end(xp, n - 1);
    return select(lt(x, first_x), end(fp, 0), select(gt(x, last_x), end(fp, n - 1), inside));
  }
};
/// The values at x between points (xp, fp), both [n] of known length and xp rising, linearly; those of the ends beyond. x's shape. JAX: jnp.interp.
template <class X, tensor P, tensor F> constexpr auto interp(const X& x, const P& xp, const F& fp) { return apply_mixed<interpolation_function{}>(x, xp, fp); }

/// How often each of 0, ..., Length - 1 occurs among integers; greater ones are not counted, negative ones as 0. JAX: jnp.bincount.
template <extent Length, tensor X> constexpr auto bincount(const X& x) {
  return composed([](auto v) {
    const auto i = maximum(ravel(v), 0);
    return at(0 * iota<std::int32_t, Length>(v), i).add(1);
  }, x);
}
/// The sums of their weights.
template <extent Length, tensor X, tensor W> constexpr auto bincount(const X& x, const W& weights) {
  return composed([](auto v, auto w) {
    const auto i = maximum(ravel(v), 0);
    return at(0 * iota<typename decltype(w)::value_type, Length>(w), i).add(ravel(w));
  }, x, weights);
}
/// How many (int32) elements lie in each of `Bins` equal parts of [low, high], and the Bins + 1 edges. JAX: jnp.histogram, whose counts are floating.
template <extent Bins, tensor X, class L, class H> constexpr auto histogram(const X& x, const L& low, const H& high) {
  static_assert(Bins > 0, "histogram: at least one bin is needed");
  const auto counts = composed([](auto v, auto l, auto h) {
    const auto flat = ravel(v);
    const auto place = astype<std::int32_t>(floor((flat - l) / (h - l) * double(Bins)));
    const auto bin = where(flat == h, std::int32_t(Bins - 1), place);
    const auto inside = flat >= l && flat <= h;
    return at(0 * iota<std::int32_t, Bins>(v), where(inside, minimum(bin, std::int32_t(Bins - 1)), std::int32_t(Bins))).add(1);
  }, x, low, high);
  const auto edges = composed([](auto v, auto l, auto h) {
    using T = typename decltype(l * 1.0)::value_type;
    return l + (h - l) * (iota<T, Bins + 1>(v) / double(Bins));
  }, x, low, high);
  return std::tuple(counts, edges);
}
/// The same between the smallest and the largest element.
template <extent Bins, tensor X> constexpr auto histogram(const X& x) { return histogram<Bins>(x, min(x), max(x)); }

/// Sums of products of two vectors at all offsets, by ct::conv. Kind 0: all that overlap; 1: as many as a has; 2: those that overlap whole.
template <int Kind, bool Reversed> struct vector_convolution_function {
  constexpr value operator()(value a, value v) const {
    adopt_pair(a, v);
    if (a.rank() != 1 || v.rank() != 1 || is_symbol(v.dims()[0]))
      a.b->fail(message{} << (Reversed ? "convolve" : "correlate") << ": two vectors are needed, the second of known length, got " << a.dims() << " and " << v.dims());
    if (Reversed && !a.b->failed() && !is_symbol(a.dims()[0]) && a.dims()[0] < v.dims()[0]) std::swap(a, v);
    if (!a.b->failed() && !is_symbol(a.dims()[0]) && (a.dims()[0] < v.dims()[0] || v.dims()[0] < 1))
      a.b->fail(message{} << (Reversed ? "convolve" : "correlate") << ": the first vector must not be the shorter one, got " << a.dims() << " and " << v.dims());
    if (a.b->failed()) return a;
    const dtype t = promote(a.type(), v.type());
    a = convert(a, t), v = convert(v, t);
    const extent m = v.dims()[0], before = Kind == 0 ? m - 1 : Kind == 1 ? m / 2 : 0, behind = Kind == 0 ? m - 1 : Kind == 1 ? (m - 1) / 2 : 0;
    const value kernel = Reversed ? reverse_axes(v, {0}) : conj(v);
    const value x = pad(a, constant(*a.b, t, {}, 0), {before}, {behind}, {0});
    const value r = convolution_function<"", convolution_options{}, false>{}(reshape(x, {1, x.dims()[0], 1}), reshape(kernel, {m, 1, 1}));
    return a.b->failed() ? a : reshape(r, {r.dims()[1]});
  }
};
/// The convolution of a [n] and v [m], n >= m or they are exchanged: [n + m - 1]; with ct::same [n], with ct::valid [n - m + 1]. JAX: jnp.convolve.
template <tensor A, tensor V> constexpr auto convolve(const A& a, const V& v) { return apply_mixed<vector_convolution_function<0, true>{}>(a, v); }
template <tensor A, tensor V> constexpr auto convolve(const A& a, const V& v, same_tag) { return apply_mixed<vector_convolution_function<1, true>{}>(a, v); }
template <tensor A, tensor V> constexpr auto convolve(const A& a, const V& v, valid_tag) { return apply_mixed<vector_convolution_function<2, true>{}>(a, v); }
/// Sums of a(k + i) conj(v(i)): [n - m + 1]; with ct::same [n]. JAX: jnp.correlate.
template <tensor A, tensor V> constexpr auto correlate(const A& a, const V& v) { return apply_mixed<vector_convolution_function<2, false>{}>(a, v); }
template <tensor A, tensor V> constexpr auto correlate(const A& a, const V& v, same_tag) { return apply_mixed<vector_convolution_function<1, false>{}>(a, v); }

/// The indices (int32) of the first Size elements that are not 0, filled up with `fill`. JAX: jnp.flatnonzero(x, size=Size, fill_value=fill).
template <extent Size, tensor X> constexpr auto flatnonzero(const X& x, std::int32_t fill = 0) {
  return composed([](auto v, auto f) {
    const auto present = not_equal(ravel(v), 0);
    const auto place = where(present, cumsum(astype<std::int32_t>(present)) - 1, std::int32_t(Size));
    const auto own = cumsum(ones_like(place)) - 1;
    return at(0 * iota<std::int32_t, Size>(v) + astype<std::int32_t>(f), place).set(own);
  }, x, fill);
}
/// The first Size different elements in ascending order, filled up with the smallest. JAX: jnp.unique(x, size=Size).
template <extent Size, tensor X> constexpr auto unique(const X& x) {
  return composed([](auto v) {
    const auto sorted = sort(ravel(v));
    const auto own = cumsum(ones_like(astype<std::int32_t>(sorted))) - 1;
    const auto is_new = own == 0 || sorted != roll<0>(sorted, 1);
    const auto place = where(is_new, cumsum(astype<std::int32_t>(is_new)) - 1, std::int32_t(Size));
    return at(broadcast_to<Size>(sorted(index<0>)), place).set(sorted);
  }, x);
}

}  // namespace cotangent
