#pragma once
/// Decompositions of a batch of matrices of one order, double, against Eigen's solvers of that order on as many threads. eigh.cpp, svd.cpp and
/// qr.cpp are compiled once for each order (bench/meson.build).

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tbb/parallel_for.h>

#include <cotangent/cotangent.hpp>

#include "../harness.hpp"

namespace decompositions {

namespace ct = cotangent;

/// Symmetric matrices, what cotangent finds of them in `Result`, and Eigen's values and vectors.
template <int N, class Result> struct batch {
  static constexpr int count = 1'000'000 / (N * N) / (N > 100 ? 6 : 1);  // fewer where each takes long
  using matrices = ct::array<double, count, N, N>;
  using values = ct::array<double, count, N>;
  // Eigen's kind for each order: small ones need no memory of their own.
  using matrix = std::conditional_t<(N > 24), Eigen::MatrixXd, Eigen::Matrix<double, N, N>>;
  using vector = std::conditional_t<(N > 24), Eigen::VectorXd, Eigen::Matrix<double, N, 1>>;

  matrices a;
  typename Result::template of<values, matrices> result;
  std::vector<matrix> left = std::vector<matrix>(count), right = left;
  std::vector<vector> found = std::vector<vector>(count);

  batch() {
    for (int k = 0; k < count; ++k)
      for (int i = 0; i < N; ++i)
        for (int j = 0; j <= i; ++j) a(k, i, j) = a(k, j, i) = std::sin(1.7 * (k * N * N + i * N + j) + 0.3 * i * j);
  }
  /// decompose(number, matrix) for all.
  template <class Decompose> void by_eigen(const Decompose& decompose) {
    using rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    tbb::parallel_for(0, count, [&](int k) { decompose(std::size_t(k), matrix(Eigen::Map<const rows>(&a(k, 0, 0), N, N))); });
  }
};

/// Registers f of the batch against eigen(batch), after their values have been compared: value(batch, matrix, row) is a pair of them.
template <int N, class Result, class F, class Eigen, class Value> void add(const char* name, F, Eigen eigen, Value value) {
  using data = batch<N, Result>;
  const std::string matrices = " of " + std::to_string(data::count) + " matrices " + std::to_string(N) + " x " + std::to_string(N);
  bench::compare("decompositions", name + matrices, 2, "Eigen", [=] {
    const auto d = std::make_shared<data>();
    const auto ours = [d] { ct::jit(F()).into(d->result)(d->a); };
    ours(), eigen(*d);
    for (int k = 0; k < data::count; ++k)
      for (int i = 0; i < N; ++i)
        if (const auto [have, want] = value(*d, k, i); !(std::abs(have - want) <= 1e-9 * N))
          std::fprintf(stderr, "decompositions: %s: values of matrix %d are %g and %g\n", name, k, have, want), std::exit(1);
    return bench::sides{ours, [d, eigen] { eigen(*d); }};
  }, 21);
}

template <int N> void add_eigh();
template <int N> void add_svd();
template <int N> void add_qr();

}  // namespace decompositions
