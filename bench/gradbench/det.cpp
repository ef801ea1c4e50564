/// DET: the gradient of a determinant by expansion by minors along the rows. Minors of the same columns are computed once, on
/// both sides. bench/meson.build compiles this file once for each size, DET_SIZE.

#include <bit>

#include "problems.hpp"

namespace gradbench {
namespace {

/// Expands the minors of the last rows of a, [columns as bits], from those of one row less.
constexpr auto determinant = [](auto a) {
  constexpr int n = int(a.extent(0));
  ct::var<double> element[n][n], minors[1 << n];
  for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) element[i][j] = a(i, j);
  for (unsigned columns = 1; columns < 1u << n; ++columns) {
    const int row = n - std::popcount(columns);
    bool plus = true;
    for (unsigned rest = columns; rest; rest &= rest - 1, plus = !plus) {
      const int j = std::countr_zero(rest);
      const ct::var<double> term = row == n - 1 ? element[row][j] : element[row][j] * minors[columns ^ 1u << j];
      if (rest == columns) minors[columns] = term;
      else minors[columns] = plus ? minors[columns] + term : minors[columns] - term;
    }
  }
  return minors[(1 << n) - 1];
};
constexpr auto gradient = ct::grad(determinant);

template <int N> struct det {
  ct::array<double, N, N> a, by_a, result;

  det() { source().uniform(0, 1, a); }
  void ours() { ct::jit(gradient).into(result)(a); }
  double difference() const { return gradbench::difference(numbers(result), numbers(by_a)); }
  double slope_error() {
    double minors[1 << N];
    return gradbench::slope_error([&] { return forward(minors); }, {{numbers(a), numbers(by_a)}});
  }
  /// minors[columns], of the last rows, as many as there are columns.
  double forward(double (&minors)[1 << N]) const {
    minors[0] = 1;
    for (unsigned columns = 1; columns < 1u << N; ++columns) {
      const double* row = &a(N - std::popcount(columns), 0);
      double sum = 0, sign = 1;
      for (unsigned rest = columns; rest; rest &= rest - 1, sign = -sign) {
        const int j = std::countr_zero(rest);
        sum += sign * row[j] * minors[columns ^ 1u << j];
      }
      minors[columns] = sum;
    }
    return minors[(1 << N) - 1];
  }
  [[gnu::noinline]] void by_hand() {
    double minors[1 << N], by_minors[1 << N] = {};
    forward(minors);
    std::fill(by_a.begin(), by_a.end(), 0.0);
    by_minors[(1 << N) - 1] = 1;
    for (unsigned columns = (1u << N) - 1; columns > 0; --columns) {
      const int r = N - std::popcount(columns);
      double g = by_minors[columns];
      for (unsigned rest = columns; rest; rest &= rest - 1, g = -g) {
        const int j = std::countr_zero(rest);
        by_a(r, j) += g * minors[columns ^ 1u << j];
        by_minors[columns ^ 1u << j] += g * a(r, j);
      }
    }
  }
};

}  // namespace

template <int N> void add_det() { add_scalar<det<N>>("DET: " + std::to_string(N) + " x " + std::to_string(N)); }
template void add_det<DET_SIZE>();

}  // namespace gradbench
