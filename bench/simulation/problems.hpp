#pragma once
/// The problems of the simulation group, one file each, and what they share: programs of finance, physics, robotics and networks as
/// one would write them, each beside the same written by hand on vectors of 64 bytes, and beside what limits both: a copy of the bytes
/// that it must at least read and write, or its multiply-adds at the speed of registers. All sides use 2 threads, by hand those of oneTBB.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <cotangent/cotangent.hpp>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "../harness.hpp"
#include "../inputs.hpp"

namespace simulation {

namespace ct = cotangent;
using bench::source;

void add_arm();
void add_attention();
void add_black_scholes();
template <bool Direct> void add_elements();
void add_lennard_jones();
template <bool Gradient> void add_lorenz();
void add_nearest();
void add_nearest_gradients();
template <bool Own> void add_neighbours();
template <ct::extent Width> void add_rows();
template <int Steps> void add_shallow_water();
void add_systems();

// ---- vectors ----

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // of vectors as results, which are those of functions of this file alone
#endif
typedef float floats __attribute__((vector_size(64)));
typedef double doubles __attribute__((vector_size(64)));
typedef std::int32_t ints __attribute__((vector_size(64)));
#if defined(__AVX512F__) && defined(__linux__)
extern "C" floats _ZGVeN16v_expf(floats);
extern "C" floats _ZGVeN16v_logf(floats);
extern "C" floats _ZGVeN16v_erff(floats);
extern "C" floats _ZGVeN16v_sinf(floats);
extern "C" floats _ZGVeN16v_cosf(floats);
inline floats exponential(floats x) { return _ZGVeN16v_expf(x); }
inline floats logarithm(floats x) { return _ZGVeN16v_logf(x); }
inline floats error_function(floats x) { return _ZGVeN16v_erff(x); }
inline floats sine(floats x) { return _ZGVeN16v_sinf(x); }
inline floats cosine(floats x) { return _ZGVeN16v_cosf(x); }
inline floats root(floats x) { return floats(_mm512_sqrt_ps(__m512(x))); }
inline float total(floats x) { return _mm512_reduce_add_ps(__m512(x)); }
inline float largest_of(floats x) { return _mm512_reduce_max_ps(__m512(x)); }
/// Past the caches, for what is not read again; p is aligned.
inline void store_once(float* p, floats x) { _mm512_stream_ps(p, __m512(x)); }
#else
inline floats exponential(floats x) { for (int i = 0; i < 16; ++i) x[i] = std::exp(x[i]); return x; }
inline floats logarithm(floats x) { for (int i = 0; i < 16; ++i) x[i] = std::log(x[i]); return x; }
inline floats error_function(floats x) { for (int i = 0; i < 16; ++i) x[i] = std::erf(x[i]); return x; }
inline floats sine(floats x) { for (int i = 0; i < 16; ++i) x[i] = std::sin(x[i]); return x; }
inline floats cosine(floats x) { for (int i = 0; i < 16; ++i) x[i] = std::cos(x[i]); return x; }
inline floats root(floats x) { for (int i = 0; i < 16; ++i) x[i] = std::sqrt(x[i]); return x; }
inline float total(floats x) { float sum = 0; for (int i = 0; i < 16; ++i) sum += x[i]; return sum; }
inline float largest_of(floats x) { float most = x[0]; for (int i = 1; i < 16; ++i) most = std::max(most, x[i]); return most; }
inline void store_once(float* p, floats x) { __builtin_memcpy(p, &x, sizeof x); }
#endif
[[gnu::always_inline]] inline floats larger(floats a, floats b) { return a > b ? a : b; }
/// A vector at any address.
template <class V, class T> [[gnu::always_inline]] inline V load(const T* p) { V x; __builtin_memcpy(&x, p, sizeof x); return x; }
template <class V, class T> [[gnu::always_inline]] inline void store(T* p, V x) { __builtin_memcpy(p, &x, sizeof x); }

template <int Distance, std::size_t... L> [[gnu::always_inline]] inline void exchange(floats& a, floats& b, std::index_sequence<L...>) {
  const floats low = __builtin_shufflevector(a, b, ((L & Distance) ? 16 + int(L) - Distance : int(L))...);
  b = __builtin_shufflevector(a, b, ((L & Distance) ? 16 + int(L) : int(L) + Distance)...), a = low;
}
template <int Distance> [[gnu::always_inline]] inline void exchange(floats (&rows)[16]) {
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i)
    if (!(i & Distance)) exchange<Distance>(rows[i], rows[i + Distance], std::make_index_sequence<16>());
}
/// 16 rows of 16 numbers, in registers.
[[gnu::always_inline]] inline void transpose(floats (&rows)[16]) { exchange<8>(rows), exchange<4>(rows), exchange<2>(rows), exchange<1>(rows); }

