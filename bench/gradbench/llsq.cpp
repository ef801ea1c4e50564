/// LLSQ: the gradient of half the sum of squares of sign(t) - p(t), for a polynomial p of m coefficients x and n points t in
/// [-1, 1].

#include "problems.hpp"

namespace gradbench {
namespace {

/// The residual at one point.
constexpr auto residual = [](auto x, auto t) {
  const auto step = [=](auto p, auto coefficient) { return std::pair(p * t + coefficient, ct::none); };
  return ct::sign(t) - std::get<0>(ct::scan(step, 0.0 * t, x, ct::reverse));
};
template <int N> struct half_squares {
  template <class X> constexpr auto operator()(const X& x) const {
    const auto t = ct::iota<double, N>(x) * (2.0 / (N - 1)) - 1.0;
    return 0.5 * ct::sum(ct::square(ct::vmap(residual, ct::in_axes<ct::none, 0>)(x, t)));
  }
};

template <int N, int M> struct llsq {
  ct::array<double, M> x, by_x, result;

  llsq() { source().uniform(0, 1, x); }
  void ours() { ct::jit(ct::grad(half_squares<N>{})).into(result)(x); }
  double difference() const { return gradbench::difference(numbers(result), numbers(by_x)); }
  static double point(int i) { return -1 + i * 2.0 / (N - 1); }
  double slope_error() {
    const auto value = [this] {
      double sum = 0;
      for (int i = 0; i < N; ++i) {
        double p = 0;
        for (int j = M; j-- > 0;) p = p * point(i) + x(j);
        const double r = (point(i) > 0) - (point(i) < 0) - p;
        sum += r * r;
      }
      return sum / 2;
    };
    return gradbench::slope_error(value, {{numbers(x), numbers(by_x)}});
  }

  /// Four points at a time; their powers are kept, so that both sums are over the coefficients.
  [[gnu::noinline]] void by_hand() {
    static_assert(N % 4 == 0);
    double powers[4][M], g[M] = {};
    for (int i = 0; i < N; i += 4) {
      double t[4], power[4], r[4];
      for (int k = 0; k < 4; ++k) t[k] = point(i + k), power[k] = 1, r[k] = (t[k] > 0) - (t[k] < 0);
      for (int j = 0; j < M; ++j)
        for (int k = 0; k < 4; ++k) powers[k][j] = power[k], r[k] -= x(j) * power[k], power[k] *= t[k];
      for (int j = 0; j < M; ++j) g[j] -= r[0] * powers[0][j] + r[1] * powers[1][j] + r[2] * powers[2][j] + r[3] * powers[3][j];
    }
    std::copy_n(g, M, by_x.data());
  }
  /// 32 points at a time, in 4 vectors: the scheme of Horner, then a sum over points per coefficient.
  [[gnu::noinline]] void by_hand_on_vectors() {
    lanes g[M] = {};
    int i = 0;
    for (; i + 32 <= N; i += 32) points_from<4>(i, g);
    for (; i < N; i += 8) points_from<1>(i, g);
    for (int j = 0; j < M; ++j) by_x(j) = total(g[j]);
  }
  template <int Vectors> void points_from(int first, lanes* g) {
    static_assert(N % 8 == 0);
    lanes t[Vectors], r[Vectors] = {};
    for (int v = 0; v < Vectors; ++v) for (int k = 0; k < 8; ++k) t[v][k] = point(first + 8 * v + k);
    for (int j = M; j-- > 0;) for (int v = 0; v < Vectors; ++v) r[v] = r[v] * t[v] + x(j);
    for (int v = 0; v < Vectors; ++v) r[v] -= (t[v] > 0.0 ? lanes{} + 1.0 : lanes{}) - (t[v] < 0.0 ? lanes{} + 1.0 : lanes{});
    for (int j = 0; j < M; ++j)
      for (int v = 0; v < Vectors; ++v) g[j] += r[v], r[v] *= t[v];
  }
};

}  // namespace

void add_llsq() {
  add_scalar<llsq<16392, 128>>("LLSQ: 16,392 points, 128 coefficients");
  add_vectors<llsq<16392, 128>>("LLSQ: 16,392 points, 128 coefficients");
}

}  // namespace gradbench
