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
