/// at(...).multiply .min .max, and many updates at once.

#include <limits>

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
using indices = ct::array<std::int32_t, 5>;
}  // namespace

TEST_CASE("multiply, min and max at repeated, negative and outer indices are those of a loop") {
  const auto in = []<class T>(T) {
    const auto x = between<T, 4, 5>(-2, 2);
    const auto u = between<T, 6, 5>(-2, 2, 40);
    const ct::array<std::int32_t, 6> list{0, 2, -4, 2, 9, -9};
    const auto r = ct::jit([](auto v, auto w, auto i) { return std::tuple(ct::at(v, i).multiply(w), ct::at(v, i).min(w), ct::at(v, i).max(w), ct::at(v > 0, i).multiply(w > 0), ct::at(v, i, i).multiply(2)); })(x, u, list);
    auto product = x, least = x, most = x, twice = x;
    ct::array<bool, 4, 5> both;
    for (int k = 0; k < 20; ++k) both.data()[k] = x.data()[k] > 0;
    for (int k = 0; k < 6; ++k) {
      const int row = list(k) < 0 ? list(k) + 4 : list(k);
      if (row < 0 || row >= 4) continue;
      twice(row, row == 0 ? (list(k) == 0 ? 0 : 1) : 2) *= 2;  // -4 counts from the end of 5 columns
      for (int j = 0; j < 5; ++j) {
        product(row, j) *= u(k, j);
        least(row, j) = std::min(least(row, j), u(k, j));
        most(row, j) = std::max(most(row, j), u(k, j));
        both(row, j) = both(row, j) && u(k, j) > 0;
      }
    }
    CHECK(std::get<0>(r) == product);
    CHECK(std::get<1>(r) == least);
    CHECK(std::get<2>(r) == most);
    CHECK(std::get<3>(r) == both);
    CHECK(std::get<4>(r) == twice);
  };
  in(float());
  in(double());
  in(std::int32_t());
}

namespace {
constexpr auto extremal = [](auto x, auto five, auto row, auto list, auto i) {  // [4,5] [5,5] [5] [5] scalar
  return std::tuple(ct::at(x, list).min(five), ct::at(x, list).max(five), ct::at(x, list, list).max(row), ct::at(row, list).min(0.1), ct::at(x, i).max(row));
};
constexpr auto scaled = [](auto x, auto five, auto row, auto i, auto places) {  // [4,5] [5,5] [5] scalar [5]
  return std::tuple(ct::at(x, i).multiply(row), ct::at(x, i, i).multiply(ct::sum(five)), ct::at(x, places).multiply(five, ct::unique_indices), ct::at(x, places, 1).multiply(row, ct::unique_indices));
};
}  // namespace

TEST_CASE("derivatives of multiply, min and max at indices") {
  const auto x = between<double, 4, 5>(-1, 1);
  const auto five = between<double, 5, 5>(-1, 1, 40);
  const auto row = between<double, 5>(-1, 1, 66);
  for (int i : {0, -1, 9}) {
    const ct::array<std::int32_t> at = i;
    const indices list{i, 1, -3, 1, 2}, places{2, 0, -1, 77, 1};
    check_rules_of(extremal, std::tuple(x, five, row), std::tuple(list, at));
    check_rules_of(scaled, std::tuple(x, five, row), std::tuple(at, indices{2, 0, 3, 77 + i % 2, 1}));
    check_rules_of([](auto v, auto l) { return ct::at(v, l).multiply(2.5); }, std::tuple(x), std::tuple(list));
    check_jit(scaled, 1e-13, x, five, row, at, places);
  }
  constexpr auto f = [](auto v, auto w, auto l, auto p) { return std::tuple(ct::at(v, l).max(w), ct::at(v, p).multiply(w, ct::unique_indices)); };
  check_compiled<double, orders::first, batching::no>(f, std::tuple(between<double, 5>(-1, 1), row), std::tuple(indices{0, 1, -1, 1, 3}, indices{4, 2, 0, 1, 3}));
  check_compiled<float, orders::first, batching::yes>(f, std::tuple(between<float, 5>(-1, 1), as<float>(row)), std::tuple(indices{0, 1, -1, 1, 3}, indices{40, 20, 0, 1, 3}));
}