/// body(first, last) on blocks of [0, count).
template <class Body> void in_blocks(std::ptrdiff_t count, std::ptrdiff_t block, const Body& body) {
  const tbb::blocked_range<std::ptrdiff_t> all(0, (count + block - 1) / block, 1);
  tbb::parallel_for(all, [&](const auto& r) { body(r.begin() * block, std::min(count, r.end() * block)); });
}

// ---- agreement and rows ----

/// The largest difference, relative to the largest element of b.
template <class A, class B> double difference(const A& a, const B& b) {
  double most = a.size() == b.size() ? 0 : INFINITY, scale = 0;
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t(b.size()); ++i) {
    const double x = double(a.data()[i]), y = double(b.data()[i]);
    if (!(std::abs(x - y) <= most)) most = std::isnan(x - y) ? INFINITY : std::abs(x - y);
    scale = std::max(scale, std::abs(y));
  }
  return scale > 0 ? most / scale : most;
}

/// What a problem cannot do without: bytes read or written in memory once, or operations of T, two per multiply-add.
struct bound { double bytes = 0, float_operations = 0, double_operations = 0; };

/// As many multiply-adds on vectors in registers, on 2 threads.
template <class T> void multiply_add(double operations) {
  typedef T V __attribute__((vector_size(cotangent::native_bytes)));
  const auto turns = long(operations / 2 / 2 / 16 / double(sizeof(V) / sizeof(T)));
  tbb::parallel_for(0, 2, [=](int) {
    V sums[16] = {}, a = V{} + T(0.5), b = V{} + T(1);
    for (long i = 0; i < turns; ++i) {
      for (V& s : sums) s = a * s + b;
#ifdef __x86_64__
      for (V& s : sums) asm volatile("" : "+v"(s));
#else
      for (V& s : sums) asm volatile("" : "+w"(s));
#endif
    }
  }, tbb::static_partitioner{});
}

/// Two rows of a Problem: its ours() against its by_hand(), whose difference() is looked at first, and against the bound.
template <class Problem> void add(const std::string& name, double tolerance, bound least, int samples = 21) {
  bench::compare("simulation", name, 2, "by hand", [=] {
    const auto p = std::make_shared<Problem>();
    p->ours();
    p->by_hand();
    if (const double error = p->difference(); !(error <= tolerance)) {
      std::fprintf(stderr, "simulation: %s: the two sides differ by %g\n", name.c_str(), error);
      std::exit(1);
    }
    return bench::sides{[=] { p->ours(); }, [=] { p->by_hand(); }};
  }, samples);
  bench::compare("simulation", name, 2, least.bytes > 0 ? "copy of its bytes" : "its operations at peak", [=] {
    const auto p = std::make_shared<Problem>();
    const auto half = std::size_t(least.bytes / 2) / 64 * 64;
    const auto from = std::make_shared<std::vector<char>>(half), to = std::make_shared<std::vector<char>>(half);
    const auto copy = std::make_shared<bench::copier>(2);
    return bench::sides{[=] { p->ours(); }, [=] {
      if (half > 0) (*copy)(to->data(), from->data(), half);
      if (least.float_operations > 0) multiply_add<float>(least.float_operations);
      if (least.double_operations > 0) multiply_add<double>(least.double_operations);
    }};
  }, samples);
}

}  // namespace simulation
