/// Programs whose parts run on several threads: the same bits with 1, 2, 3 and 7 of them, and, under the thread sanitizer, no races. Small,
/// as the sanitizer makes them slow; what they compute is tested elsewhere.

#include <algorithm>
#include <atomic>
#include <vector>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

/// The program's results with one thread, after those with two and three were found to be the same.
template <class F, class... A> void check_threads(F f, const A&... x) {
  const auto program = ct::jit(f);
  ct::set_num_threads(1);
  const auto one = program(x...);
  for (const int threads : {2, 3, 7}) {
    ct::set_num_threads(threads);
    CHECK(program(x...) == one);
  }
  ct::set_num_threads(2);
}

/// A layer norm with gain and bias and its cotangents: rows, sums over rows, and extremes beside them.
constexpr auto layer = [](auto x, auto gain, auto bias) {
  const auto d = x - ct::mean(x, ct::axis<1>, ct::keepdims);
  return d / ct::sqrt(ct::mean(d * d, ct::axis<1>, ct::keepdims) + 1e-3) * gain + bias;
};
constexpr auto layer_both_ways = [](auto g, auto x, auto gain, auto bias) {
  const auto [y, pullback] = ct::vjp(layer, x, gain, bias);
  const auto [by_x, by_gain, by_bias] = pullback(g);
  return std::tuple(y, by_x, by_gain, by_bias, ct::sum(by_x * y), ct::max(by_x, ct::axis<0>), ct::any(y > 3.0, ct::axis<0>));
};

/// A step of a stencil and its cotangents.
constexpr auto stencil = [](auto x, auto y) {
  const auto change = ct::roll<0>(x, 1) - ct::roll<0>(x, -1) + ct::roll<1>(y, 1) * ct::roll<1>(x, -1);
  return std::tuple(x + 0.1 * change, y - 0.1 * change, ct::sum(change));
};
constexpr auto stencil_both_ways = [](auto x, auto y) {
  const auto [results, pullback] = ct::vjp(stencil, x, y);
  return std::tuple(results, pullback(results));
};

/// Quadratic forms of points minus centres: [k, d, d] factors, [k, d] centres, [n, d] points.
constexpr auto forms_loss = [](auto q, auto centres, auto x) {
  const auto forms = ct::vmap([](auto q, auto centre, auto x) { return ct::vmap([](auto q, auto c, auto x) { return ct::sum(ct::square(ct::matmul(ct::tril(q), x - c))); }, ct::in_axes<ct::none, ct::none, 0>)(q, centre, x); },
                              ct::in_axes<0, 0, ct::none>)(q, centres, x);
  return ct::sum(ct::logsumexp(-0.05 * forms, ct::axis<0>));
};

}  // namespace

TEST_CASE("each number is taken once, by any number of threads") {
  for (const int threads : {1, 2, 7, 100}) {
    ct::set_num_threads(threads);
    for (const ct::extent count : {0, 1, 2, 5, 64, 97, 1000}) {
      std::vector<std::atomic<int>> taken(std::size_t(count) + 1);
      ct::host::parallel_for(count, [&](ct::extent i) { ++taken[std::size_t(i)]; });
      CHECK(std::count(taken.begin(), taken.end(), 1) == count);
    }
  }
  ct::set_num_threads(2);
}

TEST_CASE("stencils") { check_threads(stencil_both_ways, between<float, 1100, 130>(-1, 1), between<float, 1100, 130>(-1, 1, 1)); }

TEST_CASE("rows and the sums over them") {
  const auto x = between<float, 601, 70>(-2, 2), g = between<float, 601, 70>(-1, 1, 1);
  const auto gain = between<float, 70>(0.5, 2, 2), bias = between<float, 70>(-1, 1, 3);
  CHECK(ct::jit(layer_both_ways).kernels(g, x, gain, bias).find("run together") != std::string::npos);
  check_threads(layer_both_ways, g, x, gain, bias);
}

