/// Time and accuracy of the vector maths functions on 4096 elements, against glibc's vector library (libmvec), loops over its scalar
/// functions, Eigen's array functions, and where they are installed xsimd, Highway (contrib/math) and SLEEF, each called directly;
/// of VECTOR_MATHS_TYPE, the functions of VECTOR_MATHS_KIND.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <cotangent/backends/cpu/maths.hpp>

#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

#ifdef BENCH_XSIMD
#include <xsimd/xsimd.hpp>
#endif
#ifdef BENCH_HIGHWAY
#define HWY_COMPILE_ONLY_STATIC 1
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>
#endif
#ifdef BENCH_SLEEF
#include <sleef.h>
#endif

#include "../harness.hpp"
#include "functions.hpp"

#if defined(__GLIBC__) && defined(COTANGENT_AVX512)
#define VECTOR_LIBRARY 1
using library_float = __m512;
using library_double = __m512d;
#define FLOAT_NAME(KIND, NAME) _ZGVeN16##KIND##_##NAME##f
#define DOUBLE_NAME(KIND, NAME) _ZGVeN8##KIND##_##NAME
#elif defined(__GLIBC__) && defined(__AVX2__)
#define VECTOR_LIBRARY 1
using library_float = __m256;
using library_double = __m256d;
#define FLOAT_NAME(KIND, NAME) _ZGVdN8##KIND##_##NAME##f
#define DOUBLE_NAME(KIND, NAME) _ZGVdN4##KIND##_##NAME
#endif

namespace {

using namespace cotangent;

constexpr int count = 4096;

/// A library's function in a case; which libraries have it is asked with `requires`.
template <class Case> struct of_libmvec {};
template <class Case> struct of_sleef {};

/// One function: ours, the scalar one of the name FUNCTION, and that of libraries that call it FUNCTION or HIGHWAY.
#define CASE(NAME, SCALAR, EIGEN, XSIMD, HIGHWAY, ...)                                                               \
  struct NAME##_case {                                                                                               \
    static constexpr const char* name = #NAME;                                                                       \
    template <class T, int N> static pack<T, N> ours(pack<T, N> x, [[maybe_unused]] pack<T, N> y) { return NAME(__VA_ARGS__); } \
    template <class T> static T scalar(T x, [[maybe_unused]] T y) { return SCALAR; }                                 \
    template <class A> static auto in_eigen(const A& x, [[maybe_unused]] const A& y) -> decltype(EIGEN) { return EIGEN; } \
    template <class B> static auto in_xsimd(B x, [[maybe_unused]] B y) -> decltype(XSIMD) { return XSIMD; }          \
    template <class D, class V> static auto in_highway(D d, V x) -> decltype(HIGHWAY(d, x)) { return HIGHWAY(d, x); } \
  };
#define UNARY(NAME, HIGHWAY) CASE(NAME, std::NAME(x), x.NAME(), NAME(x), HIGHWAY, x)

UNARY(exp, Exp) UNARY(exp2, Exp2) UNARY(expm1, Expm1) UNARY(log, Log) UNARY(log2, Log2) UNARY(log10, Log10) UNARY(log1p, Log1p)
UNARY(sin, Sin) UNARY(cos, Cos) UNARY(tan, Tan) UNARY(tanh, Tanh) UNARY(sinh, Sinh) UNARY(cosh, Cosh) UNARY(asin, Asin) UNARY(acos, Acos)
UNARY(atan, Atan) UNARY(asinh, Asinh) UNARY(acosh, Acosh) UNARY(atanh, Atanh) UNARY(erf, Erf) UNARY(erfc, Erfc) UNARY(lgamma, Lgamma)
UNARY(cbrt, Cbrt) UNARY(sqrt, SquareRoot)
CASE(exp10, std::pow(T(10), x), x.exp10(), exp10(x), Exp10, x)
CASE(rsqrt, T(1) / std::sqrt(x), x.rsqrt(), left_out(x), Rsqrt, x)  // xsimd 8.1's does not compile for AVX-512
CASE(logistic, T(1) / (T(1) + std::exp(-x)), x.logistic(), logistic(x), Logistic, x)
CASE(pow, std::pow(x, y), x.pow(y), pow(x, y), Pow, x, y)
CASE(atan2, std::atan2(x, y), x.atan2(y), atan2(x, y), Atan2, x, y)
CASE(hypot, std::hypot(x, y), x.hypot(y), hypot(x, y), Hypot, x, y)
CASE(rem, std::fmod(x, y), x.fmod(y), fmod(x, y), Fmod, x, y)

