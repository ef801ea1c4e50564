// Vector maths: accuracy over whole domains, special values, and the same bits at every width.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <cotangent/backends/cpu/maths.hpp>

#include "catch.hpp"

using namespace cotangent;

namespace {

/// The oracle's type: its own rounding errors are below 0.001 ULP of T.
template <class T> using wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;
template <class T> constexpr bool single = std::is_same_v<T, float>;

/// The error of `got` in units of the last place of a T near `want`.
template <class T> double ulp_error(T got, wider<T> want) {
  constexpr double wrong = 1e30;
  if (std::isnan(want)) return std::isnan(got) ? 0 : wrong;
  if (std::isinf(got) || std::isinf(T(want))) return got == T(want) || std::abs(want) > wider<T>(std::numeric_limits<T>::max()) ? 0 : wrong;
  int e;
  std::frexp(want, &e);
  const auto unit = std::ldexp(wider<T>(1), std::max(e, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits);
  return double(std::abs(wider<T>(got) - want) / unit);
}

template <class T> bool same(T a, T b) {
  return std::isnan(a) ? std::isnan(b) : std::memcmp(&a, &b, sizeof a) == 0;
}

/// Arguments: uniform in an interval, or any bit pattern.
template <class T> struct domain {
  T low = 0, high = 0;
  std::vector<T> sample(int n, unsigned seed) const {
    std::mt19937_64 random(seed);
    std::vector<T> x(n);
    for (T& v : x) {
      if (low < high) v = std::uniform_real_distribution<T>(low, high)(random);
      else v = std::bit_cast<T>(std::conditional_t<single<T>, std::uint32_t, std::uint64_t>(random()));
    }
    return x;
  }
};

constexpr int samples = 1 << 14;

template <int N, class T, class F> std::vector<T> apply(F f, const std::vector<T>& x) {
  std::vector<T> r(x.size());
  for (std::size_t i = 0; i < x.size(); i += N) {
    const int n = int(std::min<std::size_t>(N, x.size() - i));
    f(pack<T, N>::load(&x[i], n)).store(&r[i], n);
  }
  return r;
}

/// The largest error of f over the domains; fails if two widths differ in a bit.
template <class T, class F, class G> double worst(F f, G oracle, std::vector<domain<T>> domains) {
  double worst = 0;
  constexpr int N = native_lanes<T>;
  for (const auto& d : domains) {
    const std::vector<T> x = d.sample(samples, 7);
    const std::vector<T> r = apply<N>(f, x), one = apply<1>(f, x), two = apply<2>(f, x), twice = apply<2 * N>(f, x);
    T at = 0;
    double here = 0;
    bool equal = true;
    for (int i = 0; i < samples; ++i) {
      equal = equal && same(r[i], one[i]) && same(r[i], two[i]) && same(r[i], twice[i]);
      const double error = ulp_error(r[i], oracle(wider<T>(x[i])));
      if (error > here) here = error, at = x[i];
    }
    CAPTURE(d.low, d.high, at, here);
    CHECK(equal);
    worst = std::max(worst, here);
  }
  return worst;
}

#define WORST(NAME, ...)                                                                                     \
  worst<TestType>([](auto x) { return NAME(x); }, [](wider<TestType> x) { return std::NAME(x); }, {__VA_ARGS__})

/// f of one value, at the native width and alone, which must agree.
template <class T, class F> T at(F f, T x) {
  const T a = f(pack<T, native_lanes<T>>(x))[native_lanes<T> - 1], b = f(pack<T, 1>(x))[0];
  CAPTURE(x, a, b);
  CHECK(same(a, b));
  return a;
}

/// Whether f agrees with the C library at zeros, infinities, NaN and a few more, signs of zeros included.
template <class T, class F, class G> void check_special(const char* name, F f, G oracle) {
  constexpr T tiny = std::numeric_limits<T>::denorm_min(), small = std::numeric_limits<T>::min(), large = std::numeric_limits<T>::max();
  for (T x : {T(0), -T(0), T(1), T(-1), infinity_of<T>, -infinity_of<T>, nan_of<T>, tiny, -tiny, small, -small, large, -large, T(0.5), T(2), T(-2)}) {
    const T got = at(f, x);
    const auto want = oracle(wider<T>(x));
    CAPTURE(name, x, got, want);
    CHECK(ulp_error(got, want) <= 2);
    if (want == 0) CHECK(std::signbit(got) == std::signbit(want));
  }
}
#define CHECK_SPECIAL(NAME) check_special<TestType>(#NAME, [](auto x) { return NAME(x); }, [](wider<TestType> x) { return std::NAME(x); })

template <class W> W logistic_oracle(W x) { return 1 / (1 + std::exp(-x)); }
template <class W> W exp10_oracle(W x) { return std::pow(W(10), x); }

/// The recurrence to x >= 40 and the asymptotic series (Abramowitz and Stegun, 6.3.5, 6.3.18); below 0 the reflection (6.3.7).
template <class W> W digamma_oracle(W argument) {
  constexpr long double pi = 3.14159265358979323846264338327950288L;
  long double x = argument, r = 0;
  if (x < 0) {
    const long double d = x - std::nearbyint(x);
    r = std::abs(d) == 0.5L ? 0 : -pi / std::tan(pi * d);
    x = 1 - x;
  }
  long double sum = 0;
  for (; x < 40; ++x) sum += 1 / x;
  const long double y = 1 / (x * x);
  return W(r + (std::log(x) - 0.5L / x - y * (1.0L / 12 - y * (1.0L / 120 - y * (1.0L / 252 - y * (1.0L / 240 - y / 132)))) - sum));
}

/// Newton's steps from the function itself, in more digits.
template <class T> wider<T> erf_inv_oracle(wider<T> x) {
  if (std::abs(x) == 1) return x * infinity_of<wider<T>>;
  const long double a = std::abs(x), two_over_sqrt_pi = 1.12837916709551257389615890312154517L;
  long double y = erf_inv(pack<double, 1>(double(a)))[0];
  for (int i = 0; i < 3; ++i) y -= (a < 0.5L ? std::erf(y) - a : (1 - a) - std::erfc(y)) / (two_over_sqrt_pi * std::exp(-y * y));
  return wider<T>(x < 0 ? -y : y);
}

}  // namespace

TEMPLATE_TEST_CASE("exponential functions are within 2 ULP", "[maths]", float, double) {
  using T = TestType;
  const T low = single<T> ? -105 : -750, high = single<T> ? T(89) : T(710);
  CHECK(WORST(exp, {low, high}, {T(-2), T(2)}, {}) <= 1);
  CHECK(WORST(exp2, {low * T(1.45), high * T(1.45)}, {T(-2), T(2)}, {}) <= 1);
  CHECK(WORST(expm1, {T(-45), high}, {T(-2), T(2)}, {}) <= 2);
  CHECK(WORST(tanh, {T(-2), T(2)}, {T(-22), T(22)}, {}) <= 2);
  CHECK(worst<T>([](auto x) { return exp10(x); }, exp10_oracle<wider<T>>, {{low * T(0.435), high * T(0.435)}, {T(-2), T(2)}, {}}) <= 2);
  CHECK(worst<T>([](auto x) { return logistic(x); }, logistic_oracle<wider<T>>, {{low, -low}, {T(-3), T(3)}, {}}) <= 2);
}

TEMPLATE_TEST_CASE("logarithms are within 2 ULP", "[maths]", float, double) {
  using T = TestType;
  CHECK(WORST(log, {T(0.5), T(2)}, {}) <= 2);
  CHECK(WORST(log2, {T(0.5), T(2)}, {}) <= 2);
  CHECK(WORST(log10, {T(0.5), T(2)}, {}) <= 2);
  CHECK(WORST(log1p, {T(-1), T(3)}, {T(-1e-3), T(1e-3)}, {}) <= 2);
}

TEMPLATE_TEST_CASE("circular functions are within 2 ULP, huge arguments included", "[maths]", float, double) {
  using T = TestType;
  const T edge = largest_angle<T>;
  CHECK(WORST(sin, {T(-10), T(10)}, {-edge, edge}, {edge, edge * 2}, {}) <= 2);
  CHECK(WORST(cos, {T(-10), T(10)}, {-edge, edge}, {edge, edge * 2}, {}) <= 2);
  CHECK(WORST(tan, {T(-10), T(10)}, {-edge, edge}, {edge, edge * 2}, {}) <= 2);
}

TEMPLATE_TEST_CASE("sin, cos and tan are within 2 ULP next to multiples of pi / 2", "[maths]", float, double) {
  using T = TestType;
  std::vector<T> x;
  for (int k = 1; k < 9000; k += 3) {
    const T v = T(k * 1.5707963267948966192313216916398L);
    for (T y : {v, std::nextafter(v, T(0)), std::nextafter(v, infinity_of<T>)}) x.push_back(y);
  }
  double worst = 0;
  for (T v : x) {
    const pack<T, native_lanes<T>> p(v);
    worst = std::max({worst, ulp_error(sin(p)[0], std::sin(wider<T>(v))), ulp_error(cos(p)[0], std::cos(wider<T>(v))), ulp_error(tan(p)[0], std::tan(wider<T>(v)))});
  }
  CHECK(worst <= 2);
}

TEMPLATE_TEST_CASE("error functions and roots are within 2 ULP", "[maths]", float, double) {
  CHECK(WORST(erf, {TestType(-2), TestType(2)}, {TestType(-7), TestType(7)}, {}) <= 2);
  CHECK(WORST(erfc, {TestType(-1), TestType(1)}, {TestType(-6), TestType(6)}, {TestType(0.7), TestType(4)}, {TestType(4), TestType(28)}, {}) <= 2);
  CHECK(WORST(cbrt, {TestType(-10), TestType(10)}, {}) <= 1);
  CHECK(WORST(sqrt, {}) <= 0.5);
  CHECK(worst<TestType>([](auto x) { return rsqrt(x); }, [](wider<TestType> x) { return 1 / std::sqrt(x); }, {{}}) <= 1.5);
}

TEMPLATE_TEST_CASE("pow is within 1 ULP", "[maths]", float, double) {
  using T = TestType;
  constexpr int N = native_lanes<T>;
  const T steep = single<T> ? 900 : 7000;
  const struct { domain<T> x, y; } domains[] = {{{T(0.1), 10}, {-5, 5}}, {{T(0.9), T(1.1)}, {-steep, steep}}, {{}, {-20, 20}}, {{}, {}}};
  for (const auto& d : domains) {
    const std::vector<T> x = d.x.sample(samples, 1), y = d.y.sample(samples, 2);
    double worst = 0;
    bool equal = true;
    for (int i = 0; i < samples; i += N) {
      const auto r = pow(pack<T, N>::load(&x[i]), pack<T, N>::load(&y[i]));
      for (int j = 0; j < N; ++j) {
        worst = std::max(worst, ulp_error(r[j], std::pow(wider<T>(x[i + j]), wider<T>(y[i + j]))));
        equal = equal && same(r[j], pow(pack<T, 1>(x[i + j]), pack<T, 1>(y[i + j]))[0]);
      }
    }
    CHECK(worst <= 1.05);
    CHECK(equal);
  }
}

TEMPLATE_TEST_CASE("pow treats zeros, infinities, NaN and signs as C does", "[maths]", float, double) {
  using T = TestType;
  const T values[] = {0, -T(0), 1, -1, infinity_of<T>, -infinity_of<T>, nan_of<T>, 2, -2, T(0.5), T(-0.5), 3, -3, T(1e30), T(-1e30), std::numeric_limits<T>::denorm_min()};
  for (T x : values)
    for (T y : values) {
      const T got = pow(pack<T, native_lanes<T>>(x), pack<T, native_lanes<T>>(y))[0];
      const auto want = std::pow(wider<T>(x), wider<T>(y));
      CAPTURE(x, y, got, want);
      CHECK(ulp_error(got, want) <= 1.05);
      CHECK((std::isnan(want) || std::signbit(got) == std::signbit(want)));
      CHECK(same(got, pow(pack<T, 1>(x), pack<T, 1>(y))[0]));
    }
}

TEMPLATE_TEST_CASE("special values are the C library's", "[maths]", float, double) {
  CHECK_SPECIAL(exp);
  CHECK_SPECIAL(exp2);
  CHECK_SPECIAL(expm1);
  CHECK_SPECIAL(log);
  CHECK_SPECIAL(log2);
  CHECK_SPECIAL(log10);
  CHECK_SPECIAL(log1p);
  CHECK_SPECIAL(sin);
  CHECK_SPECIAL(cos);
  CHECK_SPECIAL(tan);
  CHECK_SPECIAL(tanh);
  CHECK_SPECIAL(erf);
  CHECK_SPECIAL(sqrt);
  CHECK_SPECIAL(cbrt);
  CHECK_SPECIAL(asin);
  CHECK_SPECIAL(acos);
  CHECK_SPECIAL(atan);
  CHECK_SPECIAL(sinh);
  CHECK_SPECIAL(cosh);
  CHECK_SPECIAL(asinh);
  CHECK_SPECIAL(acosh);
  CHECK_SPECIAL(atanh);
  CHECK_SPECIAL(erfc);
  CHECK_SPECIAL(lgamma);
  check_special<TestType>("exp10", [](auto x) { return exp10(x); }, exp10_oracle<wider<TestType>>);
  check_special<TestType>("logistic", [](auto x) { return logistic(x); }, logistic_oracle<wider<TestType>>);
}

TEMPLATE_TEST_CASE("exp2 and log2 of powers of two are exact", "[maths]", float, double) {
  using T = TestType;
  const int low = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits, high = std::numeric_limits<T>::max_exponent;
  for (int k = low; k < high; ++k) {
    const T power = std::ldexp(T(1), k);
    if (exp2(pack<T, 1>(T(k)))[0] != power || log2(pack<T, 1>(power))[0] != T(k)) FAIL("at 2^" << k);
  }
}

TEMPLATE_TEST_CASE("inverse and hyperbolic functions are within 2 ULP", "[maths]", float, double) {
  using T = TestType;
  const T high = single<T> ? T(89) : T(710);
  CHECK(WORST(asin, {T(-1), T(1)}, {}) <= 2);
  CHECK(WORST(acos, {T(-1), T(1)}, {}) <= 2);
  CHECK(WORST(atan, {T(-4), T(4)}, {}) <= 2);
  CHECK(WORST(sinh, {T(-3), T(3)}, {-high, high}) <= 2);
  CHECK(WORST(cosh, {T(-3), T(3)}, {-high, high}) <= 2);
  CHECK(WORST(asinh, {T(-1), T(1)}, {T(-10), T(10)}, {}) <= 2);
  CHECK(WORST(acosh, {T(1), T(2.5)}, {T(1), T(20)}, {}) <= 2);
  CHECK(WORST(atanh, {T(-1), T(1)}, {T(-1e-3), T(1e-3)}, {T(0.99), T(1)}, {}) <= 2);
}

TEMPLATE_TEST_CASE("atan2 is within 2 ULP in every quadrant, and at zeros and infinities", "[maths]", float, double) {
  using T = TestType;
  constexpr int N = native_lanes<T>;
  const auto check = [](T y, T x, T got) {
    const auto want = std::atan2(wider<T>(y), wider<T>(x));
    return ulp_error(got, want) <= 2 && (std::isnan(want) || std::signbit(got) == std::signbit(want)) && same(got, atan2(pack<T, 1>(y), pack<T, 1>(x))[0]);
  };
  for (const domain<T>& d : {domain<T>{-1, 1}, domain<T>{}, domain<T>{0, std::numeric_limits<T>::min()}}) {
    const std::vector<T> y = d.sample(samples, 3), x = d.sample(samples, 4);
    for (int i = 0; i < samples; i += N) {
      const auto r = atan2(pack<T, N>::load(&y[i]), pack<T, N>::load(&x[i]));
      for (int j = 0; j < N; ++j)
        if (!check(y[i + j], x[i + j], r[j])) FAIL("atan2(" << y[i + j] << ", " << x[i + j] << ") is not " << r[j]);
    }
  }
  const T large = std::numeric_limits<T>::max(), tiny = std::numeric_limits<T>::denorm_min();
  const T values[] = {0, -T(0), 1, -1, infinity_of<T>, -infinity_of<T>, nan_of<T>, large, -large, tiny, -tiny, 2, -3};
  for (T y : values)
    for (T x : values) {
      const T got = atan2(pack<T, N>(y), pack<T, N>(x))[N - 1];
      CAPTURE(y, x, got);
      CHECK(check(y, x, got));
    }
}

TEMPLATE_TEST_CASE("hypot is within 2 ULP, and as in C at zeros, infinities and NaN", "[maths]", float, double) {
  using T = TestType;
  constexpr int N = native_lanes<T>;
  const auto check = [](T x, T y, T got) {
    return ulp_error(got, std::hypot(wider<T>(x), wider<T>(y))) <= 2 && same(got, hypot(pack<T, 1>(x), pack<T, 1>(y))[0]);
  };
  for (const domain<T>& d : {domain<T>{-1, 1}, domain<T>{}, domain<T>{0, std::numeric_limits<T>::min()}}) {
    const std::vector<T> x = d.sample(samples, 5), y = d.sample(samples, 6);
    for (int i = 0; i < samples; i += N) {
      const auto r = hypot(pack<T, N>::load(&x[i]), pack<T, N>::load(&y[i]));
      for (int j = 0; j < N; ++j)
        if (!check(x[i + j], y[i + j], r[j])) FAIL("hypot(" << x[i + j] << ", " << y[i + j] << ") is not " << r[j]);
    }
  }
  const T large = std::numeric_limits<T>::max(), tiny = std::numeric_limits<T>::denorm_min();
  const T values[] = {0, -T(0), 1, -1, infinity_of<T>, -infinity_of<T>, nan_of<T>, large, -large, large / 2, tiny, -tiny, 1000 * tiny, 3};
  for (T x : values)
    for (T y : values) {
      const T got = hypot(pack<T, N>(x), pack<T, N>(y))[N - 1];
      CAPTURE(x, y, got);
      CHECK(check(x, y, got));
    }
}

TEMPLATE_TEST_CASE("rem is exact, also of quotients that a number does not hold", "[maths]", float, double) {
  using T = TestType;
  constexpr int N = native_lanes<T>;
  const auto check = [](T x, T y, T got) { return same(got, T(std::fmod(x, y))) && same(got, rem(pack<T, 1>(x), pack<T, 1>(y))[0]); };
  const domain<T> any{}, one{-1, 1}, near{T(-1e6), T(1e6)};
  for (const auto& [of_x, of_y] : {std::pair(any, any), std::pair(one, one), std::pair(near, one)}) {
    const std::vector<T> x = of_x.sample(samples, 8), y = of_y.sample(samples, 9);
    for (int i = 0; i < samples; i += N) {
      const auto r = rem(pack<T, N>::load(&x[i]), pack<T, N>::load(&y[i]));
      for (int j = 0; j < N; ++j)
        if (!check(x[i + j], y[i + j], r[j])) FAIL("rem(" << x[i + j] << ", " << y[i + j] << ") is not " << r[j]);
    }
  }
  const T large = std::numeric_limits<T>::max(), tiny = std::numeric_limits<T>::denorm_min();
  const T values[] = {0, -T(0), 1, -1, infinity_of<T>, -infinity_of<T>, nan_of<T>, large, -large, tiny, -tiny, 5 * tiny, 7, T(-0.1), 3, T(1e7)};
  for (T x : values)
    for (T y : values) {
      const T got = rem(pack<T, N>(x), pack<T, N>(y))[N - 1];
      CAPTURE(x, y, got);
      CHECK(check(x, y, got));
    }
}

TEST_CASE("rem of integers is exact, and x where the divisor is 0", "[maths]") {
  const std::int64_t x = 9007199254740993, y = 10;
  CHECK(rem(pack<std::int64_t, 4>(x), pack<std::int64_t, 4>(y))[1] == 3);
  CHECK(rem(pack<std::int64_t, 4>(-x), pack<std::int64_t, 4>(y))[1] == -3);
  CHECK(rem(pack<std::int64_t, 1>(x), pack<std::int64_t, 1>(std::int64_t(0)))[0] == x);
}

TEMPLATE_TEST_CASE("lgamma and digamma are within 2 ULP where x is positive", "[maths]", float, double) {
  using T = TestType;
  const T large = single<T> ? T(1e36) : T(1e300);
  CHECK(WORST(lgamma, {T(0), T(1)}, {T(0.7), T(4.2)}, {T(0), T(20)}, {T(0), T(1e-3)}, {T(100), large}) <= 2);
  const auto psi = [](auto x) { return digamma(x); };
  CHECK(worst<T>(psi, digamma_oracle<wider<T>>, {{T(1e-3), T(1)}, {T(0.7), T(1.4)}, {T(1.5), T(4.2)}, {T(1.5), T(20)}, {T(100), large}}) <= 2);
  // Next to its zero, where the oracle itself cancels.
  const pack<T, 1> zero(T(1.4616321449683622));
  CHECK(ulp_error(digamma(zero)[0], wider<T>(single<T> ? -1.20360525491066695e-8L : -9.241265521729427e-17L)) <= 2);
}

TEMPLATE_TEST_CASE("lgamma and digamma where x is negative", "[maths]", float, double) {
  using T = TestType;
  // In ULP of the largest of the terms, which cancel near zeros: 1, log |x|, the result.
  const auto worst = [](auto f, auto oracle, domain<T> d) {
    double worst = 0;
    for (T x : d.sample(samples, 10)) {
      const wider<T> want = oracle(wider<T>(x)), scale = std::max({wider<T>(1), std::log(std::abs(wider<T>(x))), std::abs(want)});
      const T got = f(pack<T, native_lanes<T>>(x))[0];
      CHECK(same(got, f(pack<T, 1>(x))[0]));
      worst = std::max(worst, double(std::abs(got - want) / (scale * std::numeric_limits<T>::epsilon())));
    }
    return worst;
  };
  for (const domain<T>& d : {domain<T>{-1, 0}, domain<T>{-6, -1}, domain<T>{-40, -6}}) {
    CAPTURE(d.low, d.high);
    CHECK(worst([](auto x) { return lgamma(x); }, [](wider<T> x) { return std::lgamma(x); }, d) <= 4);
    CHECK(worst([](auto x) { return digamma(x); }, digamma_oracle<wider<T>>, d) <= 4);
  }
}

TEMPLATE_TEST_CASE("erf_inv is within 2 ULP", "[maths]", float, double) {
  using T = TestType;
  const auto inverse = [](auto x) { return erf_inv(x); };
  CHECK(worst<T>(inverse, erf_inv_oracle<T>, {{T(-1), T(1)}, {T(-1e-3), T(1e-3)}, {T(0.9), T(1)}, {T(1) - T(1e-5), T(1)}}) <= 2);
}

TEMPLATE_TEST_CASE("special functions agree with known values", "[maths]", float, double) {
  using T = TestType;
  constexpr double bound = 4;
  const auto value = [](auto f, double x) { return f(pack<T, native_lanes<T>>(T(x)))[0]; };
  const auto psi = [](auto x) { return digamma(x); };
  const auto inverse = [](auto x) { return erf_inv(x); };
  CHECK(ulp_error(value(psi, 1), wider<T>(-0.57721566490153286060651209L)) <= 2 * bound);
  CHECK(ulp_error(value(psi, 0.5), wider<T>(-1.96351002602142347944097633L)) <= bound);
  CHECK(ulp_error(value(psi, 10), wider<T>(2.25175258906672110764743014L)) <= bound);
  CHECK(ulp_error(value(psi, -0.5), wider<T>(0.03648997397857652055902367L)) <= (single<T> ? bound : 200));
  CHECK(std::isnan(value(psi, 0)));
  CHECK(std::isnan(value(psi, -3)));
  CHECK(value(psi, infinity_of<double>) == infinity_of<T>);
  const auto tri = [](auto x) { return trigamma(x); };
  constexpr long double pi_squared = 9.869604401089358618834490999876151L;
  const std::pair<double, long double> trigammas[] = {
      {1, pi_squared / 6}, {0.5, pi_squared / 2}, {2, pi_squared / 6 - 1}, {3, pi_squared / 6 - 1.25L}, {1.5, pi_squared / 2 - 4},
      {-0.5, pi_squared / 2 + 4}, {-1.5, pi_squared / 2 + 4 + 4 / 9.0L}, {10, 0.10516633568168574612220105L},
      {12, 0.0869018728717683907503002L}, {0.25, pi_squared + 8 * 0.915965594177219015054603514932384L},
      {0.75, pi_squared - 8 * 0.915965594177219015054603514932384L}};
  for (const auto& [x, want] : trigammas) {
    CAPTURE(x);
    CHECK(ulp_error(value(tri, x), wider<T>(want)) <= (single<T> ? 1 : bound));
  }
  const auto by_series = [](wider<T> z) {
    long double sum = 0, x = z;
    for (; x < 40; ++x) sum += 1 / (x * x);
    const long double r = 1 / (x * x);
    return wider<T>(sum + 1 / x + r / 2 + r / x * (1.0L / 6 - r * (1.0L / 30 - r * (1.0L / 42 - r * (1.0L / 30 - r * 5.0L / 66)))));
  };
  CHECK(worst<T>(tri, by_series, {{T(0.01), T(1)}, {T(1), T(30)}}) <= (single<T> ? 1 : bound));
  const auto reflected = [&](wider<T> z) {
    const long double s = std::sin(std::sqrt(pi_squared) * (z - std::nearbyint(z)));
    return wider<T>(pi_squared / (s * s) - by_series(1 - z));
  };
  CHECK(worst<T>(tri, reflected, {{T(-3.75), T(-0.01)}}) <= (single<T> ? 1 : 6));
  CHECK(value(tri, 0x1p-40) == Approx(0x1p80));
  CHECK(value(tri, -0x1p-40) == Approx(0x1p80));
  CHECK(value(tri, 0x1p40) == Approx(0x1p-40));
  CHECK(value(psi, -0x1p-40) == Approx(0x1p40));
  CHECK(value(tri, 0) == infinity_of<T>);
  CHECK(value(tri, -3) == infinity_of<T>);
  CHECK(value(tri, infinity_of<double>) == 0);
  CHECK(std::isnan(value(tri, nan_of<T>)));
  CHECK(value(inverse, 1) == infinity_of<T>);
  CHECK(value(inverse, -1) == -infinity_of<T>);
  CHECK(std::isnan(value(inverse, 1.5)));
  CHECK(same(value(inverse, -0.0), -T(0)));
  CHECK(worst<T>([](auto x) { return erf(erf_inv(x)); }, [](wider<T> x) { return x; }, {{T(-0.9), T(0.9)}}) <= 4);
  CHECK(value([](auto x) { return lgamma(x); }, 3) == Approx(std::log(2.0)));
}
