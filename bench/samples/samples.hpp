#pragma once
/// Losses over many samples and their gradients by the weights, beside the same by hand: threads take samples, some hundred at a time, which
/// Eigen's products and arrays take through both directions while they are in the cache.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include <Eigen/Core>
#include <cotangent/cotangent.hpp>

#include "../harness.hpp"

namespace samples {

namespace ct = cotangent;

void add_linear_models(int threads);
void add_moments(int threads);
void add_network(int threads);

constexpr ct::extent samples = 60000, features = 64, hidden = 64, targets = 8, block = 256;

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using column = Eigen::VectorXf;
using row = Eigen::RowVectorXf;
using rows_in = Eigen::Map<const matrix>;
using numbers_in = Eigen::Map<const column>;

template <class Array> void fill(Array& a, double scale) {
  static std::mt19937 random(1);
  std::normal_distribution<double> normal(0, scale);
  for (float& x : a) x = float(normal(random));
}

/// sums(parts of a thread, first sample, number of samples) for blocks of all samples; returns the total of the parts.
template <class Parts, class Sums> Parts sum_of_blocks(int threads, const Sums& sums) {
  std::vector<Parts> of_threads(static_cast<std::size_t>(threads));
  static tbb::task_arena arena(2);
  arena.execute([&] {
    tbb::parallel_for(0, threads, [&](int t) {
      Parts& own = of_threads[std::size_t(t)];
      for (ct::extent i = samples * t / threads, end = samples * (t + 1) / threads; i < end; i += block) sums(own, i, std::min(block, end - i));
    }, tbb::static_partitioner{});
  });
  for (int t = 1; t < threads; ++t) of_threads[0] += of_threads[std::size_t(t)];
  return of_threads[0];
}

/// Both sides must agree before they are timed.
inline void require(const char* name, double ours, double by_hand, double scale) {
  if (std::abs(ours - by_hand) <= 1e-4 * scale) return;
  std::fprintf(stderr, "samples: %s: %g and by hand %g\n", name, ours, by_hand);
  std::exit(1);
}

}  // namespace samples
