/// Time and accuracy of the vector maths functions on 4096 elements, against glibc's vector library called directly and
/// against loops over its scalar functions.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <cotangent/backends/cpu/maths.hpp>

#include "harness.hpp"

namespace {

using namespace cotangent;

constexpr int count = 4096;

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

#ifdef VECTOR_LIBRARY
template <class T> struct library_vector;
template <> struct library_vector<float> { using type = library_float; };
template <> struct library_vector<double> { using type = library_double; };
#endif

/// One function: ours, the scalar one, and the vector library's where it has it.
#define UNARY(NAME)                                                                                                  \
  struct NAME##_case {                                                                                               \
    static constexpr const char* name = #NAME;                                                                       \
    template <class T, int N> static pack<T, N> ours(pack<T, N> x, pack<T, N>) { return NAME(x); }                   \
    template <class T> static T scalar(T x, T) { return std::NAME(x); }                                              \
    LIBRARY_UNARY(NAME)                                                                                              \
  };
#define BINARY(NAME)                                                                                                 \
  struct NAME##_case {                                                                                               \
    static constexpr const char* name = #NAME;                                                                       \
    template <class T, int N> static pack<T, N> ours(pack<T, N> x, pack<T, N> y) { return NAME(x, y); }              \
    template <class T> static T scalar(T x, T y) { return std::NAME(x, y); }                                         \
    LIBRARY_BINARY(NAME)                                                                                             \
  };

#ifdef VECTOR_LIBRARY
#define LIBRARY_UNARY(NAME)                                                                                          \
  static library_float library(library_float x, library_float) { return FLOAT_NAME(v, NAME)(x); }                    \
  static library_double library(library_double x, library_double) { return DOUBLE_NAME(v, NAME)(x); }
#define LIBRARY_BINARY(NAME)                                                                                         \
  static library_float library(library_float x, library_float y) { return FLOAT_NAME(vv, NAME)(x, y); }              \
  static library_double library(library_double x, library_double y) { return DOUBLE_NAME(vv, NAME)(x, y); }
#define DECLARE(NAME)                                                                                                \
  extern "C" library_float FLOAT_NAME(v, NAME)(library_float);                                                       \
  extern "C" library_double DOUBLE_NAME(v, NAME)(library_double);
#define DECLARE2(NAME)                                                                                               \
  extern "C" library_float FLOAT_NAME(vv, NAME)(library_float, library_float);                                       \
  extern "C" library_double DOUBLE_NAME(vv, NAME)(library_double, library_double);
DECLARE(exp) DECLARE(exp2) DECLARE(expm1) DECLARE(log) DECLARE(log2) DECLARE(log10) DECLARE(log1p) DECLARE(sin) DECLARE(cos)
DECLARE(tan) DECLARE(tanh) DECLARE(sinh) DECLARE(cosh) DECLARE(asin) DECLARE(acos) DECLARE(atan) DECLARE(erf) DECLARE(cbrt)
DECLARE2(pow) DECLARE2(atan2)
#else
#define LIBRARY_UNARY(NAME)
#define LIBRARY_BINARY(NAME)
#endif

UNARY(exp) UNARY(exp2) UNARY(expm1) UNARY(log) UNARY(log2) UNARY(log10) UNARY(log1p) UNARY(sin) UNARY(cos) UNARY(tan) UNARY(tanh)
UNARY(sinh) UNARY(cosh) UNARY(asin) UNARY(acos) UNARY(atan) UNARY(erf) UNARY(cbrt) BINARY(pow) BINARY(atan2)

/// Functions that neither library has.
struct logistic_case {
  static constexpr const char* name = "logistic";
  template <class T, int N> static pack<T, N> ours(pack<T, N> x, pack<T, N>) { return logistic(x); }
  template <class T> static T scalar(T x, T) { return T(1) / (T(1) + std::exp(-x)); }
};
struct rsqrt_case {
  static constexpr const char* name = "rsqrt";
  template <class T, int N> static pack<T, N> ours(pack<T, N> x, pack<T, N>) { return rsqrt(x); }
  template <class T> static T scalar(T x, T) { return T(1) / std::sqrt(x); }
};
struct sqrt_case {
  static constexpr const char* name = "sqrt";
  template <class T, int N> static pack<T, N> ours(pack<T, N> x, pack<T, N>) { return sqrt(x); }
  template <class T> static T scalar(T x, T) { return std::sqrt(x); }
};

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

/// Rows for the function against what the C library has of it.
template <class Case, class T> void measure(T low, T high) {
  constexpr int N = native_lanes<T>;
  using V = pack<T, N>;
  const auto setup = [=] {
    auto v = std::make_shared<numbers<T>>();
    std::mt19937_64 random(1);
    std::uniform_real_distribution<T> of_x(low, high), of_y(-5, 5);
    for (T& x : v->x) x = of_x(random);
    for (T& y : v->y) y = of_y(random);
    return v;
  };
  const auto add = [=](const char* baseline, auto their_loop) {
    const std::string name = std::string(Case::name) + (std::is_same_v<T, float> ? ", float" : ", double");
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
  if constexpr (requires(library_float v) { Case::library(v, v); })
    add("libmvec", [](numbers<T>& v) {
      using L = typename library_vector<T>::type;
      for (int i = 0; i < count; i += N) {
        L a, b;
        std::memcpy(&a, &v.x[i], sizeof a);
        std::memcpy(&b, &v.y[i], sizeof b);
        const L c = Case::library(a, b);
        std::memcpy(&v.theirs[i], &c, sizeof c);
      }
    });
#endif
  add("libm", [](numbers<T>& v) {
    for (int i = 0; i < count; ++i) v.theirs[i] = Case::scalar(v.x[i], v.y[i]);
  });
}

template <class T> void measure_all() {
  measure<exp_case, T>(-10, 10);
  measure<exp2_case, T>(-10, 10);
  measure<expm1_case, T>(-4, 4);
  measure<log_case, T>(T(1e-3), T(1e3));
  measure<log2_case, T>(T(1e-3), T(1e3));
  measure<log10_case, T>(T(1e-3), T(1e3));
  measure<log1p_case, T>(T(-0.9), 10);
  measure<sin_case, T>(-10, 10);
  measure<cos_case, T>(-10, 10);
  measure<tan_case, T>(-10, 10);
  measure<tanh_case, T>(-4, 4);
  measure<logistic_case, T>(-10, 10);
  measure<erf_case, T>(-4, 4);
  measure<pow_case, T>(T(0.1), 10);
  measure<sqrt_case, T>(T(1e-3), T(1e3));
  measure<rsqrt_case, T>(T(1e-3), T(1e3));
  measure<cbrt_case, T>(-1000, 1000);
  measure<sinh_case, T>(-4, 4);
  measure<cosh_case, T>(-4, 4);
  measure<asin_case, T>(-1, 1);
  measure<acos_case, T>(-1, 1);
  measure<atan_case, T>(-4, 4);
  measure<atan2_case, T>(-4, 4);
}

}  // namespace

int main(int argc, char** argv) {
  bench::init(argc, argv);
  measure_all<float>();
  measure_all<double>();
  return bench::run(argc, argv);
}
