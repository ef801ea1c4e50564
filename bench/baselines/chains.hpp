#pragma once
/// Chains of pointwise operations as hand-written loops, forward and gradient.
///
/// `compute`: per round of four, h = h * 0.9; h = h + 0.1; h = sin(h); h = h * h.
/// `memory`: per round of four, h = h * 0.9; h = h + 0.1; h = max(h, 0.2); h = h * 1.1.
/// jax_baselines.py has the same chains. The gradient is that of sum(chain(x)).

#include <cmath>
#include <cstddef>

namespace baselines {

enum class chain_kind { compute, memory };

/// How the loops are compiled: as the including file is, or in chains_fast.cpp with -ffast-math, where sin is libmvec's.
struct plain_math {};
struct fast_math {};

template <class Math, chain_kind Kind, int Operations> void chain_forward(const float* x, float* y, std::size_t n) {
  static_assert(Operations % 4 == 0);
  for (std::size_t i = 0; i < n; ++i) {
    float h = x[i];
#pragma GCC unroll 25
    for (int k = 0; k < Operations / 4; ++k) {
      h = h * 0.9f + 0.1f;
      if constexpr (Kind == chain_kind::compute) {
        h = std::sin(h);
        h = h * h;
      } else {
        h = h < 0.2f ? 0.2f : h;
        h = h * 1.1f;
      }
    }
    y[i] = h;
  }
}

template <class Math, chain_kind Kind, int Operations> void chain_gradient(const float* x, float* dx, std::size_t n) {
  static_assert(Operations % 4 == 0);
  for (std::size_t i = 0; i < n; ++i) {
    float h = x[i], d = 1;
#pragma GCC unroll 25
    for (int k = 0; k < Operations / 4; ++k) {  // a chain of one input: its derivative can be carried forward
      h = h * 0.9f + 0.1f;
      if constexpr (Kind == chain_kind::compute) {
        const float s = std::sin(h), c = std::cos(h);
        d *= 0.9f * 2.0f * s * c;
        h = s * s;
      } else {
        d *= h > 0.2f ? 0.9f * 1.1f : 0.0f;
        h = (h < 0.2f ? 0.2f : h) * 1.1f;
      }
    }
    dx[i] = d;
  }
}

/// The compute gradient in blocks, sin and cos in loops of their own: GCC merges calls of both into one sincos, which it
/// cannot vectorize.
template <class Math, int Operations> void chain_gradient_in_blocks(const float* x, float* dx, std::size_t n) {
  constexpr std::size_t block = 64;
  for (std::size_t first = 0; first < n; first += block) {
    const std::size_t count = n - first < block ? n - first : block;
    float h[block] = {}, d[block], s[block], c[block];
    for (std::size_t i = 0; i < count; ++i) h[i] = x[first + i];
    for (float& v : d) v = 1;
    for (int k = 0; k < Operations / 4; ++k) {
      for (std::size_t i = 0; i < block; ++i) h[i] = h[i] * 0.9f + 0.1f;
      for (std::size_t i = 0; i < block; ++i) s[i] = std::sin(h[i]);
      for (std::size_t i = 0; i < block; ++i) c[i] = std::cos(h[i]);
      for (std::size_t i = 0; i < block; ++i) d[i] *= 0.9f * 2.0f * s[i] * c[i], h[i] = s[i] * s[i];
    }
    for (std::size_t i = 0; i < count; ++i) dx[first + i] = d[i];
  }
}

#define BASELINES_FAST_CHAINS(PREFIX, OPERATIONS)                                                                                  \
  PREFIX template void chain_forward<fast_math, chain_kind::compute, OPERATIONS>(const float*, float*, std::size_t);  \
  PREFIX template void chain_forward<fast_math, chain_kind::memory, OPERATIONS>(const float*, float*, std::size_t);   \
  PREFIX template void chain_gradient<fast_math, chain_kind::compute, OPERATIONS>(const float*, float*, std::size_t); \
  PREFIX template void chain_gradient<fast_math, chain_kind::memory, OPERATIONS>(const float*, float*, std::size_t);  \
  PREFIX template void chain_gradient_in_blocks<fast_math, OPERATIONS>(const float*, float*, std::size_t);
#ifndef BASELINES_DEFINE_FAST_CHAINS
BASELINES_FAST_CHAINS(extern, 4)
BASELINES_FAST_CHAINS(extern, 20)
BASELINES_FAST_CHAINS(extern, 100)
#endif

}  // namespace baselines
