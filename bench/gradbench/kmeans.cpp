/// KMEANS: the Newton direction of the sum over n points of the squared distance to the nearest of k centroids, in d dimensions:
/// the gradient by the centroids over the diagonal of the Hessian, element by element. bench/meson.build compiles this file once for each size,
/// KMEANS_CENTROIDS, KMEANS_POINTS and KMEANS_DIMENSIONS.

#include "problems.hpp"

namespace gradbench {
namespace {

/// The squares of all distances at once, by a matrix product, as GradBench's JAX program has it.
constexpr auto cost = [](auto centroids, auto points) {
  const auto squares = [](auto x) { return ct::sum(x * x, ct::axis<1>); };
  const auto distances = ct::expand_dims<1>(squares(centroids)) + squares(points) - 2.0 * ct::matmul(centroids, ct::transpose(points));  // [k, n]
  return ct::sum(ct::min(distances, ct::axis<0>));
};
constexpr auto direction = [](auto centroids, auto points) {
  const auto gradient = [=](auto c) { return ct::grad(cost)(c, points); };
  const auto [g, diagonal] = ct::jvp(gradient, std::tuple(centroids), std::tuple(0.0 * centroids + 1.0));
  return g / diagonal;
};

template <int K, int N, int D> struct kmeans {
  ct::array<double, N, D> points;
  ct::array<double, K, D> centroids, by_centroids, result;

  kmeans() {
    source().uniform(0, 1, points);
    for (int i = 0; i < K * D; ++i) centroids.data()[i] = points.data()[(N - K) * D + i];
  }
  void ours() { ct::jit(direction).into(result)(centroids, points); }
  double difference() const { return gradbench::difference(numbers(result), numbers(by_centroids)); }
  /// The gradient is twice the number of a centroid's points times the direction.
  double slope_error() {
    std::vector<double> g(K * D);
    for (int i = 0; i < N; ++i)
      for (int j = nearest_of(i), e = 0; e < D; ++e) g[std::size_t(j * D + e)] += 2 * by_centroids(j, e);
    const auto value = [this] {
      double sum = 0;
      for (int i = 0; i < N; ++i) sum += distance(i, nearest_of(i));
      return sum;
    };
    return gradbench::slope_error(value, {{numbers(centroids), std::span<const double>(g)}});
  }

  double distance(int i, int j) const {
    const double *p = &points.data()[i * D], *c = &centroids.data()[j * D];
    double parts[8] = {};
    for (int e = 0; e < D; ++e) parts[e % 8] += (p[e] - c[e]) * (p[e] - c[e]);
    return ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
  }
  int nearest_of(int i) const {
    int best = 0;
    double least = distance(i, 0);
    for (int j = 1; j < K; ++j)
      if (const double d = distance(i, j); d < least) least = d, best = j;
    return best;
  }
  [[gnu::noinline]] void by_hand() {
    double sums[K][D] = {}, counts[K] = {};
    for (int i = 0; i < N; ++i) {
      const int j = nearest_of(i);
      for (int e = 0; e < D; ++e) sums[j][e] += points.data()[i * D + e];
      counts[j] += 1;
    }
    for (int j = 0; j < K; ++j) for (int e = 0; e < D; ++e) by_centroids(j, e) = centroids(j, e) - sums[j][e] / counts[j];
  }
};

}  // namespace

template <int K, int N, int D> void add_kmeans() {
  add_scalar<kmeans<K, N, D>>("KMEANS: " + std::to_string(K) + " centroids, " + std::to_string(N) + " points, " + std::to_string(D) + " dimensions");
}
template void add_kmeans<KMEANS_CENTROIDS, KMEANS_POINTS, KMEANS_DIMENSIONS>();

}  // namespace gradbench
