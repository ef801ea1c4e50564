/// Reductions over windows and pools: shapes, strides, dilations and padding against the definition, derivatives, ties, and sums of arrays with zeros between their elements.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

template <ct::reduction By, ct::shape Window, auto... Tags> struct windows {
  constexpr auto operator()(auto x) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return ct::reduce_window<By, Window.dims[I]...>(x, Tags...); }(std::make_index_sequence<std::size_t(Window.rank)>{});
  }
};
/// By definition, of a matrix.
template <ct::reduction By, class A> double reduced(const A& x, ct::extent i, ct::extent j, ct::extent rows, ct::extent columns, ct::extent dilation) {
  double r = By == ct::reduction::sum ? 0 : By == ct::reduction::prod ? 1 : By == ct::reduction::max ? -INFINITY : INFINITY;
  for (ct::extent a = i; a < i + rows * dilation; a += dilation)
    for (ct::extent b = j; b < j + columns; ++b) {
      if (a < 0 || b < 0 || a >= x.extent(0) || b >= x.extent(1)) continue;
      const double v = x(a, b);
      r = By == ct::reduction::sum ? r + v : By == ct::reduction::prod ? r * v : By == ct::reduction::max ? std::max(r, v) : std::min(r, v);
    }
  return r;
}
template <ct::reduction By> void check_matrix() {
  const auto x = between<double, 17, 23>(-1, 1);
  const auto close = [](double a, double b) { return a == b || std::abs(a - b) <= 1e-12; };  // windows of padding alone are infinite
  const auto few = ct::jit(windows<By, ct::shape{2, 3}, ct::strides<2, 1>, ct::padding<ct::low<1, 0>, ct::high<2, 1>>>{})(x);
  REQUIRE(few.shape() == ct::shape{10, 22});
  const auto many = ct::jit(windows<By, ct::shape{6, 11}, ct::strides<3, 2>, ct::same, ct::rhs_dilation<2, 1>>{})(x);
  REQUIRE(many.shape() == ct::shape{6, 12});
  bool fits = true;
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 22; ++j) fits = fits && close(few(i, j), reduced<By>(x, 2 * i - 1, j, 2, 3, 1));
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 12; ++j) fits = fits && close(many(i, j), reduced<By>(x, 3 * i - 4, 2 * j - 5, 6, 11, 2));
  CHECK(fits);
}

}  // namespace

TEST_CASE("reductions of windows against the definition") {
  check_matrix<ct::reduction::sum>();
  check_matrix<ct::reduction::prod>();
  check_matrix<ct::reduction::max>();
  check_matrix<ct::reduction::min>();
  // Of integers nothing that is padded is larger or smaller.
  const auto integers = [&]<class T>(T) {
    const ct::array<T, 3> x{1, 2, 3};
    const auto largest = ct::jit(windows<ct::reduction::max, ct::shape{2}, ct::padding<ct::low<2>, ct::high<0>>>{})(x);
    const auto smallest = ct::jit(windows<ct::reduction::min, ct::shape{2}, ct::padding<ct::low<2>, ct::high<0>>>{})(x);
    CHECK(largest(0) == std::numeric_limits<T>::lowest());
    CHECK(largest(3) == 3);
    CHECK(smallest(0) == std::numeric_limits<T>::max());
    CHECK(smallest(1) == 1);
  };
  integers(std::int8_t()), integers(std::uint8_t()), integers(std::int32_t()), integers(std::int64_t()), integers(std::uint64_t());
}

TEST_CASE("derivatives of windows and pools") {
  const auto x = std::tuple(between<double, 2, 7, 6, 2>(-1, 1));
  check_derivatives<orders::first>([](auto x) { return ct::nn::max_pool<2, 2>(x, ct::strides<2, 2>); }, x);
  check_derivatives<orders::first>([](auto x) { return ct::nn::max_pool<3, 2>(x, ct::strides<2, 3>, ct::same); }, x);
  check_derivatives([](auto x) { return ct::nn::avg_pool<3, 3>(x, ct::strides<2, 2>, ct::same); }, x);
  check_rules_of<orders::first>(windows<ct::reduction::min, ct::shape{1, 5, 5, 1}>{}, x);
  check_rules_of<orders::first>(windows<ct::reduction::prod, ct::shape{1, 2, 2, 1}, ct::strides<1, 3, 1, 2>>{}, x);
  check_rules_of(windows<ct::reduction::sum, ct::shape{1, 2, 3, 1}, ct::lhs_dilation<1, 2, 2, 1>, ct::padding<ct::low<0, 1, 0, 0>, ct::high<0, 0, 2, 0>>>{}, x);
}

