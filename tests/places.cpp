/// argmax and argmin along rows, which kernels find together with the extremum: against loops, at ties, infinities and NaNs.

#include <cotangent/cotangent.hpp>

#include <cmath>
#include <limits>
#include <string>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

constexpr auto places = [](auto x) { return std::tuple(ct::min(x, ct::axis<1>), ct::argmin(x, ct::axis<1>), ct::argmax(x, ct::axis<1>)); };
constexpr auto greatest = [](auto x) { return std::tuple(ct::argmax(x, ct::axis<1>), ct::max(x, ct::axis<1>), ct::sum(x, ct::axis<0>)); };

template <class T> bool is_nan(T x) { return x != x; }
/// The first index at which a row has its least, or greatest, element, or a NaN.
template <class T> std::int32_t place_in(const T* row, extent n, bool least) {
  extent best = 0;
  for (extent i = 1; i < n && !is_nan(row[best]); ++i)
    if (is_nan(row[i]) || (least ? row[i] < row[best] : row[i] > row[best])) best = i;
  return std::int32_t(best);
}
template <class T> bool same(T a, T b) { return a == b || (is_nan(a) && is_nan(b)); }

template <class X> void check_places(const X& x) {
  const extent rows = x.extent(0), n = x.extent(1);
  const auto [least, first, last] = ct::jit(places)(x);
  const auto [place, most, sums] = ct::jit(greatest)(x);
  extent wrong = 0;
  for (extent i = 0; i < rows; ++i) {
    const auto* row = x.data() + i * n;
    const std::int32_t low = place_in(row, n, true), high = place_in(row, n, false);
    wrong += first(i) != low || last(i) != high || place(i) != high || !same(least(i), row[low]) || !same(most(i), row[high]);
  }
  CHECK(wrong == 0);
}

/// Few different numbers, so that there are ties.
template <class X> X with_ties(X x, int different) {
  using T = typename X::value_type;
  std::uint64_t state = std::uint64_t(x.size()) + 1;
  for (extent k = 0; k < x.size(); ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x.data()[k] = T(int(state >> 33) % different) - T(different / 2);
  }
  return x;
}

template <class T> struct of_type {
  template <extent Rows, extent N> static void check() {
    check_places(with_ties(ct::array<T, Rows, N>(), 7));
    check_places(with_ties(ct::array<T, Rows, N>(), 1 << 20));
  }
};

}  // namespace

TEMPLATE_TEST_CASE("rows of any length, ties", "", float, double, std::int64_t) {
  of_type<TestType>::template check<37, 101>();
  of_type<TestType>::template check<19, 20011>();
  if (std::is_same_v<TestType, float>) of_type<float>::check<3000, 64>();
  of_type<TestType>::template check<5, 63>();  // too short or too few: two reductions, one after the other
}

TEST_CASE("one kernel finds extremum and place") {
  const auto x = between<float, 40, 500>(-1, 1);
  const std::string text = ct::jit([](auto x) { return std::tuple(ct::argmin(x * x, ct::axis<1>), ct::min(x * x, ct::axis<1>)); }).kernels(x);
  CHECK(text.find("index of reduce_min into output 0") != std::string::npos);
  CHECK(text.find("step 1") == std::string::npos);
  const std::string alone = ct::jit([](auto x) { return ct::argmax(x, ct::axis<1>); }).kernels(x);
  CHECK(alone.find("index of reduce_max into output 0") != std::string::npos);
  CHECK(alone.find("step 1") == std::string::npos);
  CHECK(alone.find("; reduce_max") == std::string::npos);
}

TEMPLATE_TEST_CASE("infinities and NaNs", "", float, double) {
  using T = TestType;
  constexpr T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  constexpr extent n = 531;
  auto x = with_ties(ct::array<T, 64, n>(), 50);
  for (extent i = 0; i < 64; ++i) {
    T* row = &x(i, 0);
    const extent at = i * 37 % n;
    if (i % 8 == 0) std::fill_n(row, n, i % 16 == 0 ? infinity : -infinity);
    if (i % 8 == 1 || i % 8 == 6) row[at] = -infinity, row[(at + 100) % n] = -infinity, row[(at + 300) % n] = infinity;
    if (i % 8 == 2 || i % 8 == 6) row[at] = nan;
    if (i % 8 == 3) row[at] = nan, row[(at + 17) % n] = nan, row[(at + 32) % n] = nan;
    if (i % 8 == 4) std::fill_n(row, n, nan);
    if (i % 8 == 5) row[n - 1] = nan, row[0] = -infinity;
  }
  x(1, 0) = T(-0.0), x(1, 1) = T(0.0);
  check_places(x);
}

