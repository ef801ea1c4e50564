/// The price of an Asian option, a call on the mean of 64 prices of a stock, by simulation, and its derivatives by the stock's price, its
/// volatility and the interest rate, which reverse mode takes through all paths at once. Each step of each path draws its random number
/// inside of the loop from a key that is folded from the path's and the step's numbers: no array of them exists. The geometric mean, whose
/// option has a formula (Kemna and Vorst, Journal of Banking and Finance 14, 1990), checks the paths and takes most of the noise out.
///
///     ./examples/run asian_option [--seed N] [--threads N]

#include <chrono>
#include <cmath>

#include <cotangent/cotangent.hpp>

#include "support/options.hpp"

namespace ct = cotangent;

// ---- the model: everything that is traced ----

constexpr ct::extent root_of_paths = 512, paths = root_of_paths * root_of_paths;
constexpr int fixings = 64;
constexpr double strike = 100, years = 1;

/// The discounted payoffs of the arithmetic and of the geometric mean along one path. market: [3] are the spot price, the volatility and the
/// interest rate; the price follows a geometric Brownian motion.
constexpr auto payoffs = [](auto market, auto key) {
  const auto [spot, volatility, rate] = market;
  const auto variance = volatility * volatility * (years / fixings), drift = rate * (years / fixings) - 0.5 * variance, spread = ct::sqrt(variance);
  const auto step = [=](auto i, auto state) {
    const auto [log_price, sum, sum_of_logs] = state;
    const auto next = log_price + drift + spread * ct::random::normal<float>(ct::random::fold_in(key, i));
    return std::tuple(next, sum + ct::exp(next), sum_of_logs + next);
  };
  const auto zero = ct::zeros_like(spot);
  const auto [end, sum, sum_of_logs] = ct::fori_loop<0, fixings>(step, std::tuple(ct::log(spot), zero, zero));
  const auto discount = ct::exp(-rate * years);
  const auto call = [=](auto mean) { return discount * ct::maximum(mean - strike, 0); };
  return std::tuple(call(sum / fixings), call(ct::exp(sum_of_logs / fixings)));
};

/// The price of the geometric option by formula.
constexpr auto geometric_price = [](auto market) {
  const auto [spot, volatility, rate] = market;
  const double n = fixings;
  const auto growth = (rate - 0.5 * volatility * volatility) * (years * (n + 1) / (2 * n));
  const auto variance = volatility * volatility * (years * (n + 1) * (2 * n + 1) / (6 * n * n)), deviation = ct::sqrt(variance);
  constexpr double root_of_half = 0.70710678118654752440;
  const auto normal_distribution = [=](auto x) { return 0.5 * ct::erfc(-x * root_of_half); };
  const auto d = (ct::log(spot / strike) + growth) / deviation;
  return ct::exp(-rate * years) * (spot * ct::exp(growth + 0.5 * variance) * normal_distribution(d + deviation) - strike * normal_distribution(d));
};

constexpr auto all_payoffs = [](auto market, auto key) { return ct::vmap(payoffs, ct::in_axes<ct::none, 0>)(market, ct::random::split<paths>(key)); };

/// The mean payoff of the geometric option.
constexpr auto simulated_geometric_price = [](auto market, auto key) { return ct::mean(std::get<1>(all_payoffs(market, key))); };

/// The price, and the standard errors of the mean payoff and of the price: the mean of what the arithmetic option pays more than the
/// geometric one, and the price of that.
constexpr auto price = [](auto market, auto key) {
  const auto [arithmetic, geometric] = all_payoffs(market, key);
  const auto more = arithmetic - geometric;
  const auto error = [](auto x) { return ct::std_(x) / double(root_of_paths); };
  return std::tuple(geometric_price(market) + ct::mean(more), ct::stack<0>(error(arithmetic), error(more)));
};

// ---- the experiment ----

int run(unsigned seed) {
  const ct::array<float, 3> market{100, 0.2f, 0.05f};
  const auto [key, check_key] = ct::random::split(ct::random::key(seed));

  const double formula = double(ct::jit(geometric_price)(market)), simulated = double(ct::jit(simulated_geometric_price)(market, check_key));
  std::printf("geometric mean: %.4f simulated, %.4f by formula\n", simulated, formula);

  const auto gradient = ct::jit(ct::value_and_grad(price, ct::has_aux));
  const auto [result, by_market] = gradient(market, key);
  const auto [value, errors] = result;
  const auto start = std::chrono::steady_clock::now();
  constexpr int repeats = 5;
  for (int i = 0; i < repeats; ++i) gradient(market, key);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeats;
  std::printf("arithmetic mean: %.4f, standard error %.4f; %.4f without the geometric one\n", double(value), double(errors(1)), double(errors(0)));
  std::printf("%d paths of %d steps with the gradient: %.0f million steps a second\n", int(paths), fixings, double(paths) * fixings / seconds * 1e-6);

  std::printf("derivatives by     reverse  differences\n");
  double worst = std::abs(simulated - formula) / (4 * double(errors(0)));
  constexpr const char* names[] = {"spot price", "volatility", "interest rate"};
  for (int k = 0; k < 3; ++k) {
    ct::array<float, 3> above = market, below = market;
    above(k) *= 1.02f, below(k) *= 0.98f;
    const auto at = [&](const auto& m) { return double(std::get<0>(std::get<0>(gradient(m, key)))); };
    const double difference = (at(above) - at(below)) / double(above(k) - below(k)), reverse = double(by_market(k));
    std::printf("  %-14s %9.4f    %9.4f\n", names[k], reverse, difference);
    worst = std::max(worst, std::abs(reverse - difference) / (0.01 * std::abs(difference) + 1e-3));
  }
  if (!(worst < 1)) throw ct::error("the geometric option is not within 4 standard errors, or the derivatives not within 1 % of differences");
  return 0;
}

int main(int argc, char** argv) {
  return examples::guarded("asian_option", [&] {
    int threads = 0;
    unsigned seed = 1;
    examples::option_parser().number("--seed", seed, 0).number("--threads", threads, 1).parse(argc, argv);
    if (threads > 0) ct::set_num_threads(threads);
    return run(seed);
  });
}
