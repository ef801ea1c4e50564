/// A copy, chains of operations, options, a stencil, and the overhead of a call.

#include "measure.hpp"

namespace {

// Chains of operations on one array: a multiply-add and a tanh, in turn.
template <int Operations> struct chain {
  template <class X> constexpr auto operator()(X x) const {
    for (int k = 0; k < Operations; ++k) x = k % 2 == 0 ? x * 0.75f + 0.25f : ct::tanh(x);
    return x;
  }
};
template <int Operations> struct chain_gradient {
  template <class X> constexpr auto operator()(const X& x) const { return ct::grad([](auto v) { return ct::sum(chain<Operations>{}(v)); })(x); }
};

constexpr auto call_price = [](auto s, auto k, auto t, auto r, auto sigma) {
  const auto cdf = [](auto x) { return 0.5f + 0.5f * ct::erf(0.70710678f * x); };
  const auto deviation = sigma * ct::sqrt(t);
  const auto d1 = (ct::log(s / k) + (r + 0.5f * sigma * sigma) * t) / deviation;
  return s * cdf(d1) - k * ct::exp(-(r * t)) * cdf(d1 - deviation);
};
constexpr auto greeks = [](auto s, auto k, auto t, auto r, auto sigma) { return ct::value_and_grad(call_price, ct::wrt<0, 2, 3, 4>)(s, k, t, r, sigma); };

constexpr auto heat = [](auto u) {
  return ct::fori_loop<0, 100>(
      [](auto, auto v) {
        return v + 0.2f * (ct::roll<0>(v, 1) + ct::roll<0>(v, -1) + ct::roll<1>(v, 1) + ct::roll<1>(v, -1) - 4.0f * v);
      },
      u);
};

template <int Operations> void add_chain(const ct::device& d, const char* forward, const char* gradient) {
  constexpr extent n = extent(1) << 26;
  const auto x = numbers<float, n>(d);
  auto y = x;
  measure(forward, d, 8.0 * n, 0, [&] { ct::jit(chain<Operations>{}).into(y)(x); });
  measure(gradient, d, 8.0 * n, 0, [&] { ct::jit(chain_gradient<Operations>{}).into(y)(x); });
}

}  // namespace

void measure_pointwise(const ct::device& d) {
  {
    constexpr extent n = extent(1) << 28;
    const auto x = ct::device_put(ct::zeros<float, n>(), d);
    auto y = x;
    measure("copy", d, 8.0 * n, 0, [&] { d.memory().copy(y.data(), x.data(), n * sizeof(float)); });
  }
  add_chain<4>(d, "chain of 4, forward", "chain of 4, gradient");
  add_chain<20>(d, "chain of 20, forward", "chain of 20, gradient");
  add_chain<100>(d, "chain of 100, forward", "chain of 100, gradient");
  {
    constexpr extent n = 1 << 24;
    const auto s = numbers<float, n>(d, 50, 150), k = numbers<float, n>(d, 50, 150), t = numbers<float, n>(d, 0.2, 2), sigma = numbers<float, n>(d, 0.1, 0.5);
    auto out = std::tuple(s, std::tuple(s, s, s, s));
    measure("Black-Scholes with gradient", d, 9 * 4.0 * n, 0, [&] { ct::jit(ct::vmap(greeks, ct::in_axes<0, 0, 0, ct::none, 0>)).into(out)(s, k, t, 0.03f, sigma); });
  }
  {
    constexpr extent side = 4096;
    const auto u = numbers<float, side, side>(d);
    auto out = u;
    measure("2-D stencil, 100 steps", d, 100 * 8.0 * side * side, 0, [&] { ct::jit(heat).into(out)(u); });
  }
  {
    const auto x = numbers<float, 512>(d);
    auto y = x;
    measure("small program", d, 0, 0, [&] { ct::jit(chain<4>{}).into(y)(x); });
  }
}