TEST_CASE("batches of products in blocks of their rows") {
  check_threads(ct::value_and_grad(forms_loss, ct::wrt<0, 1>), between<double, 6, 32, 32>(-0.5, 0.5), between<double, 6, 32>(-1, 1, 1), between<double, 203, 32>(-1, 1, 2));
}

TEST_CASE("reductions, pairs and scatters") {
  const auto pairs = [](auto x, auto i) {
    const auto d = ct::vmap(ct::vmap([](auto a, auto b) { return ct::sum(ct::square(a - b)); }, ct::in_axes<ct::none, 0>), ct::in_axes<0, ct::none>)(x, x);
    const auto least = ct::min(d, ct::axis<1>);
    return std::tuple(ct::sum(ct::sqrt(d), ct::axis<0>), least, ct::argmin(d, ct::axis<0>), ct::at(least, i).add(least));
  };
  ct::array<std::int32_t, 400> places;
  for (int k = 0; k < 400; ++k) places(k) = 7 * k % 31;
  check_threads(pairs, between<double, 400, 3>(-1, 1), places);
  check_threads([](auto x) { return std::tuple(ct::sum(ct::sin(x)), ct::sum(x, ct::axis<0>), ct::argmax(x)); }, between<float, 300, 700>(-1, 1));
}

/// Many more updates than places, of one, two and three numbers, some of them outside.
template <class T, int Size> void check_many_updates() {
  constexpr int updates = 6007, places = 40;
  ct::array<T, places, Size> x;
  ct::array<T, updates, Size> u;
  ct::array<std::int32_t, updates> to;
  for (int i = 0; i < updates; ++i) {
    to(i) = i % 97 == 0 ? places + 2 : (i * 7 + i / 11) % (places - 1);  // the last place gets none
    for (int k = 0; k < Size; ++k) u(i, k) = T((i * 31 + k * 17) % 101 - 50);
  }
  for (T& v : x) v = T(-0.0);
  auto expected = x;
  for (int i = 0; i < updates; ++i)
    for (int k = 0; k < Size && to(i) < places; ++k) expected(to(i), k) += u(i, k);
  const auto add = [](auto x, auto to, auto u) { return ct::at(x, to).add(u); };
  CHECK(ct::jit(add)(x, to, u) == expected);
  CHECK(std::signbit(double(ct::jit(add)(x, to, u)(places - 1, 0))) == std::signbit(double(T(-0.0))));
  if constexpr (std::is_floating_point_v<T>) check_threads(add, x, to, between<T, updates, Size>(-1, 1));
}
TEST_CASE("sums of many updates of few places") {
  check_many_updates<float, 3>();
  check_many_updates<double, 1>();
  check_many_updates<std::int32_t, 2>();
}

TEST_CASE("updates that a kernel makes, row block by row block") {
  const auto slope = ct::value_and_grad([](auto x, auto lists) { return ct::sum(ct::sin(ct::sum(ct::take<0>(x, lists), ct::axis<1>) * ct::take<0>(x, lists)(ct::full_extent, ct::index<0>))); });
  ct::array<std::int32_t, 3000, 12> lists;
  for (int k = 0; k < 36000; ++k) lists.data()[k] = (7 * k + k / 13) % 200;
  check_threads(slope, between<double, 200, 3>(-1, 1), lists);
}

/// The energy of points with those in their lists, each and all, and the slope of all of it.
constexpr auto list_energies = [](auto x, auto lists) {
  return ct::vmap([](auto a, auto others) {
    return ct::sum(ct::vmap([](auto a, auto b) { return 1.0 / (0.5 + ct::sum(ct::square(a - b))); }, ct::in_axes<ct::none, 0>)(a, others));
  })(x, ct::take<0>(x, lists));
};
constexpr auto list_slopes = ct::value_and_grad([](auto x, auto lists) { return ct::sum(list_energies(x, lists)); });

