/// Chunks at the ends of arrays: rows of which the last chunk has fewer, rows along the last axis, several threads; at hand of one program.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"

namespace ct = cotangent;

namespace {

/// Errors of samples in columns, the gradient of their sum, and twice the samples.
constexpr auto program = [](auto w, auto x, auto y) {
  const auto residuals = ct::matmul(w, x) - y;
  return std::tuple(ct::square(residuals), ct::matmul(x, 2.0 * residuals), 2.0 * x);
};

}  // namespace

TEST_CASE("chunks end where their arrays do") {
  constexpr int n = 2003, features = 96;
  ct::array<double, features> w;
  ct::array<double, features, n> x;
  ct::array<double, n> y;
  unsigned k = 0;
  for (double& v : w) v = 0.01 * (++k * 7 % 101) - 0.5;
  for (double& v : x) v = 0.01 * (++k * 11 % 103) - 0.5;
  for (double& v : y) v = 0.01 * (++k * 13 % 107) - 0.5;
  ct::array<double, n> errors;
  ct::array<double, features> gradient;
  for (int i = 0; i < n; ++i) {
    double r = -y(i);
    for (int j = 0; j < features; ++j) r += w(j) * x(j, i);
    errors(i) = r * r;
    for (int j = 0; j < features; ++j) gradient(j) += 2 * r * x(j, i);
  }
  const auto f = ct::jit(program);
  CHECK(f.kernels(w, x, y).find("last chunk") != std::string::npos);
  for (const int threads : {1, 3}) {
    ct::set_num_threads(threads);
    const auto [own_errors, own_gradient, twice] = f(w, x, y);
    double error = 0;
    for (int i = 0; i < n; ++i) error = std::max(error, std::abs(own_errors(i) - errors(i)));
    for (int j = 0; j < features; ++j) error = std::max(error, std::abs(own_gradient(j) - gradient(j)));
    CHECK(error <= 1e-10);
    bool same = true;
    for (ct::extent i = 0; i < x.size(); ++i) same = same && twice.data()[i] == 2 * x.data()[i];
    CHECK(same);
  }
  ct::set_num_threads(2);
}
