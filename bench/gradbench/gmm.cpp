/// GMM: the gradient of the log posterior of a Gaussian mixture of K components for N points in D dimensions, with a Wishart
/// prior (m = 0, gamma = 1) on the precisions Q^T Q, by weights alpha [K], means mu [K, D], and Q's diagonal exp(q) [K, D] and
/// strictly lower triangle l [K, D (D - 1) / 2], column by column. bench/meson.build compiles this file once for each
/// size, GMM_DIMENSIONS and GMM_COMPONENTS.

#include "problems.hpp"

namespace gradbench {
namespace {

/// Q [d, d] of one component.
constexpr auto factor = [](auto q, auto l) {
  constexpr int d = int(q.extent(0));
  const auto k = ct::iota<std::int32_t, d>(q);
  const auto row = ct::expand_dims<1>(k);
  const auto column = ct::expand_dims<0>(k);
  const auto below = (column * (2 * d - 3 - column) >> 1) + row - 1;  // where l holds an element below the diagonal
  return ct::where(row > column, ct::take<0>(l, below), ct::where(row == column, ct::expand_dims<0>(ct::exp(q)), 0.0));
};
/// The logarithm of alpha's exponential times one component's density at x, up to a constant.
constexpr auto log_density = [](auto alpha, auto mu, auto q, auto Q, auto x) {
  return alpha + ct::sum(q) - 0.5 * ct::sum(ct::square(ct::matmul(Q, x - mu)));
};
constexpr auto log_densities = [](auto alpha, auto mu, auto q, auto l, auto x) {  // of one component at all points
  return ct::vmap(log_density, ct::in_axes<ct::none, ct::none, ct::none, ct::none, 0>)(alpha, mu, q, factor(q, l), x);
};
/// log det - |Q|^2 / 2 of the Wishart prior, up to a constant.
constexpr auto log_prior = [](auto q, auto l) { return -0.5 * (ct::sum(ct::exp(2.0 * q)) + ct::sum(l * l)); };
constexpr auto log_posterior = [](auto alpha, auto mu, auto q, auto l, auto x) {
  const auto beta = ct::vmap(log_densities, ct::in_axes<0, 0, 0, 0, ct::none>)(alpha, mu, q, l, x);  // [K, n]
  return ct::sum(ct::logsumexp(beta, ct::axis<0>)) - double(x.extent(0)) * ct::logsumexp(alpha) + ct::sum(ct::vmap(log_prior)(q, l));
};
constexpr auto gradient = ct::grad(log_posterior, ct::wrt<0, 1, 2, 3>);

template <int D, int K, int N> struct gmm {
  static constexpr int lower = D * (D - 1) / 2;
  ct::array<double, K> alpha, by_alpha;
  ct::array<double, K, D> mu, q, by_mu, by_q;
  ct::array<double, K, lower> l, by_l;
  ct::array<double, N, D> x;
  std::tuple<ct::array<double, K>, ct::array<double, K, D>, ct::array<double, K, D>, ct::array<double, K, lower>> result;

  gmm() {
    source s;
    s.normal(x, alpha);
    s.uniform(0, 1, mu);
    s.normal(q, l);
  }

  void ours() { ct::jit(gradient).into(result)(alpha, mu, q, l, x); }
  double difference() const {
    const auto& [a, m, b, c] = result;
    return std::max({gradbench::difference(numbers(a), numbers(by_alpha)), gradbench::difference(numbers(m), numbers(by_mu)),
                     gradbench::difference(numbers(b), numbers(by_q)), gradbench::difference(numbers(c), numbers(by_l))});
  }
  double slope_error() {
    return gradbench::slope_error([this] { return value(); }, {{numbers(alpha), numbers(by_alpha)}, {numbers(mu), numbers(by_mu)},
                                                               {numbers(q), numbers(by_q)}, {numbers(l), numbers(by_l)}});
  }

  // ---- by hand, point by point ----

  /// Q's columns, from the diagonal down or from a multiple of 8 rows (zero above the diagonal), so that they are whole vectors.
  static constexpr int step = D < 16 ? 1 : 8, together = D % 8 ? 1 : 4, height = (D + step - 1) / step * step, elements = [] {
    int n = 0;
    for (int j = 0; j < D; ++j) n += height - j / step * step;
    return n;
  }();
  void columns(int k, double* __restrict to) const {
    const double* pl = &l.data()[k * lower];
    for (int j = 0; j < D; ++j) {
      for (int i = j / step * step; i < height; ++i) *to++ = i < j || i >= D ? 0 : i == j ? std::exp(q(k, j)) : *pl++;
    }
  }
  /// y = Q (x_n - mu_k); returns |y|^2
  double moved(int n, int k, const double* __restrict pq, double* __restrict y, double* __restrict c) const {
    const double *px = &x.data()[n * D], *pm = &mu.data()[k * D];
    for (int i = 0; i < D; ++i) c[i] = px[i] - pm[i];
    for (int i = 0; i < height; ++i) y[i] = 0;
    for (int j = 0; j < D; j += together) {  // several columns at once, as y goes through memory
      const int first = j / step * step, rest = height - first;
      for (int i = 0; i < rest; ++i) {
        double sum = 0;
        for (int u = 0; u < together; ++u) sum += pq[u * rest + i] * c[j + u];
        y[first + i] += sum;
      }
      pq += together * rest;
    }
    double squares = 0;
    for (int i = 0; i < D; ++i) squares += y[i] * y[i];
    return squares;
  }
  static double log_sum_exp(const double* v, double* weights) {
    double top = v[0], sum = 0;
    for (int k = 1; k < K; ++k) top = std::max(top, v[k]);
    for (int k = 0; k < K; ++k) sum += weights[k] = std::exp(v[k] - top);
    for (int k = 0; k < K; ++k) weights[k] /= sum;
    return top + std::log(sum);
  }

  double value() const {
    std::vector<double> Q(K * elements), beta(K), weights(K), y(height), c(D), offset(K);
    double v = 0;
    for (int k = 0; k < K; ++k) columns(k, &Q[k * elements]);
    for (int i = 0; i < K * D; ++i) offset[i / D] += q.data()[i];
    for (int n = 0; n < N; ++n) {
      for (int k = 0; k < K; ++k) beta[k] = alpha(k) + offset[k] - 0.5 * moved(n, k, &Q[k * elements], y.data(), c.data());
      v += log_sum_exp(beta.data(), weights.data());
    }
    v -= N * log_sum_exp(alpha.data(), weights.data());
    for (double e : Q) v -= 0.5 * e * e;
    return v;
  }

  [[gnu::noinline]] void by_hand() {
    std::vector<double> Q(K * elements), by_Q(K * elements), diagonal(K * D), by_diagonal(K * D), offset(K), beta(K), weights(K);
    std::vector<double> y(K * height), c(K * D), pull(K * D);
    for (int k = 0; k < K; ++k) columns(k, &Q[k * elements]);
    for (int i = 0; i < K * D; ++i) diagonal[i] = std::exp(q.data()[i]), offset[i / D] += q.data()[i];
    std::fill(by_alpha.begin(), by_alpha.end(), 0.0);
    for (int n = 0; n < N; ++n) {
      for (int k = 0; k < K; ++k) beta[k] = alpha(k) + offset[k] - 0.5 * moved(n, k, &Q[k * elements], &y[k * height], &c[k * D]);
      log_sum_exp(beta.data(), weights.data());
      for (int k = 0; k < K; ++k) {
        const double w = weights[k];
        double *__restrict py = &y[k * height], *__restrict pg = &by_Q[k * elements];
        const double* __restrict pc = &c[k * D];
        by_alpha(k) += w;
        for (int i = 0; i < height; ++i) py[i] *= w;
        for (int i = 0; i < D; ++i) pull[k * D + i] += py[i];
        for (int j = 0; j < D; ++j) {
          const int first = j / step * step, rest = height - first;
          for (int i = 0; i < rest; ++i) pg[i] -= py[first + i] * pc[j];
          pg += rest;
        }
      }
    }
    for (int k = 0; k < K; ++k) {
      const double* pg = &by_Q[k * elements];
      double* pl = &by_l.data()[k * lower];
      for (int j = 0; j < D; ++j)
        for (int i = j / step * step; i < height; ++i, ++pg)
          if (i == j) by_diagonal[k * D + j] = *pg;
          else if (i > j && i < D) *pl++ = *pg;
    }
    finish(diagonal.data(), by_diagonal.data(), pull.data());
  }

  /// From sums over the points: by_mu = Q^T pull, by q through the exponential, and what does not depend on points.
  void finish(const double* diagonal, const double* by_diagonal, const double* pull) {
    double weights[K];
    for (int k = 0; k < K; ++k) {
      const double *pl = &l.data()[k * lower], *p = &pull[k * D], *e = &diagonal[k * D];
      for (int j = 0; j < D; ++j) {
        double g = e[j] * p[j];
        for (int i = j + 1; i < D; ++i) g += pl[i - j - 1] * p[i];
        pl += D - 1 - j;
        by_mu(k, j) = g;
        by_q(k, j) = by_alpha(k) + e[j] * (by_diagonal[k * D + j] - e[j]);
      }
    }
    log_sum_exp(alpha.data(), weights);
    for (int k = 0; k < K; ++k) by_alpha(k) -= N * weights[k];
    for (int i = 0; i < K * lower; ++i) by_l.data()[i] -= l.data()[i];
  }

  // ---- by hand, 8 points per vector ----

  /// Rows of Q that are computed together, and Q's rows in tiles: [tile][column][row of the tile], zero above the diagonal.
  static constexpr int tile = D < 4 ? 2 : 4, tiles = (D + tile - 1) / tile, rows = tiles * tile;
  static constexpr int packed = tile * tile * tiles * (tiles + 1) / 2, block = N < 128 ? N / 8 : 16;
  static constexpr double* at(double* packed_q, int t) { return packed_q + tile * tile * (t * (t + 1) / 2); }
  static_assert(N % 8 == 0);

  /// Sums over the lanes of each of 8 vectors.
  static lanes sums(const lanes* v) {
    lanes u[4], t[2];
    for (int i = 0; i < 4; ++i)
      u[i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
             __builtin_shufflevector(v[2 * i], v[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    for (int i = 0; i < 2; ++i)
      t[i] = __builtin_shufflevector(u[2 * i], u[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
             __builtin_shufflevector(u[2 * i], u[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(t[0], t[1], 0, 1, 2, 3, 8, 9, 10, 11) + __builtin_shufflevector(t[0], t[1], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  /// y [rows][vectors] = Q c for Width vectors from v on, tile by tile; |y|^2 per lane.
  template <int Width> static void multiply(const double* pq, const lanes (*c)[block], lanes (*y)[block], int v, lanes* squares) {
    lanes s[Width] = {};
    for (int t = 0; t < tiles; ++t) {
      lanes acc[tile][Width] = {};
      for (int j = 0; j < (t + 1) * tile; ++j, pq += tile)
        for (int i = 0; i < tile; ++i) for (int w = 0; w < Width; ++w) acc[i][w] += pq[i] * c[j][v + w];
      for (int i = 0; i < tile; ++i) for (int w = 0; w < Width; ++w) y[t * tile + i][v + w] = acc[i][w], s[w] += acc[i][w] * acc[i][w];
    }
    for (int w = 0; w < Width; ++w) squares[v + w] = s[w];
  }
  struct workspace {
    lanes points[rows][block], c[rows][block], y[K][rows][block], beta[K][block];
    double q[K][packed], by_q[K][packed], diagonal[K * D], by_diagonal[K * D], pull[K * D], offset[K];
  };

  [[gnu::noinline]] void by_hand_on_vectors() {
    static const auto memory = std::make_unique<workspace>();
    workspace& m = *memory;
    std::fill(by_alpha.begin(), by_alpha.end(), 0.0);
    std::fill(std::begin(m.pull), std::end(m.pull), 0.0), std::fill(&m.by_q[0][0], &m.by_q[0][0] + K * packed, 0.0);
    for (int k = 0; k < K; ++k) {
      m.offset[k] = alpha(k);
      const double* pl = &l.data()[k * lower];
      for (int j = 0; j < D; ++j) {
        const int t = j / tile;
        m.offset[k] += q(k, j);
        for (int i = t * tile; i < j; ++i) at(m.q[k], t)[j * tile + i % tile] = 0;
        at(m.q[k], t)[j * tile + j % tile] = m.diagonal[k * D + j] = std::exp(q(k, j));
        for (int i = j + 1; i < D; ++i) at(m.q[k], i / tile)[j * tile + i % tile] = *pl++;
      }
    }
    for (int first = 0; first < N; first += 8 * block) points_from(m, first, std::min(block, (N - first) / 8));
    for (int k = 0; k < K; ++k) {
      double* pl = &by_l.data()[k * lower];
      for (int j = 0; j < D; ++j) {
        m.by_diagonal[k * D + j] = -at(m.by_q[k], j / tile)[j * tile + j % tile];
        for (int i = j + 1; i < D; ++i) *pl++ = -at(m.by_q[k], i / tile)[j * tile + i % tile];
      }
    }
    finish(m.diagonal, m.by_diagonal, m.pull);
  }
  void points_from(workspace& m, int first, int vectors) {
    for (int j = 0; j < D; ++j)
      for (int v = 0; v < vectors; ++v) for (int i = 0; i < 8; ++i) m.points[j][v][i] = x.data()[(first + 8 * v + i) * D + j];
    for (int k = 0; k < K; ++k) {
      for (int j = 0; j < D; ++j) for (int v = 0; v < vectors; ++v) m.c[j][v] = m.points[j][v] - mu(k, j);
      int v = 0;
      for (; v + 4 <= vectors; v += 4) multiply<4>(m.q[k], m.c, m.y[k], v, m.beta[k]);
      for (; v < vectors; ++v) multiply<1>(m.q[k], m.c, m.y[k], v, m.beta[k]);
      for (v = 0; v < vectors; ++v) m.beta[k][v] = m.offset[k] - 0.5 * m.beta[k][v];
    }
    for (int v = 0; v < vectors; ++v) {
      lanes top = m.beta[0][v], sum = {};
      for (int k = 1; k < K; ++k) top = larger(top, m.beta[k][v]);
      for (int k = 0; k < K; ++k) sum += m.beta[k][v] = exponential(m.beta[k][v] - top);
      const lanes inverse = 1.0 / sum;
      for (int k = 0; k < K; ++k) m.beta[k][v] *= inverse;
    }
    for (int k = 0; k < K; ++k) {
      lanes weight = {};
      for (int v = 0; v < vectors; ++v) weight += m.beta[k][v];
      by_alpha(k) += total(weight);
      for (int j = 0; j < D; ++j) {
        lanes pull = {};
        for (int v = 0; v < vectors; ++v) m.c[j][v] = m.points[j][v] - mu(k, j), pull += m.y[k][j][v] *= m.beta[k][v];
        m.pull[k * D + j] += total(pull);
      }
      for (int t = 0; t < tiles; ++t)
        for (int s = 0; s <= t; ++s) {
          lanes acc[tile][tile] = {};  // [column][row]
          for (int v = 0; v < vectors; ++v)
            for (int j = 0; j < tile; ++j) for (int i = 0; i < tile; ++i) acc[j][i] += m.c[s * tile + j][v] * m.y[k][t * tile + i][v];
          double* g = at(m.by_q[k], t) + s * tile * tile;
          if constexpr (tile == 4) store(g, load(g) + sums(acc[0])), store(g + 8, load(g + 8) + sums(acc[2]));
          else for (int j = 0; j < tile; ++j) for (int i = 0; i < tile; ++i) g[j * tile + i] += total(acc[j][i]);
        }
    }
  }
};

}  // namespace

template <int D, int K> void add_gmm() {
  const std::string name = "GMM: " + std::to_string(D) + " dimensions, " + std::to_string(K) + " components, 1,000 points";
  add_scalar<gmm<D, K, 1000>>(name);
  add_vectors<gmm<D, K, 1000>>(name);
}
template void add_gmm<GMM_DIMENSIONS, GMM_COMPONENTS>();

}  // namespace gradbench
