/// Linear and logistic regression, and the products of pairs of features.

#include "samples.hpp"

namespace samples {
namespace {

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

}  // namespace

void add_linear_models(int threads) {
  add_linear("linear regression, 64 features", threads, squares, slope_of_squares);
  add_linear("logistic regression, 64 features", threads, logistic, slope_of_logistic);
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

}  // namespace samples
