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

#include "harness.hpp"

namespace {

namespace ct = cotangent;

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

/// Loss and gradient of a linear model, its loss per sample one of a residual or of a margin.
struct linear_parts {
  double loss = 0;
  column by_w = column::Zero(features);
  void operator+=(const linear_parts& other) { loss += other.loss, by_w += other.by_w; }
};
struct linear_problem {
  ct::array<float, samples, features> x;
  ct::array<float, samples> y;
  ct::array<float, features> w;
  linear_problem() { fill(x, 1), fill(y, 1), fill(w, 0.1); }

  template <class Slope> linear_parts by_hand(int threads, const Slope& slope) const {
    return sum_of_blocks<linear_parts>(threads, [&](linear_parts& own, ct::extent first, ct::extent n) {
      const rows_in xs(x.data() + first * features, n, features);
      const numbers_in ys(y.data() + first, n);
      const column z = xs * numbers_in(w.data(), features);
      const column slopes = slope(z.array(), ys.array(), own.loss).matrix();
      own.by_w.noalias() += xs.transpose() * slopes;
    });
  }
};
constexpr auto squares = [](auto w, auto x, auto y) { return ct::mean(ct::square(ct::matmul(x, w) - y)); };
const auto slope_of_squares = [](const auto& z, const auto& y, double& loss) {
  const Eigen::ArrayXf r = z - y;
  loss += r.square().sum() / samples;
  return Eigen::ArrayXf(r * (2.0f / samples));
};
constexpr auto logistic = [](auto w, auto x, auto y) { return ct::mean(ct::nn::softplus(-ct::sign(y) * ct::matmul(x, w))); };
const auto slope_of_logistic = [](const auto& z, const auto& y, double& loss) {
  const Eigen::ArrayXf s = y.sign(), m = -s * z, e = (-m.abs()).exp();  // softplus(m) = max(m, 0) + log(1 + exp(-|m|))
  loss += (m.max(0.0f) + (1.0f + e).log()).sum() / samples;
  return Eigen::ArrayXf((m > 0.0f).select(Eigen::ArrayXf(1.0f / (1.0f + e)), e / (1.0f + e)) * -s / samples);
};

/// The sums of all products of two features. By hand half of them, as Eigen's rankUpdate does.
struct moment_parts {
  matrix sums = matrix::Zero(features, features);
  void operator+=(const moment_parts& other) { sums += other.sums; }
};
constexpr auto moments = [](auto x) { return ct::matmul(ct::transpose(x), x); };
matrix moments_by_hand(const linear_problem& p, int threads) {
  const moment_parts parts = sum_of_blocks<moment_parts>(threads, [&](moment_parts& own, ct::extent first, ct::extent n) {
    own.sums.selfadjointView<Eigen::Lower>().rankUpdate(rows_in(p.x.data() + first * features, n, features).transpose());
  });
  return parts.sums.selfadjointView<Eigen::Lower>();
}

/// A hidden layer of tanh.
struct network_parts {
  double loss = 0;
  matrix by_w = matrix::Zero(features, hidden), by_v = matrix::Zero(hidden, targets);
  row by_b = row::Zero(hidden), by_c = row::Zero(targets);
  void operator+=(const network_parts& o) { loss += o.loss, by_w += o.by_w, by_v += o.by_v, by_b += o.by_b, by_c += o.by_c; }
};
constexpr auto network = [](auto w, auto b, auto v, auto c, auto x, auto y) {
  return ct::mean(ct::square(ct::matmul(ct::tanh(ct::matmul(x, w) + b), v) + c - y));
};
struct network_problem {
  ct::array<float, features, hidden> w;
  ct::array<float, hidden> b;
  ct::array<float, hidden, targets> v;
  ct::array<float, targets> c;
  ct::array<float, samples, features> x;
  ct::array<float, samples, targets> y;
  network_problem() { fill(w, 0.1), fill(b, 0.1), fill(v, 0.1), fill(c, 0.1), fill(x, 1), fill(y, 1); }

