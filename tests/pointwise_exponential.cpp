/// exp exp2 exp10 expm1 log log2 log10 log1p sqrt rsqrt cbrt logistic erf erfc erf_inv lgamma digamma trigamma pow integer_pow.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

TEST_CASE("derivatives of exponentials and logarithms") {
  constexpr auto f = [](auto x) {
    return std::tuple(ct::exp(x), ct::exp2(x), ct::exp10(x), ct::expm1(x), ct::log(x), ct::log2(x), ct::log10(x), ct::log1p(x), ct::logistic(x));
  };
  check_derivatives(f, std::tuple(between<double, 3, 7>(0.3, 2.5)));
}

TEST_CASE("derivatives of roots and powers") {
  constexpr auto f = [](auto x, auto y) {
    return std::tuple(ct::sqrt(x), ct::rsqrt(x), ct::cbrt(x), ct::pow(x, y), ct::pow(x, 3), ct::pow(y, -2), ct::pow(y, 2), ct::pow(x, 0.5), ct::pow(2.0, y), ct::pow(y, 0), ct::pow(y, 1), ct::pow(y, 7));
  };
  check_derivatives(f, std::tuple(between<double, 19>(0.3, 2.5), between<double, 19>(0.4, 1.9, 100)));
}

TEST_CASE("derivatives of the error function and its relatives") {
  constexpr auto f = [](auto x) { return std::tuple(ct::erf(x), ct::erfc(x), ct::erf_inv(x)); };
  check_rules_of(f, std::tuple(between<double, 5>(-0.9, 0.9)));
  check_jit(f, 1e-12, between<double, 5>(-0.9, 0.9));
}

TEST_CASE("derivatives of lgamma: digamma, then trigamma") {
  check_rules_of<orders::second>([](auto x) { return ct::lgamma(x); }, std::tuple(between<double, 5>(0.4, 4)));
  check_rules_of<orders::first>([](auto x) { return ct::digamma(x); }, std::tuple(between<double, 7>(-2.9, -2.1)));
  constexpr auto values = [](auto x) { return std::tuple(ct::lgamma(x), ct::digamma(x), ct::trigamma(x)); };
  check_rules_of<orders::none>(values, std::tuple(between<double, 5>(0.4, 4)));
  check_jit(values, 1e-12, between<double, 5>(0.4, 4));
  constexpr auto second = [](auto x) { return ct::grad([](auto y) { return ct::grad([](auto z) { return ct::lgamma(z); })(y); })(x); };
  CHECK(double(ct::jit(second)(ct::array<double>(1.0))) == Approx(1.6449340668482264).epsilon(1e-15));  // pi^2 / 6
}

/// The largest error of f(x), from `low` to `high`, in units of the last place.
template <class T, class F, class Oracle> double worst_of(F f, Oracle oracle, T low, T high) {
  ct::array<T, 4096> x;
  for (int i = 0; i < 4096; ++i) x(i) = low + (high - low) * T(i) / 4095;
  const auto y = ct::jit(f)(x);
  double worst = 0;
  for (int i = 0; i < 4096; ++i) {
    const long double want = oracle((long double)(x(i)));
    worst = std::max(worst, double(std::abs(y(i) - want) / std::ldexp(1.0L, std::ilogb(want) + 1 - std::numeric_limits<T>::digits)));
  }
  return worst;
}

TEMPLATE_TEST_CASE("softplus and log_sigmoid are within 2 ULP", "", float, double) {
  using T = TestType;
  const auto softplus = [](long double x) { return std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x))); };
  const T lowest = std::is_same_v<T, float> ? -80 : -700;
  for (const auto& [low, high] : {std::pair(T(-3), T(3)), std::pair(lowest, T(40))}) {
    CHECK(worst_of<T>([](auto x) { return ct::nn::softplus(x); }, softplus, low, high) <= 2);
    CHECK(worst_of<T>([](auto x) { return ct::nn::log_sigmoid(x); }, [&](long double x) { return -softplus(-x); }, low, high) <= 2);
  }
}
