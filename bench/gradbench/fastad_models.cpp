/// The models of FastAD's paper: value and gradient of the log posteriors of a Bayesian linear regression and of a stochastic
/// volatility model.

#include "problems.hpp"

namespace gradbench {
namespace {

// ---- Bayesian linear regression: y ~ N(X w + b, sigma), w and b ~ N(0, 1), sigma uniform ----

constexpr auto regression = [](auto w, auto b, auto s, auto X, auto y) {
  const auto z = (y - ct::matmul(X, w) - b) / s;
  return -0.5 * (ct::sum(z * z) + ct::sum(w * w) + b * b) - double(y.extent(0)) * ct::log(s);
};

template <int N, int P> struct linear_regression {
  ct::array<double, P> w, by_w;
  ct::array<double> b, s, by_b, by_s;
  ct::array<double, N, P> X;
  ct::array<double, N> y;
  double value = 0;
  std::tuple<ct::array<double>, std::tuple<ct::array<double, P>, ct::array<double>, ct::array<double>>> result;

  linear_regression() {
    source r;
    r.normal(w, b, X, y);
    s() = 1.3;
  }
  void ours() { ct::jit(ct::value_and_grad(regression, ct::wrt<0, 1, 2>)).into(result)(w, b, s, X, y); }
  double log_density(double* g, double& gb, double& gs) const {
    const double inverse = 1 / s();
    double squares = 0, sum = 0, own = b() * b(), all[P] = {};
    for (int i = 0; i < N; ++i) {
      const double* row = &X.data()[i * P];
      double at[8] = {}, r = y(i) - b();
      for (int j = 0; j < P; ++j) at[j % 8] += row[j] * w(j);
      for (double a : at) r -= a;
      r *= inverse;
      squares += r * r, sum += r;
      for (int j = 0; j < P; ++j) all[j] += r * row[j];
    }
    for (int j = 0; j < P; ++j) g[j] = all[j] * inverse - w(j), own += w(j) * w(j);
    gb = sum * inverse - b(), gs = (squares - N) * inverse;
    return -0.5 * (squares + own) - N * std::log(s());
  }
  [[gnu::noinline]] void by_hand() { value = log_density(by_w.data(), by_b(), by_s()); }
  double difference() const {
    const auto& [v, g] = result;
    return std::max({gradbench::difference(numbers(v), {&value, 1}), gradbench::difference(numbers(std::get<0>(g)), numbers(by_w)),
                     gradbench::difference(numbers(std::get<1>(g)), numbers(by_b)), gradbench::difference(numbers(std::get<2>(g)), numbers(by_s))});
  }
  double slope_error() {
    double g[P], gb, gs;
    return gradbench::slope_error([&] { return log_density(g, gb, gs); }, {{numbers(w), numbers(by_w)}, {numbers(b), numbers(by_b)}, {numbers(s), numbers(by_s)}});
  }
};

// ---- stochastic volatility (Stan user's guide): y_t ~ N(0, exp(h_t / 2)), h an autoregressive process of normal noise ----

constexpr auto volatility = [](auto phi, auto sigma, auto mu, auto noise, auto y) {
  const auto scaled = sigma * noise;
  const auto step = [=](auto h, auto e) { const auto next = e + phi * h; return std::pair(next, next); };
  const auto first = scaled(ct::index<0>) / ct::sqrt(1.0 - phi * phi);
  const auto rest = std::get<1>(ct::scan(step, first, ct::slice<ct::range<1, noise.extent(0)>>(scaled)));
  const auto h = mu + ct::concatenate<0>(ct::expand_dims<0>(first), rest);
  const auto of_prior = ct::log(1.0 + ct::square(sigma / 5.0)) + ct::log(1.0 + ct::square(mu / 10.0));  // Cauchy
  return -0.5 * ct::sum(noise * noise) - of_prior - 0.5 * ct::sum(h + y * y * ct::exp(-h));
};

template <int N> struct stochastic_volatility {
  ct::array<double> phi, sigma, mu, by_phi, by_sigma, by_mu;
  ct::array<double, N> noise, y, by_noise;
  double value = 0;
  std::tuple<ct::array<double>, std::tuple<ct::array<double>, ct::array<double>, ct::array<double>, ct::array<double, N>>> result;

  stochastic_volatility() {
    source().normal(noise, y);
    phi() = 0.95, sigma() = 0.25, mu() = -1.02;
  }
  void ours() { ct::jit(ct::value_and_grad(volatility, ct::wrt<0, 1, 2, 3>)).into(result)(phi, sigma, mu, noise, y); }
  double log_density(double* g, double& gphi, double& gsigma, double& gmu) const {
    static std::vector<double> h(N), by_h(N);  // without mu
    const double p = phi(), s = sigma(), m = mu(), shrink = 1 / std::sqrt(1 - p * p);
    h[0] = s * noise(0) * shrink;
    for (int t = 1; t < N; ++t) h[t] = s * noise(t) + p * h[t - 1];
    for (int t = 0; t < N; ++t) by_h[t] = std::exp(-(h[t] + m));
    double sum = 0;
    gmu = 0, gphi = 0, gsigma = 0;
    for (int t = 0; t < N; ++t) {
      const double q = y(t) * y(t) * by_h[t];
      sum += h[t] + m + q + noise(t) * noise(t);
      gmu += by_h[t] = 0.5 * (q - 1);
    }
    double back = 0;
    for (int t = N - 1; t > 0; --t) {
      back = by_h[t] + p * back;
      gphi += back * h[t - 1], gsigma += back * noise(t);
      g[t] = s * back - noise(t);
    }
    back = by_h[0] + p * back;
    gphi += back * h[0] * p * shrink * shrink, gsigma += back * noise(0) * shrink;
    g[0] = s * shrink * back - noise(0);
    gsigma -= 2 * s / (25 + s * s), gmu -= 2 * m / (100 + m * m);
    return -0.5 * sum - std::log(1 + s * s / 25) - std::log(1 + m * m / 100);
  }
  [[gnu::noinline]] void by_hand() { value = log_density(by_noise.data(), by_phi(), by_sigma(), by_mu()); }
  double difference() const {
    const auto& [v, g] = result;
    return std::max({gradbench::difference(numbers(v), {&value, 1}), gradbench::difference(numbers(std::get<0>(g)), numbers(by_phi)),
                     gradbench::difference(numbers(std::get<1>(g)), numbers(by_sigma)), gradbench::difference(numbers(std::get<2>(g)), numbers(by_mu)),
                     gradbench::difference(numbers(std::get<3>(g)), numbers(by_noise))});
  }
  double slope_error() {
    double a, b, c;
    std::vector<double> g(N);
    return gradbench::slope_error([&] { return log_density(g.data(), a, b, c); },
                                  {{numbers(phi), numbers(by_phi)}, {numbers(sigma), numbers(by_sigma)}, {numbers(mu), numbers(by_mu)},
                                   {numbers(noise), numbers(by_noise)}});
  }
};

}  // namespace

void add_fastad_models() {
  add_scalar<linear_regression<10000, 32>>("FastAD: linear regression, 10,000 points, 32 predictors");
  add_scalar<stochastic_volatility<16384>>("FastAD: stochastic volatility, 16,384 points");
}

}  // namespace gradbench