/// The derivative of log gamma for positive x, by recurrence and asymptotic series (Abramowitz and Stegun, 6.3.5, 6.3.18).
template <class T> T scalar_digamma(T x) {
  T r = 0;
  for (; x < T(sizeof(T) > sizeof(double) ? 40 : 12); x += T(1)) r -= T(1) / x;
  const T y = T(1) / (x * x);
  const T series = y * (T(1) / 12 - y * (T(1) / 120 - y * (T(1) / 252 - y * (T(1) / 240 - y * (T(1) / 132 - y * (T(691) / 32760 - y / 12))))));
  return r + (std::log(x) - T(0.5) / x - series);
}
CASE(digamma, scalar_digamma(x), x.digamma(), digamma(x), Digamma, x)

/// Newton's steps for erf(y) = x.
template <class T> T scalar_erf_inv(T x) {
  const T a = std::abs(x), l = std::log1p(-a * a), h = T(4.3307) + l / 2;
  T y = std::sqrt(std::sqrt(h * h - l / T(0.147)) - h);
  for (int i = 0; i < 4; ++i) y -= (a < T(0.5) ? std::erf(y) - a : (1 - a) - std::erfc(y)) * T(0.886226925452758013649) * std::exp(y * y);
  return std::copysign(y, x);
}
CASE(erf_inv, scalar_erf_inv(x), x.erfinv(), erfinv(x), Erfinv, x)

#ifdef VECTOR_LIBRARY
#define MVEC(NAME)                                                                                                   \
  extern "C" library_float FLOAT_NAME(v, NAME)(library_float);                                                       \
  extern "C" library_double DOUBLE_NAME(v, NAME)(library_double);                                                    \
  template <> struct of_libmvec<NAME##_case> {                                                                       \
    static library_float call(library_float x, library_float) { return FLOAT_NAME(v, NAME)(x); }                     \
    static library_double call(library_double x, library_double) { return DOUBLE_NAME(v, NAME)(x); }                 \
  };
#define MVEC2(NAME)                                                                                                  \
  extern "C" library_float FLOAT_NAME(vv, NAME)(library_float, library_float);                                       \
  extern "C" library_double DOUBLE_NAME(vv, NAME)(library_double, library_double);                                   \
  template <> struct of_libmvec<NAME##_case> {                                                                       \
    static library_float call(library_float x, library_float y) { return FLOAT_NAME(vv, NAME)(x, y); }               \
    static library_double call(library_double x, library_double y) { return DOUBLE_NAME(vv, NAME)(x, y); }           \
  };
MVEC(exp) MVEC(exp2) MVEC(exp10) MVEC(expm1) MVEC(log) MVEC(log2) MVEC(log10) MVEC(log1p) MVEC(sin) MVEC(cos) MVEC(tan) MVEC(tanh) MVEC(sinh)
MVEC(cosh) MVEC(asin) MVEC(acos) MVEC(atan) MVEC(asinh) MVEC(acosh) MVEC(atanh) MVEC(erf) MVEC(erfc) MVEC(cbrt) MVEC2(pow) MVEC2(atan2) MVEC2(hypot)
#endif

