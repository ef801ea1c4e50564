/// reduce_sum prod max min and or, argmax, argmin, cumsum, and the statistics made of them.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
constexpr auto sums = [](auto x) {
  return std::tuple(ct::sum(x), ct::sum(x, ct::axis<0>), ct::sum(x, ct::axis<-1>, ct::keepdims), ct::sum(x, ct::axis<0, 2>), ct::mean(x, ct::axis<1>), ct::mean(x),
                    ct::variance(x, ct::axis<0, 1>), ct::std_(x, ct::axis<2>), ct::logsumexp(x, ct::axis<1>), ct::logsumexp(x), ct::cumsum(x), ct::cumsum(x, ct::axis<1>));
};
constexpr auto extrema = [](auto x) {
  return std::tuple(ct::max(x), ct::max(x, ct::axis<0>), ct::min(x, ct::axis<1>, ct::keepdims), ct::min(x, ct::axis<0, 2>), ct::max(x, ct::axis<-1>), ct::min(x));
};
constexpr auto products = [](auto x) { return std::tuple(ct::prod(x), ct::prod(x, ct::axis<0>), ct::prod(x, ct::axis<1>, ct::keepdims), ct::prod(x, ct::axis<0, 2>)); };
constexpr auto choices = [](auto x) {
  return std::tuple(ct::argmax(x), ct::argmax(x, ct::axis<0>), ct::argmin(x, ct::axis<1>), ct::argmin(x, ct::axis<-1>, ct::keepdims), ct::any(x > 0.5), ct::all(x > -2.0, ct::axis<0>),
                    ct::any(x > 0.9, ct::axis<1, 2>), ct::sum(x > 0.0), ct::sum(ct::astype<std::int32_t>(x * 10), ct::axis<0>), ct::max(ct::astype<std::int32_t>(x * 10)), ct::all(x));
};
}  // namespace

TEST_CASE("derivatives of sums, means and logsumexp") {
  check_derivatives(sums, std::tuple(between<double, 2, 3, 5>(-1, 1)));
}

TEST_CASE("derivatives of extrema") {
  check_rules_of(extrema, std::tuple(between<double, 2, 3, 5>(-1, 1)));
  check_jit(extrema, 0, between<float, 2, 3, 5>(-1, 1));
}

