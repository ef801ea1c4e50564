/// Compiled twice: with -ffast-math, where the order of operations that the mathematical functions and sums spell out stays; and for the
/// oldest x86-64 processors, which do not multiply and add at once.

#include <cmath>
#include <random>
#include <cotangent/cotangent.hpp>

#include "catch.hpp"

namespace ct = cotangent;

namespace {
/// The largest error over [low, high], in units of the last place of the larger of |f| and `floor`.
template <class T, class F, class G> double largest_error(F f, G exact, T low, T high, double floor = 0) {
  constexpr int n = 4099;
  ct::array<T, n> x;
  for (int i = 0; i < n; ++i) x(i) = low + (high - low) * T(i) / T(n - 1);
  const auto y = ct::jit(f)(x);
  double largest = 0;
  for (int i = 0; i < n; ++i) {
    const long double want = exact(static_cast<long double>(x(i)));
    const double unit = std::max(std::abs(double(want)), floor) * std::numeric_limits<T>::epsilon();
    largest = std::max(largest, double(std::abs(y(i) - want)) / unit);
  }
  return largest;
}
}  // namespace

TEMPLATE_TEST_CASE("functions are as accurate with these flags", "", float, double) {
  using T = TestType;
  CHECK(largest_error<T>([](auto x) { return ct::exp(x); }, [](auto x) { return std::exp(x); }, -20, 20) < 2);
  CHECK(largest_error<T>([](auto x) { return ct::log(x); }, [](auto x) { return std::log(x); }, T(0.01), 100, 1) < 2);
  CHECK(largest_error<T>([](auto x) { return ct::sin(x); }, [](auto x) { return std::sin(x); }, -500, 500, 0.1) < 2);
  CHECK(largest_error<T>([](auto x) { return ct::cos(x); }, [](auto x) { return std::cos(x); }, -500, 500, 0.1) < 2);
  CHECK(largest_error<T>([](auto x) { return ct::tan(x); }, [](auto x) { return std::tan(x); }, T(-1.5), T(1.5)) < 4);
  CHECK(largest_error<T>([](auto x) { return ct::tanh(x); }, [](auto x) { return std::tanh(x); }, -9, 9) < 4);
  CHECK(largest_error<T>([](auto x) { return ct::expm1(x); }, [](auto x) { return std::expm1(x); }, -2, 2) < 4);
  CHECK(largest_error<T>([](auto x) { return ct::log1p(x); }, [](auto x) { return std::log1p(x); }, T(-0.5), 2) < 4);
  CHECK(largest_error<T>([](auto x) { return ct::pow(x, T(3.7)); }, [](auto x) { return std::pow(x, static_cast<long double>(T(3.7))); }, T(0.1), 30) < 4);
  CHECK(largest_error<T>([](auto x) { return ct::erf(x); }, [](auto x) { return std::erf(x); }, -4, 4) < 4);
  CHECK(largest_error<T>([](auto x) { return ct::lgamma(x); }, [](auto x) { return std::lgamma(x); }, T(0.1), 30, 1) < 4);
  CHECK(largest_error<T>([](auto x) { return ct::asinh(x); }, [](auto x) { return std::asinh(x); }, -30, 30) < 4);
}

#ifdef COTANGENT_ASKS_FOR_FMA
TEMPLATE_TEST_CASE("the instruction that multiplies and adds, and what stands for it, round once", "", float, double) {
  using T = TestType;
  if (!ct::processor_has_fma) return;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<T> between(-2, 2);
  for (int i = 0; i < 10000; ++i) {
    const T a = between(random), b = between(random), c = i % 2 ? -a * b : between(random);
    const T once = std::fma(a, b, c);
    REQUIRE(ct::fma_instruction(a, b, c) == once);
    REQUIRE(ct::fma(ct::pack<T, 1>(a), ct::pack<T, 1>(b), ct::pack<T, 1>(c))[0] == once);
    const ct::pack<T, 8> together = ct::fma(ct::pack<T, 8>(a), ct::pack<T, 8>(b), ct::pack<T, 8>(c)), negative = ct::fnma(ct::pack<T, 8>(a), ct::pack<T, 8>(b), ct::pack<T, 8>(c));
    for (int k = 0; k < 8; ++k) {
      REQUIRE(together[k] == once);
      REQUIRE(negative[k] == std::fma(-a, b, c));
    }
    if constexpr (sizeof(T) == 4) {
      typedef float four __attribute__((vector_size(16)));
      const four in_double = ct::vector_fma_in_double(four{a, a, a, a}, four{b, b, b, b}, four{c, c, c, c});
      REQUIRE(in_double[3] == once);
    }
  }
}
#endif

TEST_CASE("a sum whose terms cancel keeps what rounding lost") {
  const auto two_sum = [](auto a, auto b) {
    const auto s = a + b, t = s - a;
    return (a - (s - t)) + (b - t);
  };
  const ct::array<double, 3> big{1e16, 3e16, -5e15}, small{1, 0.25, 0.125};
  const auto lost = ct::jit(two_sum)(big, small);
  for (int i = 0; i < 3; ++i) {
    const volatile double s = big(i) + small(i);
    const volatile double t = s - big(i);
    CHECK(lost(i) == small(i) - t);
  }
}