TEST_CASE("gradients of multiply at zeros and repeated indices, of min and max at ties") {
  const auto r = ct::jit([](auto x, auto u, auto list, auto places) {
    const auto repeated = ct::grad([=](auto v) { return ct::sum(ct::at(v, list).multiply(u)); })(x);
    const auto unique = ct::grad([=](auto v, auto w) { return ct::sum(ct::at(v, places).multiply(w, ct::unique_indices)); }, ct::wrt<0, 1>)(x, u);
    const auto tied = ct::grad([=](auto v, auto w) { return ct::sum(ct::at(v, list).max(w)); }, ct::wrt<0, 1>)(x, ct::ones_like(u));
    return std::tuple(repeated, unique, tied);
  })(ct::array<double, 4>{0, 1, 3, std::numeric_limits<double>::infinity()}, ct::array<double, 3>{5, 0, 2}, ct::array<std::int32_t, 3>{1, 2, 1}, ct::array<std::int32_t, 3>{0, 2, 9});
  CHECK(std::get<0>(r) == ct::array<double, 4>{1, 10, 0, 1});
  CHECK(std::get<0>(std::get<1>(r)) == ct::array<double, 4>{5, 1, 0, 1});
  CHECK(std::get<1>(std::get<1>(r)) == ct::array<double, 3>{0, 3, 0});
  const double third = 1 / 3.0;
  CHECK(std::get<0>(std::get<2>(r)) == ct::array<double, 4>{1, third, 1, 1});
  CHECK(std::get<1>(std::get<2>(r)) == ct::array<double, 3>{third, 0, third});
}

namespace {
constexpr auto many_updates = [](auto x, auto rows, auto by_row, auto columns, auto by_element) {
  const auto into_columns = ct::vmap([](auto row, auto update, auto c) { return ct::at(row, c).add(update); }, ct::in_axes<0, 0, ct::none>, ct::out_axes<0>);
  return std::tuple(ct::at(x, rows).add(by_row), ct::at(x, rows).set(by_row), ct::at(x, rows).max(by_row), ct::at(x, rows, columns).add(by_element), ct::at(x, rows, columns).set(by_element),
                    into_columns(ct::transpose(x), ct::transpose(by_row), rows), ct::at(x, rows, 1).multiply(by_element));
};
/// The same one by one; a place outside is skipped.
template <class X, class Rows, class R, class Columns, class E> auto one_by_one(const X& x, const Rows& rows, const R& by_row, const Columns& columns, const E& by_element) {
  using T = typename X::value_type;
  X added = x, set = x, most = x, element_added = x, element_set = x, multiplied = x;
  const auto place = [](auto i, ct::extent n) { return ct::extent(i) < 0 ? ct::extent(i) + n : ct::extent(i); };
  for (int k = 0; k < rows.extent(0); ++k) {
    const ct::extent i = place(rows(k), x.extent(0)), j = place(columns(k), x.extent(1));
    if (i < 0 || i >= x.extent(0)) continue;
    for (int c = 0; c < x.extent(1); ++c) added(i, c) += by_row(k, c), set(i, c) = by_row(k, c), most(i, c) = std::max<T>(most(i, c), by_row(k, c));
    multiplied(i, 1) *= by_element(k);
    if (j >= 0 && j < x.extent(1)) element_added(i, j) += by_element(k), element_set(i, j) = by_element(k);
  }
  return std::tuple(added, set, most, element_added, element_set, multiplied);
}
/// So many neighbouring updates have one row.
template <class T, class I, int Updates> void check_many_updates(int run = 1) {
  constexpr int n = 3000;
  const auto x = between<T, n, 3>(-1, 1);
  const auto by_row = between<T, Updates, 3>(-1, 1, 1);
  const auto by_element = between<T, Updates>(-1, 1, 2);
  ct::array<I, Updates> rows, columns;
  for (int k = 0; k < Updates; ++k) rows(k) = I((k / run * 7919ll) % (n + 40) - 20), columns(k) = I(k % 5 - 1);
  const auto want = one_by_one(x, rows, by_row, columns, by_element);
  for (int threads : {1, 2, 3, 5}) {
    ct::set_num_threads(threads);
    const auto have = ct::jit(many_updates)(x, rows, by_row, columns, by_element);
    CHECK(std::get<0>(have) == std::get<0>(want));
    CHECK(std::get<1>(have) == std::get<1>(want));
    CHECK(std::get<2>(have) == std::get<2>(want));
    CHECK(std::get<3>(have) == std::get<3>(want));
    CHECK(std::get<4>(have) == std::get<4>(want));
    CHECK(ct::array<T, n, 3>(ct::transpose(std::get<5>(have))) == std::get<0>(want));
    CHECK(std::get<6>(have) == std::get<5>(want));
  }
  ct::set_num_threads(2);
}
}  // namespace

