#pragma once
/// Reductions over windows, as jax.lax.reduce_window, and the pools of networks.

#include <cotangent/trace/convolution.hpp>
#include <cotangent/transforms/custom.hpp>

namespace cotangent {

enum class reduction { sum, prod, max, min };

template <reduction By, shape Window, convolution_options Options> struct window_reduction {
  /// The reductions of x's windows; with the tangent t of x, their tangents, where By is max or min: of an element of several that are largest the first counts.
  static constexpr value run(value x, value t = {}) {
    const int n = x.rank();
    if (Window.rank != n) return fail(x, message{} << "the window " << Window << " has another rank than " << x.dims());
    shape strides, dilation, spacing, low, high, places;
    if (!take(x, "ct::strides", Options.strides, strides) || !take(x, "ct::rhs_dilation", Options.rhs_dilation, dilation) || !take(x, "ct::lhs_dilation", Options.lhs_dilation, spacing)) return x;
    if (Options.groups != 1) return fail(x, message{} << "ct::feature_groups say nothing here");
    if (Options.padding == convolution_options::given && (Options.low.rank != n || Options.high.rank != n))
      return fail(x, message{} << "ct::padding has " << Options.low << " and " << Options.high << " for " << n << " axes");
    bool pads = false;
    for (int i = 0; i < n; ++i) {
      if (Window[i] < 1) return fail(x, message{} << "the window " << Window << " has an extent below 1");
      const placed_window w(x, i, Options, i, (Window[i] - 1) * dilation[i] + 1, strides[i], spacing[i]);
      if (!w.error.empty()) return fail(x, message{} << "along axis " << i << ' ' << w.error.view() << ": shape " << x.dims());
      low.push_back(w.low), high.push_back(w.high), places.push_back(w.places);
      pads = pads || w.low != 0 || w.high != 0 || spacing[i] != 1;
      spacing[i] -= 1;
    }
    if (pads) {
      x = pad(x, neutral(x), low, high, spacing);
      if (t) t = pad(t, constant(*t.b, t.type(), {}, 0), low, high, spacing);
    }
    // A few elements all at once; more of them axis by axis, so that what windows share is computed once.
    constexpr extent few = 16;
    if (Window.size() <= few) return all_at_once(x, t, dilation, strides, places);
    pair r{x, t};
    for (int i = n; i-- > 0;) r = along(r, i, dilation[i], strides[i], places[i]);
    return t ? r.t : r.x;
  }

 private:
  struct pair {
    value x, t;
  };
  static constexpr value fail(value x, const message& why) {
    x.b->fail(message{} << "reduce_window: " << why.view());
    return x;
  }
  static constexpr bool take(value x, std::string_view tag, const shape& given, shape& to) {
    to = given.rank == 0 ? filled(x.rank(), 1) : given;
    if (to.rank != x.rank()) return fail(x, message{} << tag << " has " << given.rank << " entries for " << x.rank() << " axes"), false;
    for (extent e : to)
      if (e < 1) return fail(x, message{} << tag << " has an entry of " << e << ", where at least 1 is needed"), false;
    return true;
  }
  /// What changes no reduction.
  static constexpr value neutral(value x) {
    if (By == reduction::sum || By == reduction::prod) return constant(*x.b, x.type(), {}, By == reduction::prod);
    constexpr bool least = By == reduction::max;
    if (!is_integer(x.type())) return constant(*x.b, x.type(), {}, least ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
    const int bits = 8 * size_of(x.type());
    const std::uint64_t largest = ~std::uint64_t(0) >> (64 - bits + !is_unsigned_integer(x.type()));
    return constant_from_bits(*x.b, x.type(), {}, !least ? largest : is_unsigned_integer(x.type()) ? 0 : ~largest);
  }
  static constexpr pair combined(const pair& a, const pair& b) {
    if (By == reduction::sum) return {a.x + b.x, {}};
    if (By == reduction::prod) return {a.x * b.x, {}};
    const value x = By == reduction::max ? maximum(a.x, b.x) : minimum(a.x, b.x);
    return {x, a.t ? select(By == reduction::max ? gt(b.x, a.x) : lt(b.x, a.x), b.t, a.t) : value{}};
  }
  static constexpr pair part(const pair& a, const shape& starts, const shape& sizes, const shape& strides) {
    return {slice(a.x, starts, sizes, strides), a.t ? slice(a.t, starts, sizes, strides) : value{}};
  }
  static constexpr value all_at_once(value x, value t, const shape& dilation, const shape& strides, const shape& places) {
    pair r;
    each_element(Window, {}, [&](const shape& k) {
      shape starts;
      for (int i = 0; i < k.rank; ++i) starts.push_back(k[i] * dilation[i]);
      const pair p = part({x, t}, starts, places, strides);
      r = r.x ? combined(r, p) : p;
    });
    return t ? r.t : r.x;
  }
  /// The windows of one axis, from those of half as many elements.
  static constexpr pair along(pair r, int axis, extent dilation, extent stride, extent places) {
    const shape none = filled(r.x.rank(), 0), ones = filled(r.x.rank(), 1);
    symbol_table& s = r.x.b->symbols;
    const auto from = [&](const pair& p, extent start, extent count, extent step) {
      shape starts = none, sizes = p.x.dims(), strides = ones;
      starts[axis] = start, sizes[axis] = count, strides[axis] = step;
      return part(p, starts, sizes, strides);
    };
    const extent taps = Window[axis], n = r.x.dims()[axis];
    constexpr extent few = 4;
    if (taps <= few) {
      pair sum = from(r, 0, places, stride);
      for (extent k = 1; k < taps; ++k) sum = combined(sum, from(r, k * dilation, places, stride));
      return sum;
    }
    pair sum;
    extent have = 0;  // elements in `sum`; those of r's windows are `width`
    for (extent width = 1;; width *= 2) {
      if (taps & width) {
        const pair p = from(r, have * dilation, places, stride);
        sum = have > 0 ? combined(sum, p) : p, have += width;
      }
      if (have == taps) return sum;
      const extent count = s.combine(symbol::difference, n, (2 * width - 1) * dilation);
      r = combined(from(r, 0, count, 1), from(r, width * dilation, count, 1));
    }
  }
};
template <reduction By, shape Window, convolution_options Options> struct window_reduction_function {
  constexpr value operator()(value x) const { return window_reduction<By, Window, Options>::run(x.type() == dtype::boolean ? convert(x, dtype::int32) : x); }
};
template <reduction By, shape Window, convolution_options Options> struct window_tangent_function {
  constexpr value operator()(value x, value t) const { return window_reduction<By, Window, Options>::run(x, t); }
};
template <reduction By, shape Window, convolution_options Options> struct window_rule {
  constexpr auto operator()(auto primals, auto tangents) const {
    const auto x = std::get<0>(primals);
    return std::tuple(apply<window_reduction_function<By, Window, Options>{}>(x), apply<window_tangent_function<By, Window, Options>{}>(x, std::get<0>(tangents)));
  }
};
template <reduction By, shape Window, convolution_options Options> struct reduce_windows {
  constexpr auto operator()(auto x) const { return apply<window_reduction_function<By, Window, Options>{}>(x); }
};

template <reduction By, shape Window, convolution_options Options, traced X> constexpr auto reduction_of_windows(const X& x) {
  constexpr window_reduction_function<By, Window, Options> reduce;
  if constexpr (signature_of<reduce, X>.valid && (By == reduction::max || By == reduction::min) && is_floating(dtype_of<typename X::value_type>))
    return custom_jvp(reduce_windows<By, Window, Options>{}, window_rule<By, Window, Options>{})(x);
  else return apply_traced<reduce>(x);  // Clang names the user's line behind an error if no more calls are between
}

/// The sum, product, largest or smallest element of each window of x, whose extents are given for all axes: ct::reduce_window<ct::reduction::max, 1, 2, 2, 1>(x).
/// Tags, in any order: ct::strides<...>, ct::same, ct::valid or ct::padding<ct::low<...>, ct::high<...>>, ct::rhs_dilation<...>, ct::lhs_dilation<...>, each of as
/// many entries as x has axes. What is padded changes no reduction. Of several largest elements the derivative takes the first, as JAX does.
/// JAX: jax.lax.reduce_window.
template <reduction By, extent... Window, traced X, class... Tags> constexpr auto reduce_window(const X& x, Tags...) {
  return reduction_of_windows<By, shape{Window...}, convolution_options_from<Tags...>()>(x);
}

namespace nn {

/// Options of the spatial axes of [n, spatial..., channels] as those of all axes.
constexpr convolution_options of_all_axes(convolution_options o) {
  for (shape* s : {&o.strides, &o.rhs_dilation, &o.lhs_dilation})
    if (s->rank > 0) *s = insert(insert(*s, s->rank, 1), 0, 1);
  for (shape* s : {&o.low, &o.high})
    if (s->rank > 0) *s = insert(insert(*s, s->rank, 0), 0, 0);
  return o;
}
/// The largest element of each window of the spatial axes of x [n, spatial..., channels]: ct::nn::max_pool<2, 2>(x, ct::strides<2, 2>). The tags are those of
/// ct::reduce_window, with an entry per spatial axis; windows are 1 apart unless told.
template <extent... Window, traced X, class... Tags> constexpr auto max_pool(const X& x, Tags...) {
  return reduction_of_windows<reduction::max, shape{1, Window..., 1}, of_all_axes(convolution_options_from<Tags...>())>(x);
}
/// The mean of each window, zeros that are padded included.
template <extent... Window, traced X, class... Tags> constexpr auto avg_pool(const X& x, Tags...) {
  return reduction_of_windows<reduction::sum, shape{1, Window..., 1}, of_all_axes(convolution_options_from<Tags...>())>(x) / double((Window * ... * 1));
}

}  // namespace nn

}  // namespace cotangent
