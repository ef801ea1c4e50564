/// linalg: special matrices, known answers, integers and norms, threads.

#include <algorithm>
#include <cmath>

#include "linear_algebra.hpp"

namespace ct = cotangent;
using namespace checks;
using namespace linear_algebra;

TEST_CASE("singular, indefinite, and not finite matrices") {
  const double nan = std::nan("");
  for (const auto& bad : {ct::array<double, 2, 2>{{1, 2}, {2, 1}}, ct::array<double, 2, 2>{{1, 1}, {1, 1}}, ct::array<double, 2, 2>{{0, 0}, {0, 1}},
                          ct::array<double, 2, 2>{{nan, 0}, {0, 1}}, ct::array<double, 2, 2>{{-1, 0}, {0, 1}}}) {
    const auto l = ct::jit(factor)(bad);
    ct::array<double, 64, 2, 2> many(ct::uninitialized, ct::shape{64, 2, 2});
    for (int i = 0; i < 256; ++i) many.data()[i] = bad.data()[i % 4];
    const auto all = ct::jit(ct::vmap(factor))(many);
    for (int i : {0, 2, 3}) {
      CHECK(std::isnan(l.data()[i]));
      CHECK(std::isnan(all.data()[252 + i]));
    }
    CHECK(l(0, 1) == 0);
  }
  const auto x = ct::jit(solve)(ct::array<double, 2, 2>{{1, 2}, {2, 4}}, ct::array<double, 2>{1, 0});
  CHECK_FALSE(std::isfinite(x(0)));
  const auto large = ct::full<double, 37, 37>(nan);
  const auto all_nan = ct::jit(solve)(large, ct::zeros<double, 37>());
  CHECK(std::all_of(all_nan.begin(), all_nan.end(), [](double v) { return std::isnan(v); }));
  CHECK(std::isnan(ct::jit(factor)(large)(36, 36)));
  CHECK(std::isnan(ct::jit(factor)(matrices<double, 37, 37>())(0, 0)));  // not definite
  // A zero on the diagonal needs an exchange; so does one that would overflow.
  CHECK(ct::jit(solve)(ct::array<double, 2, 2>{{0, 2}, {4, 0}}, ct::array<double, 2>{2, 8}) == ct::array<double, 2>{2, 1});
}

TEST_CASE("integers are converted, and vectors have norms along axes") {
  CHECK(ct::jit(solve)(ct::array<int, 2, 2>{{2, 0}, {0, 4}}, ct::array<int, 2>{2, 8}) == ct::array<float, 2>{1, 2});
  const auto norms = ct::jit([](auto x) { return std::tuple(ct::linalg::norm(x), ct::linalg::norm(x, ct::axis<1>)); })(ct::array<double, 2, 2>{{3, 4}, {5, 12}});
  CHECK(std::get<0>(norms) == Approx(std::sqrt(194.0)));
  CHECK(std::get<1>(norms) == ct::array<double, 2>{5, 13});
}

TEST_CASE("known answers") {
  const auto l = ct::jit(factor)(ct::array<float, 2, 2>{{2, 1}, {1, 2}});
  const float want[] = {1.4142135f, 0, 0.70710677f, 1.2247449f};
  for (int i = 0; i < 4; ++i) CHECK(l.data()[i] == Approx(want[i]).epsilon(1e-6));
  const auto x = ct::jit(solve)(ct::array<float, 3, 3>{{1, 2, 3}, {2, 4, 2}, {3, 2, 1}}, ct::array<float, 3>{1, 4, 2});
  const float solution[] = {0, 1.25f, -0.5f};
  for (int i = 0; i < 3; ++i) CHECK(x(i) == Approx(solution[i]).margin(1e-6));
  const auto gradient = ct::jit(ct::grad([](auto v) { return ct::linalg::norm(v); }))(ct::zeros<float, 2>());
  CHECK(std::isnan(gradient(0)));
}

TEST_CASE("results are the same on any number of threads") {
  const auto a = matrices<double, 300, 30, 30>();
  const auto b = between<double, 300, 30>(-1, 1);
  ct::set_num_threads(1);
  const auto one = ct::jit(ct::vmap(solve))(a, b);
  for (int threads : {2, 3}) {
    ct::set_num_threads(threads);
    CHECK(ct::jit(ct::vmap(solve))(a, b) == one);
  }
  ct::set_num_threads(2);
}