TEST_CASE("many updates are those of a loop over them, bit by bit, on any number of threads") {
  check_many_updates<float, std::int32_t, 40001>();
  check_many_updates<double, std::int64_t, 12290>();
  check_many_updates<float, std::int64_t, 17>();
  for (int run : {2, 15, 100}) check_many_updates<float, std::int32_t, 40001>(run);
}
TEST_CASE("sums and extrema of many updates in a few places, in runs of neighbours and not, read and computed") {
  constexpr int n = 20000, places = 10;
  const auto x = ct::jit([](auto i) { return ct::astype<double>(i % 7); })(ct::array<std::int32_t, n>(ct::arange<std::int32_t, n>()));  // all sums are exact
  for (int run : {1, 3, 20, 1000, n}) {
    ct::array<std::int32_t, n> ids;
    ct::array<double, places> want{};
    ct::array<std::int32_t, places> counts{};
    ct::array<double, places> most, least;
    most.fill(-std::numeric_limits<double>::infinity()), least.fill(std::numeric_limits<double>::infinity());
    for (int k = 0; k < n; ++k) {
      ids(k) = (k / run * 7919) % (places + 2) - 1;  // -1 and `places` are outside
      if (ids(k) < 0 || ids(k) >= places) continue;
      want(ids(k)) += x(k), ++counts(ids(k));
      most(ids(k)) = std::max(most(ids(k)), x(k) * (k % 1000)), least(ids(k)) = std::min(least(ids(k)), x(k) - k % 1000);
    }
    const auto at = ct::where(ct::array<bool, n>(ids < 0), places, ids);
    const auto [sums, numbers] = ct::jit([](auto x, auto at) { return std::tuple(ct::segment_sum<places>(x, at), ct::segment_sum<places>(ct::ones_like(at), at)); })(x, ct::array<std::int32_t, n>(at));
    CHECK(sums == want);
    CHECK(numbers == counts);
    const auto factors = ct::array<double, n>(ct::astype<double>(ct::arange<std::int32_t, n>() % 1000));
    const auto extrema = [](auto products, auto differences, auto at) { return std::tuple(ct::segment_max<places>(products, at), ct::segment_min<places>(differences, at)); };
    for (int threads : {1, 2, 5}) {
      ct::set_num_threads(threads);
      const auto read = ct::jit(extrema)(ct::array<double, n>(x * factors), ct::array<double, n>(x - factors), ct::array<std::int32_t, n>(at));
      const auto computed = ct::jit([=](auto x, auto f, auto at) { return extrema(x * f, x - f, at); })(x, factors, ct::array<std::int32_t, n>(at));
      CHECK((std::get<0>(read) == most && std::get<1>(read) == least));
      CHECK((std::get<0>(computed) == most && std::get<1>(computed) == least));
    }
    ct::set_num_threads(2);
  }
}

