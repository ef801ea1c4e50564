/// The problems of FastAD's paper: value and gradient of the sum, the product, the log of the sum of exponentials and the normal
/// log density of n numbers, and of the sum of a product of two matrices. Its models are in fastad_models.cpp.

#include "problems.hpp"

namespace gradbench {
namespace {

/// The sum of f(i) for i < n, in 32 partial sums.
template <class F> [[gnu::always_inline]] inline double sum_of(int n, const F& f) {
  double parts[32] = {}, sum = 0;
  int i = 0;
  for (; i + 32 <= n; i += 32) for (int k = 0; k < 32; ++k) parts[k] += f(i + k);
  for (; i < n; ++i) sum += f(i);
  for (double p : parts) sum += p;
  return sum;
}

// ---- functions of a vector ----

constexpr double mu = -0.56, sigma = 1.37, log_sigma = 0.3148107398400336;

struct sum {
  static constexpr const char* name = "sum";
  static constexpr double low = 0, high = 1;
  template <class X> constexpr auto operator()(const X& x) const { return ct::sum(x); }
  static double by_hand(const double* x, double* g, int n) {
    std::fill_n(g, n, 1.0);
    return sum_of(n, [=](int i) { return x[i]; });
  }
};
struct product {
  static constexpr const char* name = "product";
  static constexpr double low = 0.8, high = 1.2;
  template <class X> constexpr auto operator()(const X& x) const { return ct::prod(x); }
  static double by_hand(const double* x, double* g, int n) {
    double parts[32], p = 1;
    std::fill_n(parts, 32, 1.0);
    int i = 0;
    for (; i + 32 <= n; i += 32) for (int k = 0; k < 32; ++k) parts[k] *= x[i + k];
    for (; i < n; ++i) p *= x[i];
    for (double part : parts) p *= part;
    if (p != 0)
      for (i = 0; i < n; ++i) g[i] = p / x[i];
    else
      for (i = 0; i < n; ++i) {
        g[i] = 1;
        for (int k = 0; k < n; ++k) if (k != i) g[i] *= x[k];
      }
    return p;
  }
};
struct log_sum_exp {
  static constexpr const char* name = "log-sum-exp";
  static constexpr double low = 0, high = 1;
  template <class X> constexpr auto operator()(const X& x) const { return ct::logsumexp(x); }
  static double by_hand(const double* x, double* g, int n) {
    const double top = *std::max_element(x, x + n);
    double s = 0;
    for (int i = 0; i < n; ++i) s += g[i] = std::exp(x[i] - top);
    const double inverse = 1 / s;
    for (int i = 0; i < n; ++i) g[i] *= inverse;
    return top + std::log(s);
  }
};
struct normal_log_density {
  static constexpr const char* name = "normal log density";
  static constexpr double low = -1, high = 1;
  template <class X> constexpr auto operator()(const X& x) const { return -0.5 * ct::sum(ct::square((x - mu) / sigma)) - double(x.extent(0)) * log_sigma; }
  static double by_hand(const double* x, double* g, int n) {
    constexpr double inverse = 1 / sigma;
    const double squares = sum_of(n, [=](int i) {
      const double z = (x[i] - mu) * inverse;
      g[i] = -z * inverse;
      return z * z;
    });
    return -0.5 * squares - n * log_sigma;
  }
};

template <class F, int N> struct of_vector {
  ct::array<double, N> x, by_x;
  double value = 0;
  std::tuple<ct::array<double>, ct::array<double, N>> result;

  of_vector() { source().uniform(F::low, F::high, x); }
  void ours() { ct::jit(ct::value_and_grad(F{})).into(result)(x); }
  [[gnu::noinline]] void by_hand() { value = F::by_hand(x.data(), by_x.data(), N); }
  double difference() const {
    return std::max(gradbench::difference(numbers(std::get<0>(result)), {&value, 1}), gradbench::difference(numbers(std::get<1>(result)), numbers(by_x)));
  }
  double slope_error() {
    std::vector<double> g(N);
    return gradbench::slope_error([&] { return F::by_hand(x.data(), g.data(), N); }, {{numbers(x), numbers(by_x)}});
  }
};

// ---- the sum of a product of matrices ----

constexpr auto product_sum = [](auto a, auto b) { return ct::sum(ct::matmul(a, b)); };

template <int N> struct matrix_product {
  ct::array<double, N, N> a, b, by_a, by_b;
  double value = 0;
  std::tuple<ct::array<double>, std::tuple<ct::array<double, N, N>, ct::array<double, N, N>>> result;

  matrix_product() { source().uniform(0, 1, a, b); }
  void ours() { ct::jit(ct::value_and_grad(product_sum, ct::wrt<0, 1>)).into(result)(a, b); }
  /// The sums of a's columns and of b's rows are all that is needed.
  [[gnu::noinline]] void by_hand() {
    double columns[N] = {}, rows[N];
    for (int i = 0; i < N; ++i) for (int k = 0; k < N; ++k) columns[k] += a.data()[i * N + k];
    for (int k = 0; k < N; ++k) rows[k] = sum_of(N, [p = &b.data()[k * N]](int j) { return p[j]; });
    for (int i = 0; i < N; ++i) std::copy_n(rows, N, &by_a.data()[i * N]), std::fill_n(&by_b.data()[i * N], N, columns[i]);
    value = sum_of(N, [&](int k) { return columns[k] * rows[k]; });
  }
  double difference() const {
    const auto& [v, g] = result;
    return std::max({gradbench::difference(numbers(v), {&value, 1}), gradbench::difference(numbers(std::get<0>(g)), numbers(by_a)),
                     gradbench::difference(numbers(std::get<1>(g)), numbers(by_b))});
  }
  double slope_error() {
    const auto product = [this] {
      double s = 0;
      for (int i = 0; i < N; ++i) for (int k = 0; k < N; ++k) for (int j = 0; j < N; ++j) s += a(i, k) * b(k, j);
      return s;
    };
    return gradbench::slope_error(product, {{numbers(a), numbers(by_a)}, {numbers(b), numbers(by_b)}});
  }
};

template <class F> void add_of_vector() { add_scalar<of_vector<F, 16384>>(std::string("FastAD: ") + F::name + " of 16,384 numbers"); }

}  // namespace

void add_fastad() {
  add_of_vector<sum>();
  add_of_vector<product>();
  add_of_vector<log_sum_exp>();
  add_of_vector<normal_log_density>();
  add_scalar<matrix_product<128>>("FastAD: sum of the product of matrices 128 x 128");
}

}  // namespace gradbench