TEST_CASE("derivatives of products, with zeros too") {
  check_rules_of(products, std::tuple(between<double, 2, 3, 5>(-1, 1)));
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

TEST_CASE("argmax, argmin, any, all and integer sums") {
  check_rules_of<orders::none>(choices, std::tuple(between<double, 2, 3, 5>(-1, 1)));
  check_jit(choices, 0, between<float, 2, 3, 5>(-1, 1));
}

TEST_CASE("reductions of blocks, odd sizes, rows, columns and empty arrays") {
  constexpr auto f = [](auto x) {
    return std::tuple(ct::sum(x), ct::sum(x, ct::axis<0>), ct::sum(x, ct::axis<1>), ct::max(x, ct::axis<1>), ct::min(x, ct::axis<0>), ct::argmax(x, ct::axis<1>), ct::argmin(x, ct::axis<0>),
                      ct::mean(x, ct::axis<0>), ct::cumsum(x, ct::axis<1>), ct::logsumexp(x, ct::axis<1>), ct::prod(x * 0.1f + 1.0f, ct::axis<1>));
  };
  check_jit(f, 2e-5, between<float, 37, 65>(-1, 1));
  constexpr auto empty = [](auto x) {
    return std::tuple(ct::sum(x), ct::sum(x, ct::axis<0>), ct::prod(x, ct::axis<0>), ct::prod(x), ct::sum(x, ct::axis<1>), ct::any(x > 0.0), ct::all(x > 0.0, ct::axis<0>), ct::cumsum(x, ct::axis<0>), ct::max(x, ct::axis<1>));
  };
  check_rules_of(empty, std::tuple(ct::array<double, 0, 3>()));
  check_jit(empty, 0, ct::array<double, 0, 3>());
  const ct::array<double, 1, 1> one{{-0.75}};
  check_rules_of(products, std::tuple(ct::array<double, 1, 1, 1>(ct::full<double, 1, 1, 1>(0.3))));
  CHECK(ct::jit([](auto x) { return ct::sum(x); })(one) == -0.75);
}

TEST_CASE("reductions over run-time extents") {
  constexpr auto f = [](auto x) {
    return std::tuple(ct::sum(x, ct::axis<0>), ct::mean(x, ct::axis<0>), ct::max(x, ct::axis<0>), ct::logsumexp(x, ct::axis<0>), ct::variance(x), ct::cumsum(x, ct::axis<0>), ct::sum(x, ct::axis<1>));
  };
  ct::array<double, ct::dyn, 3> x({7, 3});
  std::copy_n(between<double, 21>(-1, 1).data(), 21, x.data());
  check_rules(graph_of(f, x), tensors_of(x));
  check_jit(f, 1e-13, x);
}

namespace {
/// Pools and sums along short last axes, of views, of what is computed, and of what has other uses.
constexpr auto of_short_rows = [](auto x) {  // [n, 6, 8, 2, 3], reduced to rows of 8 and more
  const auto e = ct::exp(x);
  const auto shifted = x - ct::max(x, ct::axis<4>, ct::keepdims);
  const auto column = ct::expand_dims<-1>(x(ct::full_extent, ct::full_extent, ct::full_extent, ct::full_extent, ct::index<0>));
  return std::tuple(ct::max(x, ct::axis<3, 4>), ct::sum(ct::sin(x) * x, ct::axis<3, 4>), e / ct::sum(e, ct::axis<3, 4>, ct::keepdims), ct::prod(ct::flip<4>(x), ct::axis<3, 4>),
                    ct::min(ct::slice<ct::full_extent, ct::full_extent, ct::full_extent, ct::full_extent, ct::range<0, 3, 2>>(x), ct::axis<3, 4>), shifted,
                    ct::any(x > 0.9, ct::axis<3, 4>), ct::all(x > -0.9, ct::axis<3, 4>), ct::sum(ct::astype<std::int32_t>(x * 10.0), ct::axis<3, 4>), ct::mean(x * column, ct::axis<4, 3, 1>),
                    ct::sum(ct::where(ct::arange<std::int32_t, 3>() < 2, x, 0.5), ct::axis<3, 4>), ct::max(ct::transpose<0, 1, 4, 2, 3>(x), ct::axis<2, 4>), ct::argmax(x, ct::axis<4>),
                    ct::sum(ct::sum(x * x, ct::axis<4>), ct::axis<3>));
};
constexpr auto slopes_of_short_rows = ct::grad([](auto x) {
  const auto pooled = ct::max(ct::tanh(x), ct::axis<3, 4>);
  return ct::sum(ct::square(pooled)) + ct::sum(ct::prod(x, ct::axis<4>)) + ct::sum(ct::logsumexp(x, ct::axis<4>)) - ct::sum(ct::std_(x, ct::axis<4>));
});
/// Vectors of 3, with numbers per vector and per component.
constexpr auto of_vectors = [](auto x, auto w, auto v) {  // [n, 20, 3] [n, 20] [3]
  const auto each = ct::expand_dims<-1>(w);
  const auto scaled = x * ct::sin(each) + v;
  return std::tuple(x * each, scaled, ct::sum(x * each, ct::axis<1>), ct::sum(x * each), x - ct::mean(x, ct::axis<1>, ct::keepdims), ct::max(x * v, ct::axis<0, 1>), ct::sum(x * v, ct::axis<2>),
                    ct::where(x > each, scaled, 0.0), ct::transpose<2, 0, 1>(scaled), ct::prod(ct::cos(x), ct::axis<1>), ct::min(x - each), ct::argmin(x * v, ct::axis<1>),
                    x / ct::sqrt(ct::sum(x * x, ct::axis<2>, ct::keepdims) + 1.0), ct::sum(ct::roll<1, 1>(x) * v, ct::axis<1>));
};
constexpr auto slopes_of_vectors = ct::grad([](auto x, auto w, auto v) {
  const auto y = std::get<1>(of_vectors(x, w, v));
  return ct::sum(ct::square(y)) + ct::sum(ct::tanh(std::get<12>(of_vectors(x, w, v))));
}, ct::wrt<0, 1, 2>);
constexpr auto pooled = [](auto x) { return ct::max(ct::reshape<4, 50, 2, 40, 2>(ct::exp(x)), ct::axis<2, 4>); };
}  // namespace

TEST_CASE("reductions of rows of few elements: pools, sums, extrema, of run-time extents, and their slopes") {
  const auto x = between<double, 3, 6, 8, 2, 3>(-1, 1);
  check_jit(of_short_rows, 1e-14, x);
  check_jit(of_short_rows, 1e-6, between<float, 3, 6, 8, 2, 3>(-1, 1));
  check_jit(slopes_of_short_rows, 1e-13, x);
  for (int n : {0, 1, 17}) {
    ct::array<double, ct::dyn, 6, 8, 2, 3> y({n, 6, 8, 2, 3});
    for (ct::extent i = 0; i < y.size(); ++i) y.data()[i] = std::sin(double(i) * i);
    check_jit(of_short_rows, 1e-14, y);
    check_jit(slopes_of_short_rows, 1e-12, y);
  }
  check_jit(pooled, 1e-14, between<double, 4, 100, 80>(-1, 1));
  check_jit(ct::grad([](auto v) { return ct::sum(ct::square(pooled(v))); }), 1e-13, between<double, 4, 100, 80>(-1, 1));
}

TEST_CASE("arrays of short vectors, with numbers per vector and per component") {
  const ct::array<double, 3> v{0.5, -2, 3};
  const auto x = between<double, 5, 20, 3>(-1, 1);
  const auto w = between<double, 5, 20>(-1, 1, 3);
  check_jit(of_vectors, 1e-13, x, w, v);
  check_jit(slopes_of_vectors, 1e-12, x, w, v);
  for (int n : {0, 1, 17}) {
    ct::array<double, ct::dyn, 20, 3> xs({n, 20, 3});
    ct::array<double, ct::dyn, 20> ws({n, 20});
    for (ct::extent i = 0; i < xs.size(); ++i) xs.data()[i] = std::sin(double(i) * i);
    for (ct::extent i = 0; i < ws.size(); ++i) ws.data()[i] = std::cos(double(i) * i);
    check_jit([](auto a, auto b, auto c) { return std::tuple(std::get<0>(of_vectors(a, b, c)), std::get<1>(of_vectors(a, b, c)), std::get<2>(of_vectors(a, b, c)), std::get<3>(of_vectors(a, b, c)), std::get<4>(of_vectors(a, b, c)), std::get<6>(of_vectors(a, b, c))); }, 1e-13, xs, ws, v);
    check_jit(slopes_of_vectors, 1e-12, xs, ws, v);
  }
  CHECK(ct::jit([](auto a, auto b) { return a * ct::expand_dims<-1>(b); }).kernels(x, w).find("over [5,20]") != std::string::npos);  // lanes are vectors
}

TEST_CASE("a pool is one kernel of what it pools, in which no lane is idle, and keeps NaN") {
  const ct::array<float, 4, 100, 80> x;
  const std::string kernels = ct::jit(pooled).kernels(x);
  CHECK(kernels.find("kernel over [4,50,40]") != std::string::npos);
  CHECK(kernels.find("reduce_max") == std::string::npos);
  CHECK(ct::jit(pooled).cost(x).kernels == 1);
  ct::array<double, 1, 2, 16, 2, 2> y;
  y(0, 1, 7, 1, 0) = std::nan("");
  const auto r = ct::jit([](auto v) { return ct::max(v, ct::axis<3, 4>); })(y);
  for (int i = 0; i < 32; ++i) CHECK(std::isnan(r.data()[i]) == (i == 23));
}