template <class T, ct::extent Points, int Size, int Most> void check_lists(ct::extent n) {
  ct::array<T, Points, Size> x({n, Size});
  ct::array<std::int32_t, Points, Most> lists({n, Most});
  for (ct::extent i = 0; i < n * Size; ++i) x.data()[i] = T((i * 37 + i / 5) % 101) / T(50) - T(1);
  for (const int kind : {0, 1, 2}) {  // indices in their range, counted from the end here and there, and a few outside
    for (ct::extent i = 0; i < n; ++i)
      for (int k = 0; k < Most; ++k) {
        const ct::extent j = (i + 7 * k + i * k / 3) % n;
        lists(i, k) = std::int32_t(kind > 0 && (i + k) % 19 == 3 ? j - n : kind > 1 && i % 23 == 5 && k == Most / 2 ? (i % 2 == 0 ? n : -n - 1) : j);
      }
    check_jit(list_energies, std::is_same_v<T, float> ? 1e-5 : 1e-12, x, lists);
    if (kind == 2) continue;  // all would be NaN
    check_jit(list_slopes, std::is_same_v<T, float> ? 2e-4 : 1e-11, x, lists);
    if (n >= 700 && Size == 3) CHECK(ct::jit(list_slopes).kernels(x, lists).find("run together") != std::string::npos);
    check_threads(list_slopes, x, lists);
  }
}
TEST_CASE("points of lists that are chosen at run time, and sums of many updates of them") {
  check_lists<float, 700, 3, 48>(700);
  check_lists<double, 900, 3, 19>(900);
  check_lists<float, 1501, 2, 49>(1501);
  check_lists<float, ct::dyn, 3, 48>(900);
  check_lists<float, ct::dyn, 3, 0>(5);
  check_lists<float, ct::dyn, 3, 48>(1);
  check_lists<double, ct::dyn, 3, 60>(701);
  check_lists<double, ct::dyn, 1, 49>(501);
}

/// Turns whose results are of all instances, forward and back, beside one of each.
template <class... Options> struct statistics {
  template <class R, class T, class X> constexpr auto operator()(const R& r, const T& t, const X& xs) const {
    const auto step = [t](auto r, auto x) {
      const auto next = r * t + x;
      return std::pair(next, std::tuple(ct::sum(next, ct::axis<0>), ct::max(r, ct::axis<0>), ct::sum(ct::astype<std::int32_t>(next > 0)), ct::min(next * r), 2 * next));
    };
    return ct::scan(step, r, xs, Options()...);
  }
};
template <class T, class R> void check_statistics(const R& like, double tolerance) {
  R r = like, t = like;
  for (ct::extent i = 0; i < r.size(); ++i) r.data()[i] = T((i * 37 + i / 5) % 101) / T(50) - T(1), t.data()[i] = T((i * 29 + i / 7) % 97) / T(60) - T(0.8);
  const auto xs = between<T, 7>(-1, 1);
  check_jit(statistics<>{}, tolerance, r, t, xs);
  check_jit(statistics<ct::reverse_tag>{}, tolerance, r, t, xs);
  check_threads(statistics<ct::reverse_tag>{}, r, t, xs);
}
TEST_CASE("loops that reduce over instances, block by block of them") {
  check_statistics<float>(ct::array<float, 20000>(), 1e-4);
  check_statistics<double>(ct::array<double, 5000, 3>(), 1e-11);
  for (const ct::extent n : {1, 63, 2048, 2049, 70001}) check_statistics<double>(ct::array<double, ct::dyn>({n}), 1e-11);
  // The coefficients of a polynomial by the points where it is evaluated.
  constexpr auto squares = [](auto a, auto t) {
    return ct::sum(ct::square(ct::vmap([](auto a, auto t) { return std::get<0>(ct::scan([t](auto p, auto c) { return std::pair(p * t + c, ct::none); }, 0.0 * t, a)); }, ct::in_axes<ct::none, 0>)(a, t)));
  };
  ct::array<double, 9000> t;
  for (ct::extent i = 0; i < t.size(); ++i) t.data()[i] = double(i) / 4500 - 1;
  check_jit(ct::grad(squares, ct::wrt<0, 1>), 1e-11, between<double, 12>(-1, 1), t);
  check_threads(ct::grad(squares), between<double, 12>(-1, 1), t);
}
