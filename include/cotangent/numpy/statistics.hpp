#pragma once
/// NumPy's statistics: what ignores NaN, quantiles, averages, histograms. Tags are those of reductions: ct::axis<...>, ct::keepdims.

#include <cotangent/numpy/elementwise.hpp>

namespace cotangent {

/// The number (int32) of elements that are not 0.
template <tensor X, class... Tags> constexpr auto count_nonzero(const X& x, Tags... tags) { return sum(astype<std::int32_t>(not_equal(x, 0)), tags...); }
/// The largest element less the smallest.
template <tensor X, class... Tags> constexpr auto ptp(const X& x, Tags... tags) { return max(x, tags...) - min(x, tags...); }

// Of what is not NaN; of nothing, sums are 0, products 1, and the others NaN.
template <tensor X, class... Tags> constexpr auto nansum(const X& x, Tags...) {
  return composed([](auto v) { return sum(where(isnan(v), 0, v), Tags()...); }, x);
}
template <tensor X, class... Tags> constexpr auto nanprod(const X& x, Tags...) {
  return composed([](auto v) { return prod(where(isnan(v), 1, v), Tags()...); }, x);
}
template <tensor X, class... Tags> constexpr auto nanmax(const X& x, Tags...) {
  return composed([](auto v) {
    const auto r = max(where(isnan(v), -__builtin_inf(), v), Tags()...);
    return where(all(isnan(v), Tags()...), __builtin_nan(""), r);
  }, x);
}
template <tensor X, class... Tags> constexpr auto nanmin(const X& x, Tags...) {
  return composed([](auto v) {
    const auto r = min(where(isnan(v), __builtin_inf(), v), Tags()...);
    return where(all(isnan(v), Tags()...), __builtin_nan(""), r);
  }, x);
}
template <tensor X, class... Tags> constexpr auto nanmean(const X& x, Tags...) {
  return composed([](auto v) { return sum(where(isnan(v), 0, v), Tags()...) / sum(where(isnan(v), zeros_like(v), ones_like(v)), Tags()...); }, x);
}
template <tensor X, class... Tags> constexpr auto nanvar(const X& x, Tags...) {
  return composed([](auto v) {
    const auto present = where(isnan(v), zeros_like(v), ones_like(v));
    const auto centred = where(isnan(v), 0, v - nanmean(v, Tags()..., keepdims));
    return sum(centred * centred, Tags()...) / sum(present, Tags()...);
  }, x);
}
template <tensor X, class... Tags> constexpr auto nanstd(const X& x, Tags... tags) { return sqrt(nanvar(x, tags...)); }

/// The mean with weights that broadcast to x. JAX: jnp.average.
template <tensor X, tensor W, class... Tags> constexpr auto average(const X& x, const W& weights, Tags...) {
  return composed([](auto v, auto w) { return sum(v * w, Tags()...) / sum(w + 0 * v, Tags()...); }, x, weights);
}

/// The Q-quantile along an axis, between neighbours linearly; NaN if an element is.
template <bool Keep> struct quantile_function {
  bool all;
  extent axis;
  constexpr value operator()(value x, value q) const {
    x = inexact(x);
    adopt_pair(x, q);
    const int rank = x.rank();
    if (q.rank() != 0) x.b->fail(message{} << "quantile: one number is needed, got " << q.type() << q.dims());
    value v = all ? ravel_function{}(x) : x;
    const int k = checked_axis(v, "quantile", all ? 0 : axis, v.rank());
    if (!x.b->failed() && v.dims()[k] == 0) x.b->fail(message{} << "quantile: no element along axis " << k << " of " << v.dims());
    if (x.b->failed()) return x;
    const extent n = v.dims()[k];
    const value sorted = sorted_function{k}(v);
    const auto at = [&](value i) { return element_function{k}(sorted, i); };
    const value last = extent_like(constant(*x.b, dtype::int32, {}, 0), n);
    value below, part;  // the place in the sorted elements: its whole part and the rest
    if (is_constant(q) && !is_symbol(n)) {
      const double asked = constant_value(q) * double(n - 1), place = asked < 0 ? 0 : asked > double(n - 1) ? double(n - 1) : asked;
      const extent whole = place == place ? extent(place) : 0;
      below = constant(*x.b, x.type(), {}, double(whole)), part = constant(*x.b, x.type(), {}, place - double(whole));
    } else {
      const value greatest = convert(last, x.type()) - 1.0, place = min(max(convert(q, x.type()) * greatest, zeros_like(greatest)), greatest);
      below = floor(place), part = place - below;
    }
    const value one = constant(*x.b, dtype::int32, {}, 1), first = convert(below, dtype::int32);
    const value a = at(first), b = at(first + one), greatest = at(last - one);
    const value weight = broadcast_to(part, a.dims());
    const value r = a * (full_like(weight, 1) - weight) + b * weight;
    const value with_nan = select(is_nan(greatest), greatest, r);
    if (!Keep) return with_nan;
    shape ones = all ? filled(rank, 1) : x.dims();
    if (!all) ones[k] = 1;
    return reshape(with_nan, ones);
  }
};
template <class... Tags> constexpr auto quantile_from_tags() {
  constexpr reduction_axes a = axes_from_tags<Tags...>();
  static_assert(a.all || a.axes.rank == 1, "quantile, percentile, median: name one axis, or none for the whole array");
  return quantile_function<a.keepdims>{a.all, a.all ? 0 : a.axes[0]};
}
/// The q-quantile (a number or of rank 0; below 0 as 0, above 1 as 1) of the whole array or along an axis, between neighbours linearly; NaN if an element
/// is. The derivative goes to the elements that it lies between. JAX: jnp.quantile.
template <tensor X, class Q, class... Tags> constexpr auto quantile(const X& x, const Q& q, Tags...) {
  if constexpr (!traced<X>) return defer_call<true>([](const auto& v, const auto& u) { return quantile(v, u, Tags()...); }, x, q);
  else return apply<quantile_from_tags<Tags...>()>(x, as_var(x, q));
}
/// The same in percent.
template <tensor X, class Q, class... Tags> constexpr auto percentile(const X& x, const Q& q, Tags... tags) { return quantile(x, q / 100.0, tags...); }
/// The middle element, or the mean of the two in the middle.
template <tensor X, class... Tags> constexpr auto median(const X& x, Tags... tags) { return quantile(x, 0.5, tags...); }

/// The covariance [m, m] of m variables, each a row of x [m, n] of n observations. JAX: jnp.cov.
template <tensor X> constexpr auto cov(const X& x) {
  return composed([](auto v) {
    const auto centred = v - mean(v, axis<1>, keepdims);
    const auto observations = sum(ones_like(v)(index<0>));
    return matmul(centred, transpose(centred)) / (observations - 1);
  }, x);
}
/// The correlations [m, m] of m variables. JAX: jnp.corrcoef.
template <tensor X> constexpr auto corrcoef(const X& x) {
  return composed([](auto v) {
    const auto centred = v - mean(v, axis<1>, keepdims);
    const auto unit = centred / sqrt(sum(centred * centred, axis<1>, keepdims));
    return matmul(unit, transpose(unit));
  }, x);
}

}  // namespace cotangent