namespace {
/// Cotangents of reads at computed places: one element of each row, rows, windows, several reads of one array, reads in loops.
constexpr auto one_of_each_row = [](auto x, auto i) { return ct::sum(ct::square(ct::take_along_axis<1>(ct::nn::log_softmax(x), ct::expand_dims<1>(i)))); };
constexpr auto read_once = [](auto x, auto i, auto j) {  // [4,5], scalars
  return ct::sum(ct::square(x(i))) + ct::square(x(i, j)) * x(j, i) + ct::sum(ct::sin(x(ct::full_extent, j))) + ct::sum(ct::square(ct::dynamic_slice<1, 3>(x, i, j))) + ct::sum(ct::exp(ct::dynamic_slice<2, 1>(x, j, i)));
};
constexpr auto read_in_turns = [](auto x, auto list, auto y) {  // [4,5], [n], [5]
  const auto turn = [x, list](auto k, auto s) { return ct::tanh(s * x(list(k)) + x(k % 4, ct::index<2>)); };
  return ct::sum(ct::fori_loop<0, 6>(turn, y));
};
constexpr auto slopes_of_reads = [](auto x, auto i, auto j, auto list, auto y) {
  const auto each = ct::vmap([x](auto a, auto b) { return ct::grad(read_once)(x * b, a, 1); }, ct::in_axes<0, 0>);
  return std::tuple(ct::grad(one_of_each_row)(x, ct::slice<ct::range<0, 4>>(list)), ct::grad(read_once)(x, i, j), ct::grad(read_in_turns, ct::wrt<0, 2>)(x, list, y),
                    each(list, ct::astype<typename decltype(y)::value_type>(list)), ct::at(ct::zeros_like(y), i).set(y(j)), ct::at(ct::zeros_like(x), i, j).add(3) + x,
                    ct::grad([=](auto v) { return ct::sum(ct::square(ct::vmap([v](auto k) { return v(k, k); })(list))); })(x));
};
}  // namespace

TEST_CASE("cotangents of reads at computed places are those of the definition") {
  const auto y = between<double, 5>(-1, 1, 7);
  const auto check = [&](const auto& x) {
    for (int i : {0, 2, -1, 9, -9}) {
      const ct::array<std::int32_t> a(i), b(3 - i % 4);
      check_jit(slopes_of_reads, 1e-13, x, a, b, ct::array<std::int32_t, 6>{i, 1, -2, 1, 3, i}, y);
    }
  };
  check(between<double, 4, 5>(-1, 1));
  check_rules_of(one_of_each_row, std::tuple(between<double, 3, 5>(-1, 1)), std::tuple(ct::array<std::int32_t, 3>{4, 0, -2}));
  check_rules_of([](auto x, auto y, auto list) { return read_in_turns(x, list, y); }, std::tuple(between<double, 4, 5>(-1, 1), y), std::tuple(ct::array<std::int32_t, 6>{3, 1, -2, 1, 3, 0}));
  const auto wide = between<double, 37, 64>(-1, 1);
  for (int i : {0, 36, -1, 99, -99})
    check_jit([](auto x, auto i, auto list, auto y) { return std::tuple(ct::grad(read_in_turns, ct::wrt<0, 2>)(x, list, y), ct::grad(read_once)(x, i, i - 2)); }, 1e-12, wide,
              ct::array<std::int32_t>(i), ct::array<std::int32_t, 6>{i, 1, -2, 1, 3, i}, between<double, 64>(-1, 1, 7));
  ct::array<double, ct::dyn, 5> rows({4, 5});
  std::copy_n(between<double, 20>(-1, 1).data(), 20, rows.data());
  check_jit(ct::grad(one_of_each_row), 1e-14, rows, ct::array<std::int32_t, 4>{4, 0, -1, 7});
}

TEST_CASE("cotangents of reads take no zeros: one element of each row is a choice, and a loop's sum is added to in place") {
  const ct::array<double, 37, 64> x;
  const ct::array<double, 64> y;
  CHECK(ct::jit(ct::grad(one_of_each_row)).kernels(x, ct::array<std::int32_t, 37>()).find("scatter") == std::string::npos);
  const std::string turns = ct::jit(ct::grad(read_in_turns)).kernels(x, ct::array<std::int32_t, 6>(), y);
  const std::string body = turns.substr(turns.rfind("body"));
  CHECK(body.find("scatter_add") != std::string::npos);
  CHECK(body.find("kernel over [37,64]") == std::string::npos);
}