/// Of several largest elements the first one, in row-major order, has the derivative, as in JAX.
TEST_CASE("ties, and numbers that are none") {
  const auto slope = [](auto f, const auto& x) { return ct::jit(ct::grad([](auto x) { return ct::sum(decltype(f){}(x)); }))(x); };
  const ct::array<float, 3, 3> x{{1, 2, 2}, {2, 1, 2}, {0, 2, 2}};
  const ct::array<float, 3, 3> of_all{{0, 1, 0}, {0, 0, 0}, {0, 0, 0}};
  CHECK(ct::jit([](auto a, auto b) { return ct::all(a == b); })(slope(windows<ct::reduction::max, ct::shape{3, 3}>{}, x), of_all)());
  const auto squares = slope(windows<ct::reduction::max, ct::shape{2, 2}>{}, x);
  CHECK(ct::jit([](auto a, auto b) { return ct::sum(ct::abs(a - b)); })(squares, ct::array<float, 3, 3>{{0, 2, 0}, {1, 0, 1}, {0, 0, 0}})() == 0);
  CHECK(std::isnan(ct::jit(windows<ct::reduction::max, ct::shape{2}>{})(ct::array<float, 3>{1, NAN, 2})(0)));
  CHECK(std::isnan(ct::jit(windows<ct::reduction::min, ct::shape{2}>{})(ct::array<float, 3>{1, NAN, 2})(1)));
}

TEST_CASE("run-time extents") {
  const ct::array<double, ct::dyn, ct::dyn, ct::dyn, 2> x(between<double, 2, 7, 6, 2>(-1, 1));
  constexpr auto f = [](auto x) { return ct::value_and_grad([](auto x) { return ct::sum(ct::sin(ct::nn::max_pool<2, 3>(x, ct::strides<2, 1>))); })(x); };
  check_close(tensors_of(ct::jit(f)(x)), tensors_of(ct::jit(f)(between<double, 2, 7, 6, 2>(-1, 1))), 1e-12);
  const ct::array<double, ct::dyn, ct::dyn, ct::dyn, 2> small({2, 1, 6, 2});
  CHECK_THROWS_AS(ct::jit([](auto x) { return ct::nn::max_pool<2, 3>(x); })(small), ct::shape_error);
}

TEST_CASE("sums of arrays with zeros between their elements are stored once") {
  constexpr auto halves = [](auto x) {
    constexpr auto all = ct::full_extent;
    return ct::slice<ct::range<0, 10, 2>, all>(x) * ct::slice<ct::range<1, 11, 2>, all>(x) + ct::sin(ct::slice<ct::range<2, 11, 2>, all>(x));
  };
  const auto x = between<double, 11, 5>(-1, 1);
  check_derivatives(halves, std::tuple(x));
  // Each phase is computed and stored where it belongs.
  constexpr auto pool = ct::grad([](auto x) { return ct::sum(ct::sin(ct::nn::max_pool<2, 2>(x, ct::strides<2, 2>))); });
  const std::string steps = ct::jit(pool).kernels(ct::array<float, 4, 32, 32, 16>());
  CHECK(steps.find("step 1: ") == std::string::npos);
  CHECK(steps.find("arena of 0 bytes") != std::string::npos);
  check_jit(pool, 1e-5, between<float, 4, 32, 32, 16>(-1, 1));
  check_jit(pool, 1e-5, between<float, 1, 7, 9, 3>(-1, 1));
  // Other steps, terms beside them, and one array of several phases.
  constexpr auto mixed = [](auto x) {
    const auto third = ct::slice<ct::range<0, 9, 3>>(x), next = ct::slice<ct::range<1, 10, 3>>(x), half = ct::slice<ct::range<0, 6, 2>>(x);
    return ct::sum(third * next * half) + ct::sum(x * x * x);
  };
  check_derivatives(mixed, std::tuple(between<double, 11>(-1, 1)));
}
