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

}  // namespace

TEMPLATE_TEST_CASE("exponential functions are within 2 ULP", "[maths]", float, double) {
  using T = TestType;
  const T low = single<T> ? -105 : -750, high = single<T> ? T(89) : T(710);
  CHECK(WORST(exp, {low, high}, {T(-2), T(2)}, {}) <= 1);
  CHECK(WORST(exp2, {low * T(1.45), high * T(1.45)}, {T(-2), T(2)}, {}) <= 1);
  CHECK(WORST(expm1, {T(-45), high}, {T(-2), T(2)}, {}) <= 2);
  CHECK(WORST(tanh, {T(-2), T(2)}, {T(-22), T(22)}, {}) <= 2);
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

TEMPLATE_TEST_CASE("erf and roots are within 2 ULP", "[maths]", float, double) {
  CHECK(WORST(erf, {TestType(-2), TestType(2)}, {TestType(-7), TestType(7)}, {}) <= 2);
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
}

TEMPLATE_TEST_CASE("atan2 is within 2 ULP in every quadrant, and at zeros and infinities", "[maths]", float, double) {
  using T = TestType;
  constexpr int N = native_lanes<T>;
  const auto check = [](T y, T x, T got) {
    const auto want = std::atan2(wider<T>(y), wider<T>(x));
    return ulp_error(got, want) <= 2 && (std::isnan(want) || std::signbit(got) == std::signbit(want)) && same(got, atan2(pack<T, 1>(y), pack<T, 1>(x))[0]);
  };
  for (const domain<T>& d : {domain<T>{-1, 1}, domain<T>{}}) {
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