namespace {
/// Jacobi's iteration on what is inside of R x C points.
template <ct::extent R, ct::extent C> struct relaxed {
  template <class U, class F> constexpr auto operator()(const U& u, const F& f) const {
    return ct::fori_loop<0, 3>([f](auto, auto u) {
      constexpr auto rows = ct::range<1, R - 1>;
      constexpr auto columns = ct::range<1, C - 1>;
      const auto inside = 0.25 * (ct::slice<ct::range<0, R - 2>, columns>(u) + ct::slice<ct::range<2, R>, columns>(u) + ct::slice<rows, ct::range<0, C - 2>>(u) + ct::slice<rows, ct::range<2, C>>(u) + f);
      return ct::dynamic_update_slice(u, inside, 1, 1);
    }, u);
  }
};
template <ct::extent R, ct::extent C> void check_relaxed(bool scatters = false) {
  const auto u = between<double, R, C>(-1, 1), f = between<double, R, C>(-1, 1, 7);
  const auto inner = ct::array<double, R - 2, C - 2>(ct::slice<ct::range<1, R - 1>, ct::range<1, C - 1>>(f));
  INFO(R << " x " << C);
  CHECK((occurrences("scatter", ct::jit(relaxed<R, C>{}).kernels(u, inner)) > 0) == scatters);
  check_jit(relaxed<R, C>{}, 1e-13, u, inner);
}
constexpr auto most_of = [](auto x, auto u, auto row) {  // [6, 50] [5, 48] [50]
  const auto two = ct::slice<ct::range<0, 2>>(x);
  return std::tuple(ct::dynamic_update_slice(x, ct::exp(u), 1, 2), ct::dynamic_update_slice(x, u, 0, 0), ct::at(two, 1).add(row), ct::at(two, -2).set(row * row), ct::at(two, 0).set(0.5), ct::at(two, 1).add(ct::sum(row)),
                    ct::dynamic_update_slice(x, x * 2, 0, 0), ct::dynamic_update_slice(x > 0, u > 0.5, 0, 1), ct::dynamic_update_slice(ct::astype<std::int32_t>(9 * x), ct::astype<std::int32_t>(9 * u), 1, 0), ct::roll<1>(ct::dynamic_update_slice(x, ct::sin(u), 1, 1), 3));
};
}  // namespace

TEST_CASE("updates of most of an array at known places are choices in kernels") {
  check_relaxed<34, 70>();
  check_relaxed<3, 33>();
  check_relaxed<130, 515>();
  check_relaxed<40, 9>(true);  // its rows are short
  const auto x = between<double, 6, 50>(-1, 1);
  const auto u = between<double, 5, 48>(-1, 1, 3);
  const auto row = between<double, 50>(-1, 1, 9);
  CHECK(occurrences("scatter", ct::jit(most_of).kernels(x, u, row)) == 0);
  check_jit(most_of, 1e-13, x, u, row);
  check_compiled<double, orders::second, batching::yes>(most_of, std::tuple(x, u, row), std::tuple());
  check_compiled<float, orders::first, batching::no>(most_of, std::tuple(as<float>(x), as<float>(u), as<float>(row)), std::tuple());
}