TEST_CASE("the least and the greatest integers") {
  ct::array<std::int32_t, 16, 70> x = ct::full<std::int32_t, 16, 70>(std::numeric_limits<std::int32_t>::max());
  for (extent j = 0; j < 70; ++j) x(3, j) = std::numeric_limits<std::int32_t>::min();
  x(4, 69) = std::numeric_limits<std::int32_t>::min();
  check_places(x);
}

TEST_CASE("extents known at run time only") {
  for (const extent rows : {0, 1, 3, 100})
    for (const extent n : {1, 2, 16, 17, 900, 40001}) {
      check_places(with_ties(ct::array<float, ct::dyn, ct::dyn>({rows, n}), 1000));
      if (n == 900) check_places(with_ties(ct::array<double, ct::dyn, 900>({rows, n}), 1000));
      if (rows == 100) check_places(with_ties(ct::array<double, 100, ct::dyn>({rows, n}), 5));
    }
}

TEST_CASE("places of what a kernel computes, and what is done with them") {
  constexpr auto distances = ct::vmap(ct::vmap([](auto a, auto b) { return ct::sum(ct::square(a - b)); }, ct::in_axes<ct::none, 0>), ct::in_axes<0, ct::none>);
  const auto by_index = [=](auto q, auto p) {
    const auto d = distances(q, p);
    const auto i = ct::argmin(d, ct::axis<1>);
    return std::tuple(ct::sum(ct::square(q - ct::take<0>(p, i))), ct::sum(ct::exp(-d), ct::axis<1>), ct::min(d, ct::axis<1>), ct::max(d, ct::axis<0>), ct::sum(d), i);
  };
  const auto q = between<double, 33, 3>(-1, 1);
  const auto p = between<double, 301, 3>(-1, 1, 1);
  check_jit(by_index, 1e-12, q, p);
  const auto gradient = ct::grad([=](auto q, auto p) { return std::get<0>(by_index(q, p)); }, ct::wrt<0, 1>);
  check_jit(gradient, 1e-12, q, p);
  // The comparison with the extremum is used otherwise as well; three axes; the mask of a NaN; a place that is compared with.
  const auto shared = [](auto x) {
    const auto least = ct::min(x, ct::axis<2>, ct::keepdims);
    const auto i = ct::argmin(x, ct::axis<2>);
    return std::tuple(i, ct::sum(x == least, ct::axis<2>), ct::argmax(-x, ct::axis<2>) + i, ct::take_along_axis<2>(x, ct::expand_dims<2>(i)));
  };
  check_jit(shared, 0, between<float, 3, 7, 90>(-1, 1));
  const auto looped = [](auto x) { return ct::fori_loop<0, 3>([](auto, auto c) { return c + ct::astype<float>(ct::expand_dims<1>(ct::argmax(ct::sin(c), ct::axis<1>))); }, x); };
  check_jit(looped, 1e-5, between<float, 20, 80>(-1, 1));
  const auto of_product = [](auto x, auto w) { return ct::argmax(ct::tanh(ct::matmul(x, w)), ct::axis<1>); };
  check_jit(of_product, 0, between<double, 150, 40>(-1, 1), between<double, 40, 90>(-0.1, 0.1, 1));
  const auto batched = ct::vmap([](auto x) { return std::tuple(ct::argmax(x, ct::axis<1>), ct::argmin(x, ct::axis<0>)); });
  check_jit(batched, 0, between<float, 4, 70, 66>(-1, 1));
}

TEST_CASE("neighbouring rows that share what they load") {
  constexpr auto distances = ct::vmap(ct::vmap([](auto a, auto b) { return ct::sum(ct::square(a - b)); }, ct::in_axes<ct::none, 0>), ct::in_axes<0, ct::none>);
  const auto nearest = [=](auto q, auto p) {
    const auto d = distances(q, p);
    return std::tuple(ct::argmin(d, ct::axis<1>), ct::min(d, ct::axis<1>), ct::max(d, ct::axis<0>));
  };
  check_jit(nearest, 1e-12, between<double, 39, 2>(-1, 1), between<double, 301, 2>(-1, 1, 1));
  check_jit(ct::vmap(nearest), 1e-5, between<float, 3, 18, 2>(-1, 1), between<float, 3, 257, 2>(-1, 1, 1));
  const auto extremes = [](auto x, auto y) { return std::tuple(ct::max(ct::expand_dims<1>(x) * y, ct::axis<1>), ct::min(ct::expand_dims<1>(x) - y, ct::axis<1>)); };
  const auto some = between<float, 1000>(-1, 1);
  for (const extent rows : {1, 3, 4, 5, 23})
    for (const extent n : {1, 300, 517}) {
      ct::array<float, ct::dyn> x({rows}), y({n});
      std::copy_n(some.data(), rows, x.data());
      std::copy_n(some.data() + 100, n, y.data());
      check_jit(extremes, 1e-6, x, y);
    }
}
