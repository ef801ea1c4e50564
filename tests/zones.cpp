/// Extrema along long rows of computed arrays, in zones: against loops, at ties, infinities and NaNs.

#include <cotangent/cotangent.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"

namespace ct = cotangent;

namespace {

using ct::extent;

constexpr auto distance = [](auto a, auto b) { return ct::sum(ct::square(a - b)); };
constexpr auto distances = ct::vmap(ct::vmap(distance, ct::in_axes<ct::none, 0>), ct::in_axes<0, ct::none>);
constexpr auto nearest = [](auto q, auto p) {
  const auto d = distances(q, p);
  return std::tuple(ct::min(d, ct::axis<1>), ct::argmin(d, ct::axis<1>));
};
constexpr auto farthest = [](auto q, auto p) {
  const auto d = distances(q, p);
  return std::tuple(ct::max(d, ct::axis<1>), ct::argmax(d, ct::axis<1>));
};
constexpr auto by_minimum = ct::grad([](auto q, auto p, auto w) { return ct::sum(w * ct::min(distances(q, p), ct::axis<1>)); }, ct::wrt<0, 1>);
constexpr auto by_maximum = ct::grad([](auto q, auto p, auto w) { return ct::sum(w * ct::max(distances(q, p), ct::axis<1>)); }, ct::wrt<0, 1>);
constexpr auto once = ct::grad([](auto q, auto p) { return ct::sum(ct::min(distances(q, p), ct::axis<1>)); });
constexpr auto twice = ct::grad([](auto q, auto p) { return ct::sum(ct::square(once(q, p))); });
constexpr auto few_nearest = [](auto q, auto p) {
  const auto [closeness, indices] = ct::top_k<3>(-distances(q, p));
  return std::tuple(-closeness, indices);
};

/// Whole numbers from 0 to different - 1: distances are exact, and there are ties.
template <class X> X whole(X x, int different, int seed) {
  std::uint64_t state = std::uint64_t(seed) * 977 + 1;
  for (extent k = 0; k < extent(x.size()); ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x.data()[k] = typename X::value_type(int(state >> 33) % different);
  }
  return x;
}
template <class T> bool same(T a, T b) { return a == b || (a != a && b != b); }

/// The distances as a loop computes them.
template <class Q, class P> auto loop(const Q& q, const P& p) {
  using T = typename Q::value_type;
  std::vector<std::vector<T>> d(std::size_t(q.extent(0)), std::vector<T>(std::size_t(p.extent(0))));
  for (extent i = 0; i < q.extent(0); ++i)
    for (extent j = 0; j < p.extent(0); ++j)
      for (extent k = 0; k < q.extent(1); ++k) d[std::size_t(i)][std::size_t(j)] += (q(i, k) - p(j, k)) * (q(i, k) - p(j, k));
  return d;
}
template <class T> std::size_t place_in(const std::vector<T>& row, bool least) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size() && row[best] == row[best]; ++i)
    if (row[i] != row[i] || (least ? row[i] < row[best] : row[i] > row[best])) best = i;
  return best;
}

template <class Q, class P> void check_extrema(const Q& q, const P& p) {
  const auto d = loop(q, p);
  const auto [least, low] = ct::jit(nearest)(q, p);
  const auto [most, high] = ct::jit(farthest)(q, p);
  int wrong = 0;
  for (extent i = 0; i < q.extent(0); ++i) {
    const auto& row = d[std::size_t(i)];
    const std::size_t a = place_in(row, true), b = place_in(row, false);
    wrong += std::size_t(low(i)) != a || std::size_t(high(i)) != b || !same(least(i), row[a]) || !same(most(i), row[b]);
  }
  CHECK(wrong == 0);
}

template <class T, extent Rows, extent Axes, class P> void check_gradients(const ct::array<T, Rows, Axes>& q, const P& p, bool least) {
  const auto d = loop(q, p);
  ct::array<T, Rows> weights;
  for (extent i = 0; i < q.extent(0); ++i) weights(i) = T(i % 5) - 1;
  std::vector<T> by_q(std::size_t(q.size())), by_p(std::size_t(p.size()));
    for (extent i = 0; i < q.extent(0); ++i) {
    const auto& row = d[std::size_t(i)];
    const T m = row[place_in(row, least)];
    T count = 0;
    for (T x : row) count += x == m;
    for (extent j = 0; j < p.extent(0); ++j)
      for (extent k = 0; k < Axes && (row[std::size_t(j)] == m || m != m); ++k) {
        const T term = m != m ? m : weights(i) / count * 2 * (q(i, k) - p(j, k));
        by_q[std::size_t(i * Axes + k)] += term, by_p[std::size_t(j * Axes + k)] -= term;
      }
  }
  const auto [a, b] = least ? ct::jit(by_minimum)(q, p, weights) : ct::jit(by_maximum)(q, p, weights);
  const auto differs = [](T x, T y) { return !(std::abs(x - y) <= T(1e-4) * (1 + std::abs(y))) && !(x != x && y != y); };
  int wrong = 0;
  for (std::size_t k = 0; k < by_q.size(); ++k) wrong += differs(a.data()[k], by_q[k]);
  for (std::size_t k = 0; k < by_p.size(); ++k) wrong += differs(b.data()[k], by_p[k]);
  CHECK(wrong == 0);
}