  network_parts by_hand(int threads) const {
    return sum_of_blocks<network_parts>(threads, [&](network_parts& own, ct::extent first, ct::extent n) {
      const rows_in xs(x.data() + first * features, n, features), ys(y.data() + first * targets, n, targets);
      const rows_in ws(w.data(), features, hidden), vs(v.data(), hidden, targets);
      matrix h(n, hidden), r(n, targets), back(n, hidden);
      h.noalias() = xs * ws;
      h = (h.rowwise() + Eigen::Map<const row>(b.data(), hidden)).array().tanh().matrix();
      r.noalias() = h * vs;
      r = (r - ys).rowwise() + Eigen::Map<const row>(c.data(), targets);
      own.loss += r.squaredNorm() / (samples * targets);
      r *= 2.0f / (samples * targets);
      own.by_v.noalias() += h.transpose() * r;
      own.by_c += r.colwise().sum();
      back.noalias() = r * vs.transpose();
      back.array() *= 1.0f - h.array().square();
      own.by_w.noalias() += xs.transpose() * back;
      own.by_b += back.colwise().sum();
    });
  }
};

/// Both sides must agree before they are timed.
void require(const char* name, double ours, double by_hand, double scale) {
  if (std::abs(ours - by_hand) <= 1e-4 * scale) return;
  std::fprintf(stderr, "samples: %s: %g and by hand %g\n", name, ours, by_hand);
  std::exit(1);
}
template <class F, class Slope> void add_linear(const char* name, int threads, const F& f, const Slope& slope) {
  bench::compare("samples", name, threads, "eigen by hand", [=] {
    ct::set_num_threads(threads);
    const auto p = std::make_shared<linear_problem>();
    const auto [loss, by_w] = ct::jit(ct::value_and_grad(f))(p->w, p->x, p->y);
    const linear_parts parts = p->by_hand(threads, slope);
    require(name, loss(), parts.loss, parts.loss);
    for (int i = 0; i < features; ++i) require(name, by_w(i), parts.by_w(i), parts.by_w.norm());
    return bench::sides{[=] { return ct::jit(ct::value_and_grad(f))(p->w, p->x, p->y); }, [=] { return p->by_hand(threads, slope).loss; }};
  });
}
void add_moments(int threads) {
  const char* const name = "products of pairs of 64 features";
  bench::compare("samples", name, threads, "eigen by hand", [=] {
    ct::set_num_threads(threads);
    const auto p = std::make_shared<linear_problem>();
    const auto ours = ct::jit(moments)(p->x);
    const matrix by_hand = moments_by_hand(*p, threads);
    for (int i = 0; i < features * features; ++i) require(name, ours.data()[i], by_hand.data()[i], by_hand(0, 0));
    return bench::sides{[=] { return ct::jit(moments)(p->x); }, [=] { return moments_by_hand(*p, threads)(0, 0); }};
  });
}
void add_network(int threads) {
  const char* const name = "network 64-64-8, tanh";
  const auto f = ct::jit(ct::value_and_grad(network, ct::wrt<0, 1, 2, 3>));
  bench::compare("samples", name, threads, "eigen by hand", [=] {
    ct::set_num_threads(threads);
    const auto p = std::make_shared<network_problem>();
    const auto ours = [=] { return f(p->w, p->b, p->v, p->c, p->x, p->y); };
    const auto [loss, gradients] = ours();
    const network_parts parts = p->by_hand(threads);
    require(name, loss(), parts.loss, parts.loss);
    for (int i = 0; i < features * hidden; ++i) require(name, std::get<0>(gradients).data()[i], parts.by_w.data()[i], parts.by_w.norm());
    for (int i = 0; i < hidden; ++i) require(name, std::get<1>(gradients)(i), parts.by_b(i), parts.by_b.norm());
    return bench::sides{ours, [=] { return p->by_hand(threads).loss; }};
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::init(argc, argv);
  for (const int threads : {2, 1}) {
    add_linear("linear regression, 64 features", threads, squares, slope_of_squares);
    add_linear("logistic regression, 64 features", threads, logistic, slope_of_logistic);
    add_moments(threads);
    add_network(threads);
  }
  return bench::run(argc, argv);
}
