/// cumsum cumprod cummax cummin, and the linear recurrences of their derivatives.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
constexpr auto running = [](auto x) {
  return std::tuple(ct::cumsum(x), ct::cumsum(x, ct::axis<1>), ct::cumprod(x), ct::cumprod(x, ct::axis<0>), ct::cumprod(x, ct::axis<-1>), ct::cummax(x), ct::cummax(x, ct::axis<1>),
                    ct::cummin(x, ct::axis<0>), ct::cummin(x, ct::axis<-1>));
};
constexpr auto along_first = [](auto x) { return std::tuple(ct::cumprod(x, ct::axis<0>), ct::cummax(x, ct::axis<0>), ct::cummin(x, ct::axis<0>)); };

/// The running results along the middle axis by plain loops.
template <class T, ct::extent N, ct::extent M, ct::extent K, class F> ct::array<T, N, M, K> by_loop(const ct::array<T, N, M, K>& x, F f) {
  ct::array<T, N, M, K> y;
  for (int i = 0; i < N; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < M; ++j) y(i, j, k) = j == 0 ? x(i, j, k) : f(y(i, j - 1, k), x(i, j, k));
  return y;
}
template <class T> void check_values() {
  const auto x = between<T, 3, 7, 5>(-2, 2);
  const auto r = ct::jit([](auto v) {
    return std::tuple(ct::cumsum(v, ct::axis<1>), ct::cumprod(v, ct::axis<1>), ct::cummax(v, ct::axis<1>), ct::cummin(v, ct::axis<1>), ct::cumprod(v), ct::cumprod(v > T(0), ct::axis<1>));
  })(x);
  CHECK(std::get<0>(r) == by_loop(x, [](T a, T b) { return a + b; }));
  CHECK(std::get<1>(r) == by_loop(x, [](T a, T b) { return a * b; }));
  CHECK(std::get<2>(r) == by_loop(x, [](T a, T b) { return std::max(a, b); }));
  CHECK(std::get<3>(r) == by_loop(x, [](T a, T b) { return std::min(a, b); }));
  T product = 1;
  for (int i = 0; i < 105; ++i) CHECK(std::get<4>(r)(i) == (product *= x.data()[i]));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(std::get<5>(r)(0, 0, 0))>, std::int32_t>);
  CHECK(std::get<5>(r)(0, 0, 0) == (x(0, 0, 0) > 0));
}
}  // namespace

TEST_CASE("running sums, products and extrema are those of a loop") {
  check_values<float>();
  check_values<double>();
  check_values<std::int32_t>();
  check_values<std::int64_t>();
}

TEST_CASE("derivatives of running sums, products and extrema") {
  check_rules_of(running, std::tuple(between<double, 3, 4>(-1.5, 1.5)));
  check_derivatives(along_first, std::tuple(between<double, 5, 2>(-1.5, 1.5)));
}

TEST_CASE("the derivative of cumprod is exact at zeros") {
  ct::array<double, 7> x{2, 0, 3, -1, 0, 0.5, 4};
  constexpr auto f = [](auto v) { return ct::cumprod(v); };
  check_rules_of(f, std::tuple(x));
  const auto jacobian = ct::jit([](auto v) { return std::tuple(ct::jacfwd([](auto w) { return ct::cumprod(w); })(v), ct::jacrev([](auto w) { return ct::cumprod(w); })(v)); })(x);
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 7; ++j) {
      double want = j <= i ? 1 : 0;
      for (int k = 0; k <= i; ++k)
        if (k != j) want *= x(k);
      CHECK(std::get<0>(jacobian)(i, j) == want);
      CHECK(std::get<1>(jacobian)(i, j) == want);
    }
}

TEST_CASE("the cotangent of a running extremum goes to the element that is it, and splits at ties") {
  const auto r = ct::jit([](auto x, auto tie, auto weights) {
    const auto up = [](auto v, auto w) { return ct::sum(ct::cummax(v) * w); };
    const auto down = [](auto v, auto w) { return ct::sum(ct::cummin(v) * w); };
    return std::tuple(ct::grad(up)(x, weights), ct::grad(down)(x, weights), ct::grad([](auto v) { return ct::sum(ct::cummax(v)); })(tie));
  })(ct::array<double, 6>{1, -2, 3, 2, 5, -7}, ct::array<double, 2>{1, 1}, ct::array<double, 6>{1, 2, 4, 8, 16, 32});
  CHECK(std::get<0>(r) == ct::array<double, 6>{3, 0, 12, 0, 48, 0});
  CHECK(std::get<1>(r) == ct::array<double, 6>{1, 30, 0, 0, 0, 32});
  CHECK(std::get<2>(r) == ct::array<double, 2>{1.5, 0.5});  // jax.grad(lambda x: lax.cummax(x).sum())
}

TEST_CASE("running extrema keep infinities, and NaN from its place on") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto r = ct::jit([](auto x) { return std::tuple(ct::cummax(x), ct::cummin(x), ct::grad([](auto v) { return ct::cummax(v)(ct::index<1>); })(x)); })(ct::array<float, 5>{-inf, -inf, 2, nan, 9});
  CHECK(std::get<0>(r)(0) == -inf);
  CHECK(std::get<0>(r)(2) == 2);
  CHECK(std::isnan(std::get<0>(r)(3)));
  CHECK(std::isnan(std::get<0>(r)(4)));
  CHECK(std::get<1>(r)(2) == -inf);
  CHECK(std::isnan(std::get<1>(r)(4)));
  CHECK(std::get<2>(r) == ct::array<float, 5>{0.5, 0.5, 0, 0, 0});
}