namespace {

/// x updated at `places`, the numbers of its elements in the order of the updates, by loops.
template <class T, ct::extent N, ct::extent M, class Places, class Change> ct::array<T, N, M> by_places(ct::array<T, N, M> x, const Places& places, const Change& change) {
  for (ct::extent k = 0; k < places.size(); ++k) {
    T& element = x.data()[places.data()[k]];
    element = change(element, k);
  }
  return x;
}
/// All updates of x at `tags`, beside the elements that x(tags...) reads.
template <class T, class X, class... I> void check_ranges(const X& x, const I&... at) {
  ct::array<std::int32_t, 5, 6> numbers;
  for (int k = 0; k < 30; ++k) numbers.data()[k] = k;
  const auto places = ct::jit([](auto n, auto... i) { return n(i...); })(numbers, at...);
  auto u = ct::jit([](auto n) { return ct::astype<T>(n) * T(0.25) - T(3); })(places);
  const auto r = ct::jit([](auto x, auto u, auto... i) {
    return std::tuple(ct::at(x, i...).set(u), ct::at(x, i...).add(u), ct::at(x, i...).multiply(u, ct::unique_indices), ct::at(x, i...).min(u), ct::at(x, i...).max(u), ct::at(x, i...).set(T(7)));
  })(x, u, at...);
  const auto own = [&](ct::extent k) { return u.data()[k]; };
  CHECK(std::get<0>(r) == by_places(x, places, [&](T, ct::extent k) { return own(k); }));
  CHECK(std::get<1>(r) == by_places(x, places, [&](T a, ct::extent k) { return a + own(k); }));
  CHECK(std::get<2>(r) == by_places(x, places, [&](T a, ct::extent k) { return a * own(k); }));
  CHECK(std::get<3>(r) == by_places(x, places, [&](T a, ct::extent k) { return std::min(a, own(k)); }));
  CHECK(std::get<4>(r) == by_places(x, places, [&](T a, ct::extent k) { return std::max(a, own(k)); }));
  CHECK(std::get<5>(r) == by_places(x, places, [](T, ct::extent) { return T(7); }));
}

constexpr auto inside = [](auto x, auto u) {
  const auto set = ct::at(x, ct::range<1, 3>, ct::range<1, -1>).set(u), added = ct::at(x, ct::index<-1>).add(u(ct::index<0>, ct::index<1>)),
             scaled = ct::at(x, ct::range<0, 2>, ct::range<3, 0, -2>).multiply(u), most = ct::at(x, ct::range<0, 2>, ct::range<0, 2>).max(u);
  return std::tuple(set, added, scaled, most);
};

}  // namespace

TEST_CASE("updates at ranges, known indices and whole axes are those of the elements that these read") {
  const auto x = between<double, 5, 6>(-4, 4);
  check_ranges<double>(x, ct::range<1, 4>, ct::range<1, -1>);
  check_ranges<double>(x, ct::full_extent, ct::index<-1>);
  check_ranges<double>(x, ct::range<0, 5, 2>, ct::range<1, 6, 3>);
  check_ranges<double>(x, ct::range<4, -20, -1>, ct::range<5, 0, -2>);
  check_ranges<double>(x, ct::range<2, 2>);
  check_ranges<double>(x, ct::index<2>, ct::index<3>);
  check_ranges<double>(x, ct::range<1, 4>, 2);
  check_ranges<double>(x, ct::range<0, 5, 2>, ct::array<std::int32_t, 2>{4, 1});
  check_ranges<double>(x, ct::array<std::int32_t, 3>{0, 2, -1}, ct::index<5>);
  check_ranges<float>(between<float, 5, 6>(-4, 4), -1, ct::range<5, 0, -2>);
  check_ranges<std::int32_t>(between<std::int32_t, 5, 6>(-4, 4), ct::index<0>);
}

TEST_CASE("updates at ranges: derivatives, batches, large arrays, run-time extents, concrete arrays") {
  check_rules_of(inside, std::tuple(between<double, 4, 4>(-2, 2), between<double, 2, 2>(0.5, 2)));
  // A small window of a large array is written where it is.
  const auto large = between<float, 70, 50>(-1, 1);
  const auto r = ct::jit([](auto x) { return ct::at(ct::at(x, ct::index<3>).set(2.0f), ct::range<60, 62>, ct::range<9, 4, -4>).add(ct::iota<float, 2>()); })(large);
  for (int i = 0; i < 70; ++i)
    for (int j = 0; j < 50; ++j) CHECK(r(i, j) == (i == 3 ? 2.0f : large(i, j) + (i >= 60 && i < 62 && j == 5 ? 1.0f : 0.0f)));
  ct::array<double, ct::dyn, 3> some({4, 3});
  for (int k = 0; k < 12; ++k) some.data()[k] = k;
  const auto set = ct::jit([](auto x) { return ct::at(x, ct::range<1, 3>, ct::index<2>).set(-1.0); })(some);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) CHECK(set(i, j) == (j == 2 && i >= 1 && i < 3 ? -1 : some(i, j)));
  const auto masks = ct::jit([](auto x) {
    const auto m = x > 1.0;
    return std::tuple(ct::at(m, ct::range<0, 2>).set(true), ct::at(m, ct::index<0>).add(true), ct::at(m, ct::range<1, 3>).multiply(false), ct::at(m, ct::index<1>).max(true), ct::at(m, 2, ct::range<0, 2>).add(true),
                      ct::at(m, ct::array<std::int32_t, 2>{0, -1}).add(true));
  })(some);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) {
      const bool own = some(i, j) > 1;
      CHECK(std::get<0>(masks)(i, j) == (own || i < 2));
      CHECK(std::get<1>(masks)(i, j) == (own || i == 0));
      CHECK(std::get<2>(masks)(i, j) == (own && (i < 1 || i > 2)));
      CHECK(std::get<3>(masks)(i, j) == (own || i == 1));
      CHECK(std::get<4>(masks)(i, j) == (own || (i == 2 && j < 2)));
      CHECK(std::get<5>(masks)(i, j) == (own || i == 0 || i == 3));
    }
  const ct::array<float, 3> line{1, 2, 3};
  const ct::array<float, 3> ends = ct::at(line, ct::range<0, 3, 2>).set(9), middle = ct::at(line, ct::range<1, -1>).add(ct::array<float, 1>{5});
  CHECK(ends == ct::array<float, 3>{9, 2, 9});
  CHECK(middle == ct::array<float, 3>{1, 7, 3});
}