template <class Q, class P> void check_few(const Q& q, const P& p) {
  const auto d = loop(q, p);
  const auto [near, places] = ct::jit(few_nearest)(q, p);
  int wrong = 0;
  for (extent i = 0; i < q.extent(0); ++i) {
    auto row = d[std::size_t(i)];
    for (int k = 0; k < 3; ++k) {  // a NaN comes first
      const std::size_t at = place_in(row, true);
      wrong += std::size_t(places(i, k)) != at || !same(near(i, k), d[std::size_t(i)][at]);
      row[at] = std::numeric_limits<typename Q::value_type>::infinity();
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("extrema and their places, of rows in zones and others", "", float, double) {
  using T = TestType;
  check_extrema(whole(ct::array<T, 67, 3>(), 9, 1), whole(ct::array<T, 6000, 3>(), 9, 2));    // zones of 400
  check_extrema(whole(ct::array<T, 64, 2>(), 3000, 3), whole(ct::array<T, 4096, 2>(), 3000, 4));  // of 512
  check_extrema(whole(ct::array<T, 66, 2>(), 300, 5), whole(ct::array<T, 5001, 2>(), 300, 6));    // cannot be cut
  if (std::is_same_v<T, float>) check_extrema(whole(ct::array<T, 1, 2>(), 30, 7), whole(ct::array<T, 4096, 2>(), 30, 8));
  check_extrema(whole(ct::array<T, ct::dyn, 2>({65, 2}), 50, 9), whole(ct::array<T, ct::dyn, 2>({4096, 2}), 50, 10));
}

TEST_CASE("an extremum whose elements are NaN or infinite") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  auto q = whole(ct::array<float, 67, 3>(), 9, 1);
  auto p = whole(ct::array<float, 6000, 3>(), 9, 2);
  q(5, 1) = nan, q(20, 0) = inf, q(66, 2) = -inf;
  check_extrema(q, p);
  p(4711, 2) = inf;
  check_extrema(q, p);
  p(333, 0) = nan;
  check_extrema(q, p);
  p(5999, 0) = nan;
  check_few(q, p);
}

TEMPLATE_TEST_CASE("gradients through extrema go evenly to all places", "", float, double) {
  using T = TestType;
  for (bool least : {true, false}) {
    check_gradients(whole(ct::array<T, 67, 3>(), 5, 1), whole(ct::array<T, 6000, 3>(), 5, 2), least);  // many ties
    check_gradients(whole(ct::array<T, 64, 2>(), 100000, 3), whole(ct::array<T, 4096, 2>(), 100000, 4), least);
    check_gradients(whole(ct::array<T, 70, 2>(), 50, 5), whole(ct::array<T, 4097, 2>(), 50, 6), least);
  }
}

TEST_CASE("a row whose extremum is NaN has NaN for a gradient") {
  auto q = whole(ct::array<float, 67, 3>(), 9, 1);
  const auto p = whole(ct::array<float, 6000, 3>(), 9, 2);
  q(5, 1) = std::numeric_limits<float>::quiet_NaN();
  check_gradients(q, p, true);
}

TEMPLATE_TEST_CASE("the first few of long rows", "", float, double) {
  using T = TestType;
  check_few(whole(ct::array<T, 67, 3>(), 9, 1), whole(ct::array<T, 4096, 3>(), 9, 2));
  check_few(whole(ct::array<T, 64, 2>(), 3000, 3), whole(ct::array<T, 8192, 2>(), 3000, 4));
  check_few(whole(ct::array<T, 65, 2>(), 300, 5), whole(ct::array<T, 4100, 2>(), 300, 6));
}

TEST_CASE("computed arrays with zones are never in memory, others stay as they are") {
  const ct::array<float, 128, 3> q;
  const ct::array<float, 8192, 3> p;
  const ct::array<float, 128, 8192> x;
  const auto has = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
  CHECK(has(ct::jit(nearest).kernels(q, p), "kernel over [16,128,512]"));
  CHECK(!has(ct::jit(by_minimum).kernels(q, p, ct::array<float, 128>()), "[128,8192]"));
  CHECK(!has(ct::jit(few_nearest).kernels(q, p), "[128,8192]"));
  // The distances are needed anyway, or are there.
  CHECK(!has(ct::jit([](auto q, auto p) { return std::tuple(distances(q, p), ct::min(distances(q, p), ct::axis<1>)); }).kernels(q, p), "[16,128,512]"));
  CHECK(!has(ct::jit([](auto x) { return ct::min(x * x, ct::axis<1>); }).kernels(x), "[16,128,512]"));
}

TEST_CASE("tangents, second derivatives and other sums through extrema") {
  const auto q = whole(ct::array<double, 66, 2>(), 100000, 1);
  const auto p = whole(ct::array<double, 4096, 2>(), 100000, 2);
  const auto gradient = ct::jit(once)(q, p);
  const auto [value, tangent] = ct::jit([](auto q, auto p) { return ct::jvp([p](auto q) { return ct::sum(ct::min(distances(q, p), ct::axis<1>)); }, std::tuple(q), std::tuple(q)); })(q, p);
  double product = 0;
  for (extent i = 0; i < extent(q.size()); ++i) product += q.data()[i] * gradient.data()[i];
  CHECK(std::abs(tangent() - product) <= 1e-9 * std::abs(product));
  const auto second = ct::jit(twice)(q, p);  // of 4 d: 8 (q - p)
  for (extent i = 0; i < extent(q.size()); ++i) CHECK(second.data()[i] == Approx(4 * gradient.data()[i]));
}