#if defined(BENCH_SLEEF) && defined(COTANGENT_AVX512)
#define SLEEF(NAME, ...)                                                                                             \
  template <> struct of_sleef<NAME##_case> {                                                                         \
    static __m512 call(__m512 x, __m512) { return Sleef_##NAME##f16_##__VA_ARGS__##avx512f(x); }                     \
    static __m512d call(__m512d x, __m512d) { return Sleef_##NAME##d8_##__VA_ARGS__##avx512f(x); }                   \
  };
#define SLEEF2(NAME, FUNCTION, ...)                                                                                  \
  template <> struct of_sleef<NAME##_case> {                                                                         \
    static __m512 call(__m512 x, __m512 y) { return Sleef_##FUNCTION##f16_##__VA_ARGS__##avx512f(x, y); }            \
    static __m512d call(__m512d x, __m512d y) { return Sleef_##FUNCTION##d8_##__VA_ARGS__##avx512f(x, y); }          \
  };
SLEEF(exp, u10) SLEEF(exp2, u10) SLEEF(exp10, u10) SLEEF(expm1, u10) SLEEF(log, u10) SLEEF(log2, u10) SLEEF(log10, u10) SLEEF(log1p, u10)
SLEEF(sin, u10) SLEEF(cos, u10) SLEEF(tan, u10) SLEEF(tanh, u10) SLEEF(sinh, u10) SLEEF(cosh, u10) SLEEF(asin, u10) SLEEF(acos, u10)
SLEEF(atan, u10) SLEEF(asinh, u10) SLEEF(acosh, u10) SLEEF(atanh, u10) SLEEF(erf, u10) SLEEF(erfc, u15) SLEEF(lgamma, u10) SLEEF(cbrt, u10)
SLEEF2(pow, pow, u10) SLEEF2(atan2, atan2, u10) SLEEF2(hypot, hypot, u05) SLEEF2(rem, fmod, )
#endif

/// The largest error in units of the last place, against the wider type.
template <class Case, class T> double worst_error(const std::vector<T>& x, const std::vector<T>& y, const std::vector<T>& r) {
  using wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  double worst = 0;
  for (int i = 0; i < count; ++i) {
    const wider want = Case::scalar(wider(x[i]), wider(y[i]));
    int e;
    std::frexp(want, &e);
    const wider unit = std::ldexp(wider(1), std::max(e, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits);
    worst = std::max(worst, double(std::abs(wider(r[i]) - want) / unit));
  }
  return worst;
}

template <class T> struct numbers {
  std::vector<T> x = std::vector<T>(count), y = x, ours = x, theirs = x;
};

/// Calls f with native vectors of x and y.
template <class F, class T> void each_vector(numbers<T>& v, F f) {
  using V = vector<T, native_lanes<T>>;
  for (int i = 0; i < count; i += native_lanes<T>) {
    const V r = (V)f(vector_load<V>(&v.x[i]), vector_load<V>(&v.y[i]));
    std::memcpy(&v.theirs[i], &r, sizeof r);
  }
}

/// Rows for the function against what the libraries have of it. `where`: of which arguments, where they are not the usual ones.
template <class Case, class T> void measure(T low, T high, T low_y = -5, T high_y = 5, const char* where = "") {
  constexpr int N = native_lanes<T>;
  using V = pack<T, N>;
  const auto setup = [=] {
    auto v = std::make_shared<numbers<T>>();
    std::mt19937_64 random(1);
    std::uniform_real_distribution<T> of_x(low, high), of_y(low_y, high_y);
    for (T& x : v->x) x = of_x(random);
    for (T& y : v->y) y = of_y(random);
    return v;
  };
  const auto add = [=](const char* baseline, auto their_loop) {
    const std::string name = std::string(Case::name) + where + (std::is_same_v<T, float> ? ", float" : ", double");
    bench::compare("vector_maths", name, 1, baseline, [=] {
      const auto v = setup();
      const auto ours = [v] {
        for (int i = 0; i < count; i += N) Case::ours(V::load(&v->x[i]), V::load(&v->y[i])).store(&v->ours[i]);
      };
      const auto theirs = [v, their_loop] { their_loop(*v); };
      ours(), theirs();
      return bench::sides{ours, theirs, worst_error<Case>(v->x, v->y, v->ours), worst_error<Case>(v->x, v->y, v->theirs)};
    });
  };
#ifdef VECTOR_LIBRARY
  using L = vector<T, N>;
  if constexpr (requires(L v) { of_libmvec<Case>::call(v, v); })
    add("libmvec", [](numbers<T>& v) { each_vector(v, [](L x, L y) { return of_libmvec<Case>::call(x, y); }); });
  if constexpr (requires(L v) { of_sleef<Case>::call(v, v); })
    add("SLEEF", [](numbers<T>& v) { each_vector(v, [](L x, L y) { return of_sleef<Case>::call(x, y); }); });
#endif
  add("libm", [](numbers<T>& v) {
    for (int i = 0; i < count; ++i) v.theirs[i] = Case::scalar(v.x[i], v.y[i]);
  });
  using A = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
  if constexpr (requires(A a) { Case::in_eigen(a, a); })
    add("Eigen", [](numbers<T>& v) {
      const A x(v.x.data(), count), y(v.y.data(), count);
      A(v.theirs.data(), count) = Case::in_eigen(x, y);
    });
#ifdef BENCH_XSIMD
  using B = xsimd::batch<T>;
  if constexpr (requires(B b) { B(Case::in_xsimd(b, b)); })
    add("xsimd", [](numbers<T>& v) {
      for (int i = 0; i < count; i += int(B::size)) B(Case::in_xsimd(B::load_unaligned(&v.x[i]), B::load_unaligned(&v.y[i]))).store_unaligned(&v.theirs[i]);
    });
#endif
#ifdef BENCH_HIGHWAY
  namespace hn = hwy::HWY_NAMESPACE;
  using D = hn::ScalableTag<T>;
  if constexpr (requires(D d, hn::Vec<D> a) { Case::in_highway(d, a); })
    add("Highway", [](numbers<T>& v) {
      const D d;
      for (int i = 0; i < count; i += int(hn::Lanes(d))) hn::StoreU(Case::in_highway(d, hn::LoadU(d, &v.x[i])), d, &v.theirs[i]);
    });
#endif
}

}  // namespace

namespace vector_maths {
template <class T, function_kind Kind> void add() {
  if constexpr (Kind == function_kind::elementary) {
    measure<exp_case, T>(-10, 10);
    measure<exp_case, T>(std::is_same_v<T, float> ? T(-103) : T(-744), std::is_same_v<T, float> ? T(-88) : T(-709), -5, 5, " where it is subnormal");
    measure<exp_case, T>(-2000, -800, -5, 5, " where it is 0");
    measure<exp2_case, T>(-10, 10);
    measure<exp10_case, T>(-10, 10);
    measure<expm1_case, T>(-4, 4);
    measure<log_case, T>(T(1e-3), T(1e3));
    measure<log2_case, T>(T(1e-3), T(1e3));
    measure<log10_case, T>(T(1e-3), T(1e3));
    measure<log1p_case, T>(T(-0.9), 10);
    measure<pow_case, T>(T(0.1), 10);
    measure<sqrt_case, T>(T(1e-3), T(1e3));
    measure<rsqrt_case, T>(T(1e-3), T(1e3));
    measure<cbrt_case, T>(-1000, 1000);
    measure<hypot_case, T>(-4, 4);
    measure<rem_case, T>(-1000, 1000);
  } else if constexpr (Kind == function_kind::trigonometric) {
    measure<sin_case, T>(-10, 10);
    measure<cos_case, T>(-10, 10);
    measure<tan_case, T>(-10, 10);
    measure<asin_case, T>(-1, 1);
    measure<acos_case, T>(-1, 1);
    measure<atan_case, T>(-4, 4);
    measure<atan2_case, T>(-4, 4);
    measure<tanh_case, T>(-4, 4);
    measure<sinh_case, T>(-4, 4);
    measure<cosh_case, T>(-4, 4);
    measure<asinh_case, T>(-4, 4);
    measure<acosh_case, T>(1, 10);
    measure<atanh_case, T>(-1, 1);
  } else {
    measure<logistic_case, T>(-10, 10);
    measure<erf_case, T>(-4, 4);
    measure<erfc_case, T>(-4, 4);
    measure<erf_inv_case, T>(-1, 1);
    measure<lgamma_case, T>(T(0.1), 20);
    measure<digamma_case, T>(T(0.1), 20);
  }
}
template void add<VECTOR_MATHS_TYPE, function_kind::VECTOR_MATHS_KIND>();
}  // namespace vector_maths
