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
/// The running combinations of a line in long double, forwards or backwards.
template <class T, class F> std::vector<long double> line_by_loop(const T* x, ct::extent count, ct::extent step, bool reverse, F f) {
  std::vector<long double> y(std::size_t(count), 0);
  for (ct::extent k = 0; k < count; ++k) {
    const ct::extent i = reverse ? count - 1 - k : k;
    const long double element = x[i * step];
    y[std::size_t(i)] = k == 0 ? element : f(y[std::size_t(reverse ? i + 1 : i - 1)], element);
  }
  return y;
}
template <class T> constexpr auto all_along = [](auto x, auto factors) {  // and what runs backwards, by the derivative of a running sum
  const auto back = ct::grad([](auto v) { return ct::sum(T(0.5) * ct::square(ct::cumsum(v, ct::axis<0>))); })(x);
  return std::tuple(ct::cumsum(x, ct::axis<0>), ct::cumprod(factors, ct::axis<0>), back, ct::cummax(x, ct::axis<0>), ct::cummin(x, ct::axis<0>));
};
/// Of long lines, `columns` side by side: far from the error of as many operations in order.
template <class T> void check_long(ct::extent count, ct::extent columns) {
  ct::array<T, ct::dyn, ct::dyn> x({count, columns}), factors({count, columns});
  for (ct::extent i = 0; i < count * columns; ++i) {
    x.data()[i] = T(double((i * 7919 + 13) % 10007) / 10007);
    factors.data()[i] = T(1 + 1e-5 * (double(x.data()[i]) - 0.5));
  }
  ct::set_num_threads(1);
  const auto r = ct::jit(all_along<T>)(x, factors);
  for (int threads : {2, 3, 5}) {
    ct::set_num_threads(threads);
    CHECK(ct::jit(all_along<T>)(x, factors) == r);
  }
  ct::set_num_threads(2);
  const auto& [sum, product, back, most, least] = r;
  long double sum_error = 0, product_error = 0, back_error = 0, extremum_error = 0;
  const auto add = [](long double a, long double b) { return a + b; };
  for (ct::extent j = 0; j < columns; ++j) {
    const auto compare = [&](const auto& have, const std::vector<long double>& want, long double scale, long double& error) {
      for (ct::extent k = 0; k < count; ++k) error = std::max(error, std::abs(have(k, j) - want[std::size_t(k)]) / scale);
    };
    const auto sums = line_by_loop(x.data() + j, count, columns, false, add), sums_back = line_by_loop(sum.data() + j, count, columns, true, add);
    compare(sum, sums, sums.back(), sum_error);
    compare(back, sums_back, sums_back.front(), back_error);
    compare(product, line_by_loop(factors.data() + j, count, columns, false, [](long double a, long double b) { return a * b; }), 1, product_error);
    compare(most, line_by_loop(x.data() + j, count, columns, false, [](long double a, long double b) { return std::max(a, b); }), 1, extremum_error);
    compare(least, line_by_loop(x.data() + j, count, columns, false, [](long double a, long double b) { return std::min(a, b); }), 1, extremum_error);
  }
  const long double unit = std::numeric_limits<T>::epsilon();
  INFO(count << " " << columns << ": " << double(sum_error / unit) << " " << double(back_error / unit) << " " << double(product_error / unit));
  CHECK(extremum_error == 0);
  CHECK(sum_error < 8 * unit);    // 100,003 additions in order: 54
  CHECK(back_error < 24 * unit);  // in a column a block is added in order
  CHECK(product_error < 0.5 * unit * double(count));  // the bound of any order
}
}  // namespace

TEST_CASE("long running sums are as exact as their blocks, forwards and backwards, on any number of threads") {
  check_long<float>(100003, 1);
  check_long<float>(70000, 3);
  check_long<double>(66000, 1);
  check_long<double>(9000, 37);
  for (ct::extent count : {127, 128, 129, 143, 4095, 4096, 4097, 4104, 8193}) check_long<float>(count, 1), check_long<double>(count, 2);
}

TEST_CASE("a running product does not overflow on its way") {
  ct::array<float, 5000> x = ct::ones<float, 5000>();
  for (int i = 0; i < 5000; ++i) x(i) = i % 8 < 4 ? 1e-9f : 1e9f;
  const auto y = ct::jit([](auto v) { return ct::cumprod(v); })(x);
  const auto columns = ct::jit([](auto v) { return ct::cumprod(ct::reshape<1000, 5>(v), ct::axis<0>); })(x);
  float product = 1, column = 1;
  for (int i = 0; i < 5000; ++i) CHECK(y(i) == (product *= x(i)));
  for (int i = 0; i < 1000; ++i) CHECK(columns(i, 2) == (column *= x(5 * i + 2)));
}

TEST_CASE("long lines of whole numbers, and NaN in one") {
  ct::array<std::int32_t, 3, 5000> x;
  for (ct::extent i = 0; i < x.size(); ++i) x.data()[i] = std::int32_t(i * 7919 % 1009 - 500);
  const auto r = ct::jit([](auto v) { return std::tuple(ct::cumsum(v, ct::axis<1>), ct::cummax(v, ct::axis<1>), ct::cummin(v, ct::axis<1>)); })(x);
  for (int i = 0; i < 3; ++i)
    for (int k = 1; k < 5000; ++k) {
      if (std::get<0>(r)(i, k) != std::get<0>(r)(i, k - 1) + x(i, k)) FAIL(i << ", " << k);
      if (std::get<1>(r)(i, k) != std::max(std::get<1>(r)(i, k - 1), x(i, k))) FAIL(i << ", " << k);
      if (std::get<2>(r)(i, k) != std::min(std::get<2>(r)(i, k - 1), x(i, k))) FAIL(i << ", " << k);
    }
  ct::array<float, 10000> y = ct::zeros<float, 10000>();
  y(5003) = std::nanf("");
  const auto z = ct::jit([](auto v) { return std::tuple(ct::cummax(v), ct::cumsum(v)); })(y);
  CHECK(std::get<0>(z)(5002) == 0);
  CHECK(std::get<1>(z)(5002) == 0);
  for (int k : {5003, 5004, 5100, 8191, 8192, 9999}) {
    CHECK(std::isnan(std::get<0>(z)(k)));
    CHECK(std::isnan(std::get<1>(z)(k)));
  }
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
