/// European calls by the formula of Black and Scholes ("The pricing of options and corporate liabilities", J. Political Economy 81,
/// 1973) and five Greeks: delta, gamma, vega, theta, rho.

#include "problems.hpp"

namespace simulation {
namespace {

/// Spot, strike, time to expiry, rate and volatility.
constexpr auto call_price = [](auto s, auto k, auto t, auto r, auto sigma) {
  const auto cdf = [](auto x) { return 0.5 + 0.5 * ct::erf(0.70710678118654752440 * x); };
  const auto deviation = sigma * ct::sqrt(t);
  const auto d1 = (ct::log(s / k) + (r + 0.5 * sigma * sigma) * t) / deviation;
  return s * cdf(d1) - k * ct::exp(-(r * t)) * cdf(d1 - deviation);
};
constexpr auto greeks = [](auto s, auto k, auto t, auto r, auto sigma) {
  const auto [price, slopes] = ct::value_and_grad(call_price, ct::wrt<0, 2, 3, 4>)(s, k, t, r, sigma);
  const auto [delta, by_time, rho, vega] = slopes;
  return std::tuple(price, delta, ct::grad(ct::grad(call_price))(s, k, t, r, sigma), vega, -by_time, rho);
};
constexpr auto all_greeks = ct::vmap(greeks, ct::in_axes<0, 0, 0, ct::none, 0>);

constexpr ct::extent options = 10000000;
using axis = ct::array<float, options>;

struct black_scholes {
  axis s, k, t, sigma;
  float r = 0.03f;
  std::tuple<axis, axis, axis, axis, axis, axis> result, expected;

  black_scholes() {
    source random;
    random.uniform(50, 150, s, k);
    random.uniform(0.2, 2, t);
    random.uniform(0.1, 0.5, sigma);
  }
  void ours() { ct::jit(all_greeks).into(result)(s, k, t, r, sigma); }
  double difference() const {
    double most = 0;
    ct::tree_map([&](const auto& a, const auto& b) { return most = std::max(most, simulation::difference(a, b)); }, result, expected);
    return most;
  }

  /// Two error functions, two exponentials, a logarithm and a root for all six numbers.
  [[gnu::noinline]] void by_hand() {
    auto& [price, delta, gamma, vega, theta, rho] = expected;
    in_blocks(options, 1 << 14, [&, this](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (std::ptrdiff_t i = first; i < last; i += 16) {
        const floats spot = load<floats>(s.data() + i), strike = load<floats>(k.data() + i), time = load<floats>(t.data() + i);
        const floats v = load<floats>(sigma.data() + i), years = root(time), deviation = v * years;
        const floats d1 = (logarithm(spot / strike) + (r + 0.5f * v * v) * time) / deviation, d2 = d1 - deviation;
        const floats up = 0.5f + 0.5f * error_function(d1 * 0.70710678f), down = 0.5f + 0.5f * error_function(d2 * 0.70710678f);
        const floats density = 0.39894228f * exponential(-0.5f * d1 * d1), discounted = strike * exponential(-r * time), bond = discounted * down;
        store_once(price.data() + i, spot * up - bond);
        store_once(delta.data() + i, up);
        store_once(gamma.data() + i, density / (spot * deviation));
        store_once(vega.data() + i, spot * density * years);
        store_once(theta.data() + i, -0.5f * spot * density * v / years - r * bond);
        store_once(rho.data() + i, bond * time);
      }
    });
  }
};

}  // namespace

void add_black_scholes() { add<black_scholes>("Black-Scholes: price and 5 Greeks, 10 M options", 1e-5, {.bytes = 40.0 * options}); }

}  // namespace simulation
