// Time per element and accuracy of the vector maths functions, against plain loops over the C library and
// glibc's vector library called directly.
//
//   g++ -std=c++20 -O3 -march=native -Iinclude bench/vector_maths.cpp -lmvec -o vector_maths
//   ./vector_maths [--json FILE]

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <cotangent/backends/cpu/maths.hpp>

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

/// The least time of `work` over many runs, in ns per element.
template <class F> double time_of(F work) {
  double best = 1e30;
  for (int run = 0; run < 100; ++run) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 4; ++i) {
      work();
      asm volatile("" ::: "memory");
    }
    const std::chrono::duration<double, std::nano> t = std::chrono::steady_clock::now() - start;
    best = std::min(best, t.count() / (4 * count));
  }
  return best;
}

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

struct row {
  std::string name, baseline;
  double ours_ms, baseline_ms;
};

template <class Case, class T> void measure(T low, T high, std::vector<row>& rows) {
  constexpr int N = native_lanes<T>;
  using V = pack<T, N>;
  std::vector<T> x(count), y(count), r(count);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<T> of_x(low, high), of_y(-5, 5);
  for (T& v : x) v = of_x(random);
  for (T& v : y) v = of_y(random);

  const double ours = time_of([&] {
    for (int i = 0; i < count; i += N) Case::ours(V::load(&x[i]), V::load(&y[i])).store(&r[i]);
  });
  const double our_error = worst_error<Case>(x, y, r);
  const double scalar = time_of([&] {
    for (int i = 0; i < count; ++i) r[i] = Case::scalar(x[i], y[i]);
  });
  const double scalar_error = worst_error<Case>(x, y, r);
  const std::string name = std::string(Case::name) + (std::is_same_v<T, float> ? " f32" : " f64");
  std::printf("%-13s %8.3f %6.2f %9.3f %6.2f", name.c_str(), ours, our_error, scalar, scalar_error);
  row result{name, "libm", ours * count * 1e-6, scalar * count * 1e-6};
#ifdef VECTOR_LIBRARY
  if constexpr (requires(library_float v) { Case::library(v, v); }) {
    using L = typename library_vector<T>::type;
    const double library = time_of([&] {
      for (int i = 0; i < count; i += N) {
        L a, b;
        std::memcpy(&a, &x[i], sizeof a);
        std::memcpy(&b, &y[i], sizeof b);
        const L c = Case::library(a, b);
        std::memcpy(&r[i], &c, sizeof c);
      }
    });
    std::printf(" %9.3f %6.2f %6.2f", library, worst_error<Case>(x, y, r), ours / library);
    result.baseline = "libmvec";
    result.baseline_ms = library * count * 1e-6;
  }
#endif
  std::printf("\n");
  rows.push_back(result);
}

template <class T> void measure_all(std::vector<row>& rows) {
  measure<exp_case, T>(-10, 10, rows);
  measure<exp2_case, T>(-10, 10, rows);
  measure<expm1_case, T>(-4, 4, rows);
  measure<log_case, T>(T(1e-3), T(1e3), rows);
  measure<log2_case, T>(T(1e-3), T(1e3), rows);
  measure<log10_case, T>(T(1e-3), T(1e3), rows);
  measure<log1p_case, T>(T(-0.9), 10, rows);
  measure<sin_case, T>(-10, 10, rows);
  measure<cos_case, T>(-10, 10, rows);
  measure<tan_case, T>(-10, 10, rows);
  measure<tanh_case, T>(-4, 4, rows);
  measure<logistic_case, T>(-10, 10, rows);
  measure<erf_case, T>(-4, 4, rows);
  measure<pow_case, T>(T(0.1), 10, rows);
  measure<sqrt_case, T>(T(1e-3), T(1e3), rows);
  measure<rsqrt_case, T>(T(1e-3), T(1e3), rows);
  measure<cbrt_case, T>(-1000, 1000, rows);
  measure<sinh_case, T>(-4, 4, rows);
  measure<cosh_case, T>(-4, 4, rows);
  measure<asin_case, T>(-1, 1, rows);
  measure<acos_case, T>(-1, 1, rows);
  measure<atan_case, T>(-4, 4, rows);
  measure<atan2_case, T>(-4, 4, rows);
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("%d-byte vectors; ns per element and max ULP at n = %d\n", native_bytes, count);
  std::printf("%-13s %8s %6s %9s %6s %9s %6s %6s\n", "", "ours", "ULP", "libm", "ULP", "libmvec", "ULP", "ratio");
  std::vector<row> rows;
  measure_all<float>(rows);
  measure_all<double>(rows);
  if (argc == 3 && std::strcmp(argv[1], "--json") == 0) {
    std::FILE* file = std::fopen(argv[2], "w");
    if (!file) {
      std::fprintf(stderr, "vector_maths: cannot write %s\n", argv[2]);
      return 1;
    }
    std::fprintf(file, "[\n");
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::fprintf(file,
                   "{\"group\":\"maths\",\"case\":\"%s\",\"threads\":1,\"ours_ms\":%.6g,\"baseline\":\"%s\",\"baseline_ms\":%.6g,"
                   "\"ratio\":%.4g}%s\n",
                   rows[i].name.c_str(), rows[i].ours_ms, rows[i].baseline.c_str(), rows[i].baseline_ms,
                   rows[i].ours_ms / rows[i].baseline_ms, i + 1 < rows.size() ? "," : "");
    std::fprintf(file, "]\n");
    std::fclose(file);
  }
}
