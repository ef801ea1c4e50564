/// ODE: the gradient by x [n] of the sum of y(2), where y_0' = x_0, y_i' = x_i y_{i-1} and y(0) = 0, by s steps of the classical
/// method of Runge and Kutta. GradBench differentiates the last element alone, which is 0 with all its derivatives at its sizes;
/// the work is the same.

#include "problems.hpp"

namespace gradbench {
namespace {

template <int Steps> struct solution {
  template <class X> constexpr auto operator()(const X& x) const {
    constexpr double h = 2.0 / Steps;
    const auto field = [=](auto y) {
      const auto i = ct::iota<std::int32_t, X::extent(0)>(y);
      return ct::where(i == 0, x, x * ct::roll<0, 1>(y));
    };
    const auto step = [=](auto, auto y) {
      const auto k1 = field(y), k2 = field(y + h / 2 * k1), k3 = field(y + h / 2 * k2), k4 = field(y + h * k3);
      return y + h / 6 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
    };
    return ct::sum(ct::fori_loop<0, Steps>(step, 0.0 * x));
  }
};

template <int N, int Steps> struct ode {
  static constexpr double h = 2.0 / Steps;
  ct::array<double, N> x, by_x, result;

  ode() { source().uniform(0, 1, x); }
  void ours() { ct::jit(ct::grad(solution<Steps>{})).into(result)(x); }
  double difference() const { return gradbench::difference(numbers(result), numbers(by_x)); }
  double slope_error() {
    std::vector<double> y((Steps + 1) * N), k(4 * N);
    const auto value = [&] {
      double sum = 0;
      for (int s = 0; s < Steps; ++s) step(&y[s * N], &y[(s + 1) * N], k.data());
      for (int i = 0; i < N; ++i) sum += y[Steps * N + i];
      return sum;
    };
    return gradbench::slope_error(value, {{numbers(x), numbers(by_x)}});
  }

  /// k = x * (y + c k_before), shifted by one.
  void field(const double* __restrict y, double c, const double* __restrict before, double* __restrict k) const {
    k[0] = x(0);
    const double* __restrict px = x.data();
    for (int i = 1; i < N; ++i) k[i] = px[i] * (y[i - 1] + c * before[i - 1]);
  }
  /// The four slopes at y, and y after a step.
  void step(const double* __restrict y, double* __restrict next, double* __restrict k) const {
    slopes(y, k);
    for (int i = 0; i < N; ++i) next[i] = y[i] + h / 6 * (k[i] + 2 * k[N + i] + 2 * k[2 * N + i] + k[3 * N + i]);
  }
  void slopes(const double* y, double* k) const {
    field(y, 0, y, k);
    field(y, h / 2, k, k + N);
    field(y, h / 2, k + N, k + 2 * N);
    field(y, h, k + 2 * N, k + 3 * N);
  }
  /// Keeps y of all steps, and computes the slopes again on the way back.
  [[gnu::noinline]] void by_hand() {
    static std::vector<double> y((Steps + 1) * N), k(4 * N), by_y(N), by_k(N), next(N);
    for (int s = 0; s < Steps; ++s) step(&y[s * N], &y[(s + 1) * N], k.data());
    std::fill(by_x.begin(), by_x.end(), 0.0), std::fill(by_y.begin(), by_y.end(), 1.0);
    for (int s = Steps; s-- > 0;) {
      const double* p = &y[s * N];
      slopes(p, k.data());
      for (int i = 0; i < N; ++i) by_k[i] = h / 6 * by_y[i], next[i] = by_y[i];
      pull(p, h, &k[2 * N], h / 3, by_y.data(), by_k.data(), next.data());
      pull(p, h / 2, &k[N], h / 3, by_y.data(), by_k.data(), next.data());
      pull(p, h / 2, &k[0], h / 6, by_y.data(), by_k.data(), next.data());
      pull(p, 0, p, 0, by_y.data(), by_k.data(), next.data());
      std::swap(by_y, next);
    }
  }

 private:
  /// Through one slope, x_i (y_{i-1} + c before_{i-1}), from by_k; by_k then is that of the slope before, which has `weight` in
  /// the step.
  void pull(const double* __restrict y, double c, const double* __restrict before, double weight, const double* __restrict by_y,
            double* __restrict by_k, double* __restrict next) {
    double* __restrict g = by_x.data();
    const double* __restrict px = x.data();
    g[0] += by_k[0];
    for (int i = 1; i < N; ++i) {
      const double t = by_k[i] * px[i];
      g[i] += by_k[i] * (y[i - 1] + c * before[i - 1]);
      next[i - 1] += t;
      by_k[i - 1] = weight * by_y[i - 1] + c * t;
    }
    by_k[N - 1] = weight * by_y[N - 1];
  }
};

}  // namespace

void add_ode() {
  add_scalar<ode<1000, 10>>("ODE: n = 1,000, 10 steps");
  add_scalar<ode<10000, 100>>("ODE: n = 10,000, 100 steps");
}

}  // namespace gradbench
