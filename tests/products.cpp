/// prod along axes, and its derivatives.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
constexpr auto products = [](auto x) { return std::tuple(ct::prod(x), ct::prod(x, ct::axis<0>), ct::prod(x, ct::axis<1>, ct::keepdims), ct::prod(x, ct::axis<0, 2>)); };
}  // namespace

TEST_CASE("derivatives of products, with zeros too") {
  check_rules_of(products, std::tuple(between<double, 2, 3, 5>(-1, 1)));
  check_rules_of(products, std::tuple(ct::array<double, 1, 1, 1>(ct::full<double, 1, 1, 1>(0.3))));
  ct::array<double, 2, 3, 5> zeros = between<double, 2, 3, 5>(-1, 1);
  zeros(0, 1, 2) = zeros(1, 1, 4) = zeros(1, 0, 0) = 0;
  check_rules_of(products, std::tuple(zeros));
  check_compiled<double, orders::first, batching::no>(products, std::tuple(zeros), std::tuple());
}

namespace {
constexpr auto row_products = [](auto x) { return ct::prod(x, ct::axis<1>); };
/// Row 0 has `zeros` zeros, row 1 none: the slopes are the products of the others.
template <int N> void check_slopes_of_products(int zeros) {
  ct::array<double, 2, N> x = between<double, 2, N>(0.7, 1.4), t = between<double, 2, N>(-1, 1);
  for (int i = 0; i < zeros; ++i) x(0, i * (N - 1)) = 0;
  ct::array<double, 2, N> others;
  ct::array<double, 2> slopes;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < N; ++j) {
      long double p = 1;
      for (int k = 0; k < N; ++k) p *= k == j ? 1.0L : x(i, k);
      others(i, j) = double(p);
      slopes(i) += others(i, j) * t(i, j);
    }
  CAPTURE(N, zeros);
  CHECK(difference(tensors_of(ct::jit(ct::grad([](auto v) { return ct::sum(row_products(v)); }))(x)), tensors_of(others), 1e-12) == "");
  CHECK(difference(tensors_of(std::get<1>(ct::jit([](auto v, auto w) { return ct::jvp(row_products, std::tuple(v), std::tuple(w)); })(x, t))), tensors_of(slopes), 1e-11) == "");
}
template <int... N> void check_slopes_of_lengths() { (void(check_slopes_of_products<N>(0)), ...); (void(check_slopes_of_products<N>(N > 1)), ...); (void(check_slopes_of_products<N>(N > 1 ? 2 : 1)), ...); }
}  // namespace

TEST_CASE("derivatives of products of many numbers") {
  check_slopes_of_lengths<1, 2, 7, 9, 67, 4200>();
  const auto x = between<double, 3, 17>(0.7, 1.4);  // rows whose number is known at run time only
  ct::array<double, ct::dyn, 17> rows({3, 17});
  std::copy_n(x.data(), 51, rows.data());
  const auto slopes = ct::jit(ct::grad([](auto v) { return ct::sum(row_products(v)); }));
  const auto have = slopes(rows);
  const auto want = slopes(x);
  for (int k = 0; k < 51; ++k) CHECK(have.data()[k] == want.data()[k]);
}
