#pragma once
/// The problems of the gradbench group, one file each, and what they share.
///
/// They are those of the ADBench and GradBench suites (Šrajer, Kukelova and Fitzgibbon, "A benchmark of selected algorithmic
/// differentiation tools on some problems in computer vision and machine learning", 2018; github.com/gradbench/gradbench) and
/// of FastAD's paper (Yang, "FastAD: expression template-based C++ library for fast and memory-efficient automatic
/// differentiation", arXiv:2102.03681), in double, with inputs of the same sizes from a fixed seed. Each is measured against
/// its derivative written out by hand, and some of them also against that derivative on vectors of 8 numbers.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <cotangent/cotangent.hpp>

#include "../harness.hpp"
#include "../inputs.hpp"

namespace gradbench {

namespace ct = cotangent;
using bench::source;

void add_ba();
template <int Size> void add_det();
void add_fastad();
void add_fastad_models();
template <int Dimensions, int Components> void add_gmm();
template <int Points> void add_ht();
template <int Centroids, int Points, int Dimensions> void add_kmeans();
void add_llsq();
void add_lse();
template <int Layers, int Characters> void add_lstm();
void add_ode();
void add_particle();
void add_saddle();

// ---- vectors of 8 numbers ----

typedef double lanes __attribute__((vector_size(64)));
#if defined(__AVX512F__) && defined(__linux__)
extern "C" lanes _ZGVeN8v_sin(lanes);
extern "C" lanes _ZGVeN8v_cos(lanes);
extern "C" lanes _ZGVeN8v_exp(lanes);
extern "C" lanes _ZGVeN8v_tanh(lanes);
inline lanes sine(lanes x) { return _ZGVeN8v_sin(x); }
inline lanes cosine(lanes x) { return _ZGVeN8v_cos(x); }
inline lanes exponential(lanes x) { return _ZGVeN8v_exp(x); }
inline lanes hyperbolic_tangent(lanes x) { return _ZGVeN8v_tanh(x); }
#else
inline lanes sine(lanes x) { for (int i = 0; i < 8; ++i) x[i] = std::sin(x[i]); return x; }
inline lanes cosine(lanes x) { for (int i = 0; i < 8; ++i) x[i] = std::cos(x[i]); return x; }
inline lanes exponential(lanes x) { for (int i = 0; i < 8; ++i) x[i] = std::exp(x[i]); return x; }
inline lanes hyperbolic_tangent(lanes x) { for (int i = 0; i < 8; ++i) x[i] = std::tanh(x[i]); return x; }
#endif
[[gnu::always_inline]] inline lanes root(lanes x) { for (int i = 0; i < 8; ++i) x[i] = std::sqrt(x[i]); return x; }
[[gnu::always_inline]] inline lanes larger(lanes a, lanes b) { return a > b ? a : b; }
[[gnu::always_inline]] inline double total(lanes x) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); }
/// 8 numbers at any address.
[[gnu::always_inline]] inline lanes load(const double* p) { lanes x; __builtin_memcpy(&x, p, sizeof x); return x; }
[[gnu::always_inline]] inline void store(double* p, lanes x) { __builtin_memcpy(p, &x, sizeof x); }

/// The first `count` of 8 numbers, then zeros.
[[gnu::always_inline]] inline lanes load(const double* p, int count) {
#ifdef __AVX512F__
  return _mm512_maskz_loadu_pd(__mmask8((1 << count) - 1), p);
#else
  lanes x{};
  for (int i = 0; i < count; ++i) x[i] = p[i];
  return x;
#endif
}

/// The same for one number.
[[gnu::always_inline]] inline double sine(double x) { return std::sin(x); }
[[gnu::always_inline]] inline double cosine(double x) { return std::cos(x); }
[[gnu::always_inline]] inline double root(double x) { return std::sqrt(x); }
[[gnu::always_inline]] inline double exponential(double x) { return std::exp(x); }
[[gnu::always_inline]] inline double hyperbolic_tangent(double x) { return std::tanh(x); }
[[gnu::always_inline]] inline double total(double x) { return x; }

// ---- inputs ----

template <class Array> std::span<double> numbers(Array& a) { return {a.data(), std::size_t(a.size())}; }
template <class Array> std::span<const double> numbers(const Array& a) { return {a.data(), std::size_t(a.size())}; }

// ---- agreement ----

inline void require(const std::string& name, const char* what, double error, double limit) {
  if (error <= limit) return;
  std::fprintf(stderr, "gradbench: %s: %s differ by %g\n", name.c_str(), what, error);
  std::exit(1);
}

/// The largest difference, relative to the largest element of b.
inline double difference(std::span<const double> a, std::span<const double> b) {
  double most = a.size() == b.size() ? 0 : INFINITY, scale = 0;
  for (std::size_t i = 0; i < b.size(); ++i) most = std::max(most, std::abs(a[i] - b[i])), scale = std::max(scale, std::abs(b[i]));
  for (double x : a) if (std::isnan(x)) return INFINITY;
  return scale > 0 ? most / scale : most;
}

/// A gradient against central differences of value() in a few directions that mostly follow it; relative to the slope.
/// `inputs` are pairs of a variable and its gradient.
template <class Value> double slope_error(const Value& value, const std::vector<std::pair<std::span<double>, std::span<const double>>>& inputs) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-0.25, 1);
  double worst = 0;
  for (int turn = 0; turn < 3; ++turn) {
    double length = 0, slope = 0;
    for (const auto& [x, g] : inputs) for (double y : g) length += y * y;
    length = std::sqrt(length);
    std::vector<double> direction, at;
    for (const auto& [x, g] : inputs)
      for (std::size_t i = 0; i < x.size(); ++i) direction.push_back(uniform(random) * g[i] / length), at.push_back(x[i]), slope += direction.back() * g[i];
    const auto moved = [&](double h) {
      std::size_t k = 0;
      for (const auto& [x, g] : inputs) for (double& y : x) y = at[k] + h * direction[k], ++k;
      return value();
    };
    const double h = 1e-5, up = moved(h), down = moved(-h);
    moved(0);
    worst = std::max(worst, std::abs((up - down) / (2 * h) - slope) / std::abs(slope));
  }
  return worst;
}

/// A row: Problem's ours() against `by_hand`. Before it is timed, difference() of the two results is looked at, and
/// slope_error() of the one by hand.
template <class Problem>
void add(const std::string& name, const char* baseline, void (*by_hand)(Problem&), double slope_limit = 1e-6, int samples = 21) {
  bench::compare("gradbench", name, 1, baseline, [=] {
    const auto p = std::make_shared<Problem>();
    ct::set_num_threads(1);
    p->ours();
    by_hand(*p);
    require(name, "the two sides", p->difference(), 1e-10);
    require(name, "the derivative by hand and central differences", p->slope_error(), slope_limit);
    return bench::sides{[=] { p->ours(); }, [=] { by_hand(*p); }};
  }, samples);
}
template <class Problem> void add_scalar(const std::string& name, double slope_limit = 1e-6, int samples = 21) {
  add<Problem>(name, "hand-written, scalar", [](Problem& p) { p.by_hand(); }, slope_limit, samples);
}
template <class Problem> void add_vectors(const std::string& name, double slope_limit = 1e-6, int samples = 21) {
  add<Problem>(name, "hand-written, vectors", [](Problem& p) { p.by_hand_on_vectors(); }, slope_limit, samples);
}

}  // namespace gradbench