TEST_CASE("sums of updates of zeros, and of one-hot rows, along the axes of their indices are sums of the updates") {
  constexpr auto sums = [](auto u, auto i, auto j) {
    const auto rows = ct::at(ct::zeros<double, 4, 3>() + 0.0 * ct::sum(u), i).add(u);
    const auto places = ct::at(ct::zeros<double, 4, 5>(), i, j).add(ct::sum(u, ct::axis<1>));
    return std::tuple(ct::sum(rows, ct::axis<0>), ct::sum(rows, ct::axis<1>), ct::sum(places), ct::sum(places, ct::axis<0>), ct::sum(-2.0 * ct::at(ct::zeros<double, 4, 3>(), i).add(u), ct::axis<0>));
  };
  constexpr auto hot = [](auto i) {
    const auto h = ct::nn::one_hot<4, double>(i);
    return std::tuple(ct::sum(h, ct::axis<1>), ct::sum(-3.0 * h, ct::axis<1>), ct::sum(h, ct::axis<0>), ct::sum(ct::nn::one_hot<4, std::int32_t>(ct::clip(i, 0, 3)), ct::axis<1>));
  };
  constexpr auto loss = [](auto x, auto i) { return -ct::mean(ct::take_along_axis<1>(ct::nn::log_softmax(x), ct::expand_dims<1>(i))); };
  constexpr auto columns = [](auto x, auto i) { return -ct::mean(ct::take_along_axis<0>(ct::square(x) - ct::sum(x, ct::axis<0>, ct::keepdims), ct::expand_dims<0>(i))); };
  const indices i{2, 0, 7, -1, 2}, j{4, -9, 1, 0, 4};
  check_jit(sums, 1e-14, between<double, 5, 3>(-1, 1), i, j);
  check_jit(hot, 0, i);
  const auto found = std::get<0>(ct::jit(hot)(i));
  CHECK(found == ct::array<double, 5>{1, 1, 0, 0, 1});
  check_jit(ct::grad(loss), 1e-14, between<double, 5, 40>(-1, 1), i);
  check_jit(ct::grad(columns), 1e-14, between<double, 40, 5>(-1, 1), i);
  ct::array<double, ct::dyn, ct::dyn> x({5, 6});
  std::copy_n(between<double, 30>(-1, 1).data(), 30, x.data());
  ct::array<std::int32_t, ct::dyn> k({5});
  std::copy_n(i.data(), 5, k.data());
  check_jit(ct::grad(loss), 1e-14, x, k);
  check_rules_of([](auto x) { return -ct::mean(ct::take_along_axis<1>(ct::nn::log_softmax(x), ct::expand_dims<1>(ct::array<std::int32_t, 5>{2, 0, 3, -1, 2}))); }, std::tuple(between<double, 5, 6>(-1, 1)));
  // maximum; exponentials and their sum; the sum's factor; the gradient
  CHECK(ct::jit(ct::grad(loss)).cost(between<double, 5, 400>(-1, 1), i).kernels == 4);
}