TEST_CASE("running results of empty and single elements, and over run-time extents") {
  check_rules_of(running, std::tuple(ct::array<double, 0, 3>()));
  check_rules_of(running, std::tuple(ct::array<double, 2, 0>()));
  check_rules_of(running, std::tuple(ct::array<double, 1, 1>(ct::full<double, 1, 1>(0.3))));
  check_jit(running, 0, ct::array<float, 0, 3>());
  constexpr auto second = [](auto x, auto w) {
    return ct::grad([&w](auto u) { return ct::sum(ct::square(ct::grad([&w](auto v) { return ct::sum(ct::cumprod(v, ct::axis<0>) * w); })(u))); })(x);
  };
  for (int n : {0, 1, 7}) {
    ct::array<double, ct::dyn, 3> x({n, 3});
    std::copy_n(between<double, 21>(-1, 1).data(), 3 * n, x.data());
    check_jit(along_first, 0, x);
    if (n == 7) check_rules(graph_of(along_first, x), tensors_of(x));
    const auto y = ct::array<double, ct::dyn, 3>(x);
    check_jit(second, 1e-13, x, y);
  }
}

TEST_CASE("cumulative operations of many and of wide lines are the same on any number of threads") {
  constexpr auto f = [](auto x) {
    return std::tuple(ct::cumsum(x, ct::axis<0>), ct::cumsum(x, ct::axis<1>), ct::cummax(x, ct::axis<2>), ct::grad([](auto v) { return ct::sum(ct::square(ct::cumprod(v, ct::axis<1>))); })(x));
  };
  const auto x = between<double, 37, 41, 130>(0.9, 1.1);
  check_jit(f, 1e-12, x);
  ct::set_num_threads(1);
  const auto one = ct::jit(f)(x);
  for (int threads : {2, 3}) {
    ct::set_num_threads(threads);
    CHECK(ct::jit(f)(x) == one);
  }
  ct::set_num_threads(2);
}

namespace {

constexpr auto all_running = [](auto x) {
  return std::tuple(ct::cumsum(x), ct::cumprod(x), ct::cummax(x), ct::cummin(x), ct::flip<0>(ct::cumsum(ct::flip<0>(x))));
};
constexpr auto running_loss = [](auto x) {
  const auto [sum, product, most, least, back] = all_running(x);
  return ct::sum(ct::sin(sum) + product * most - least * back);
};
constexpr auto running_slopes = [](auto x) { return ct::grad(running_loss)(x); };

}  // namespace

TEST_CASE("short lines of many instances are computed element by element") {
  constexpr ct::extent n = 100;
  auto x = between<double, n, 5>(-1.5, 1.5);
  x(7, 2) = x(9, 0) = 0, x(11, 3) = x(11, 1);
  x(13, 2) = std::numeric_limits<double>::quiet_NaN(), x(14, 2) = std::numeric_limits<double>::infinity();
  static_assert(ct::jit(ct::vmap(all_running)).cost(x).kernels == 1);
  const auto values = ct::jit(ct::vmap(all_running))(x);
  const auto gradient = ct::jit(ct::vmap(running_slopes))(x);
  const auto same = [](double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= 1e-12; };
  for (int i = 0; i < n; ++i) {
    ct::array<double, 5> line;
    for (int k = 0; k < 5; ++k) line(k) = x(i, k);
    const auto one = ct::jit(all_running)(line);
    const auto slope = ct::jit(running_slopes)(line);
    for (int k = 0; k < 5; ++k) {
      CHECK(same(std::get<0>(values)(i, k), std::get<0>(one)(k)));
      CHECK(same(std::get<1>(values)(i, k), std::get<1>(one)(k)));
      CHECK(same(std::get<2>(values)(i, k), std::get<2>(one)(k)));
      CHECK(same(std::get<3>(values)(i, k), std::get<3>(one)(k)));
      CHECK(same(std::get<4>(values)(i, k), std::get<4>(one)(k)));
      CHECK(same(gradient(i, k), slope(k)));
    }
  }
  // Along the first of two axes, integers, and lines that are too long.
  ct::array<std::int32_t, n, 3, 4> m;
  for (int k = 0; k < m.size(); ++k) m.data()[k] = std::int32_t(k * 7 % 11 - 5);
  const auto sums = ct::jit(ct::vmap([](auto m) { return std::tuple(ct::cumsum(m, ct::axis<0>), ct::cummax(m, ct::axis<0>)); }))(m);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 4; ++k)
      for (int j = 0, sum = 0, most = -100; j < 3; ++j) {
        CHECK(std::get<0>(sums)(i, j, k) == (sum += m(i, j, k)));
        CHECK(std::get<1>(sums)(i, j, k) == (most = std::max(most, int(m(i, j, k)))));
      }
  const auto wide = between<double, n, 40>(-1, 1);
  const auto long_sums = ct::jit(ct::vmap([](auto x) { return ct::cumsum(x) * x(ct::index<1>); }))(wide);
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int k = 0; k < 40; ++k) CHECK(std::abs(long_sums(i, k) - (sum += wide(i, k)) * wide(i, 1)) <= 1e-12);
  }
}
