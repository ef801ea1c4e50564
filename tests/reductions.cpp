/// reduce_sum max min and or, argmax, argmin, cumsum, and the statistics made of them.

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
constexpr auto choices = [](auto x) {
  return std::tuple(ct::argmax(x), ct::argmax(x, ct::axis<0>), ct::argmin(x, ct::axis<1>), ct::argmin(x, ct::axis<-1>, ct::keepdims), ct::any(x > 0.5), ct::all(x > -2.0, ct::axis<0>),
                    ct::any(x > 0.9, ct::axis<1, 2>), ct::sum(x > 0.0), ct::sum(ct::astype<std::int32_t>(x * 10), ct::axis<0>), ct::max(ct::astype<std::int32_t>(x * 10)), ct::all(x));
};
/// 18 sums of each row, and one across rows: more than registers hold.
constexpr auto many_sums = [](auto x, auto y) {
  return [&]<int... K>(std::integer_sequence<int, K...>) {
    return std::tuple(ct::sum((x + K) * (y - 2 * K), ct::axis<1>)..., ct::max(x * y, ct::axis<0>));
  }(std::make_integer_sequence<int, 18>());
};
/// A polynomial of which each row has 25 coefficients, and its sums.
constexpr auto many_coefficients = [](auto x, auto coefficients) {
  const auto value = [&]<int... K>(std::integer_sequence<int, K...>) {
    auto p = x;
    ((p = p * x + ct::slice<ct::full_extent, ct::range<K, K + 1>>(coefficients)), ...);
    return p;
  }(std::make_integer_sequence<int, 25>());
  return std::tuple(value, ct::sum(value, ct::axis<1>), ct::min(value, ct::axis<0>));
};
}  // namespace

TEST_CASE("derivatives of sums, means and logsumexp") {
  check_derivatives(sums, std::tuple(between<double, 2, 3, 5>(-1, 1)));
}

TEST_CASE("derivatives of extrema") {
  check_rules_of(extrema, std::tuple(between<double, 2, 3, 5>(-1, 1)));
  check_jit(extrema, 0, between<float, 2, 3, 5>(-1, 1));
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
  CHECK(ct::jit([](auto x) { return ct::sum(x); })(one) == -0.75);
}

TEMPLATE_TEST_CASE("more sums than there are registers, and more values that rows share", "", float, double) {
  using T = TestType;
  constexpr double tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-13;
  const auto check = [&]<int Rows, int Lanes>(std::integer_sequence<int, Rows, Lanes>) {
    const auto x = between<T, Rows, Lanes>(0.1, 1), y = between<T, Rows, Lanes>(40, 50);
    check_jit(many_sums, tolerance, x, y);
    check_jit(many_coefficients, tolerance, x, between<T, Rows, 25>(0, 1));
  };
  check(std::integer_sequence<int, 3, 64>());
  check(std::integer_sequence<int, 2, 79>());
  check(std::integer_sequence<int, 5, 4001>());
  ct::array<T, ct::dyn, ct::dyn> x({3, 151}), y({3, 151});
  std::copy_n(between<T, 453>(0.1, 1).data(), 453, x.data());
  std::copy_n(between<T, 453>(40, 50).data(), 453, y.data());
  check_jit(many_sums, tolerance, x, y);
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
