/// LSE: the gradient of the logarithm of the sum of the exponentials of n numbers.

#include "problems.hpp"

namespace gradbench {
namespace {

constexpr auto log_sum_exp = [](auto x) { return ct::logsumexp(x); };
constexpr auto gradient = ct::grad(log_sum_exp);

template <int N> struct lse {
  ct::array<double, N> x, by_x, result;

  lse() { source().uniform(0, 1, x); }
  void ours() { ct::jit(gradient).into(result)(x); }
  double difference() const { return gradbench::difference(numbers(result), numbers(by_x)); }
  double slope_error() {
    const auto value = [this] {
      long double sum = 0;  // one number moves it little
      for (double e : x) sum += std::exp((long double)e);
      return double(std::log(sum));
    };
    return gradbench::slope_error(value, {{numbers(x), numbers(by_x)}});
  }

  [[gnu::noinline]] void by_hand() {
    double top = x(0), sum = 0;
    for (double e : x) top = std::max(top, e);
    for (int i = 0; i < N; ++i) sum += by_x(i) = std::exp(x(i) - top);
    const double inverse = 1 / sum;
    for (double& g : by_x) g *= inverse;
  }
  [[gnu::noinline]] void by_hand_on_vectors() {
    constexpr int width = 32;  // 4 vectors, so that sums need not wait
    static_assert(N % width == 0);
    const double* p = x.data();
    double* g = by_x.data();
    lanes top[4], sum[4] = {};
    for (int k = 0; k < 4; ++k) top[k] = load(p + 8 * k);
    for (int i = width; i < N; i += width) for (int k = 0; k < 4; ++k) top[k] = larger(load(p + i + 8 * k), top[k]);
    const lanes most = larger(larger(top[0], top[1]), larger(top[2], top[3]));
    double m = most[0];
    for (int k = 1; k < 8; ++k) m = std::max(m, most[k]);
    for (int i = 0; i < N; i += width)
      for (int k = 0; k < 4; ++k) {
        const lanes e = exponential(load(p + i + 8 * k) - m);
        sum[k] += e;
        store(g + i + 8 * k, e);
      }
    const double inverse = 1 / total((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (int i = 0; i < N; i += 8) store(g + i, load(g + i) * inverse);
  }
};

}  // namespace

void add_lse() {
  add_scalar<lse<1280000>>("LSE: 1,280,000 numbers");
  add_vectors<lse<1280000>>("LSE: 1,280,000 numbers");
}

}  // namespace gradbench
