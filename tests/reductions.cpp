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

TEST_CASE("reductions over run-time extents") {
  constexpr auto f = [](auto x) {
    return std::tuple(ct::sum(x, ct::axis<0>), ct::mean(x, ct::axis<0>), ct::max(x, ct::axis<0>), ct::logsumexp(x, ct::axis<0>), ct::variance(x), ct::cumsum(x, ct::axis<0>), ct::sum(x, ct::axis<1>));
  };
  ct::array<double, ct::dyn, 3> x({7, 3});
  std::copy_n(between<double, 21>(-1, 1).data(), 21, x.data());
  check_rules(graph_of(f, x), tensors_of(x));
  check_jit(f, 1e-13, x);
}
