/// dynamic_slice, dynamic_update_slice, take, take_along_axis, x(i, ...), at(...).set .add .multiply .min .max.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
using indices = ct::array<std::int32_t, 5>;

constexpr auto reads = [](auto x, auto i, auto list) {  // [4,5], scalar, [5]
  return std::tuple(ct::dynamic_slice<2, 3>(x, i, 1), ct::take<0>(x, list), ct::take<1>(x, list), ct::take<-1>(x, 2), x(i), x(ct::full_extent, i), x(i, i), x(list), x(ct::index<1>, list),
                    x(ct::range<1, 3>, i), ct::take_along_axis<0>(x, ct::reshape<1, 5>(list)), ct::take_along_axis<1>(x, ct::expand_dims<1>(ct::slice<ct::range<0, 4>>(list))));
};
constexpr auto writes = [](auto x, auto block, auto row, auto five, auto i, auto list) {  // [4,5] [2,2] [5] [5]
  return std::tuple(ct::dynamic_update_slice(x, block, i, 2), ct::at(x, i).set(row), ct::at(x, i).add(row), ct::at(x, list).add(five), ct::at(x, list, list).set(row), ct::at(x, list, list).add(2.0),
                    ct::at(x, 1, list).add(row), ct::at(x, i, i).set(7.0), ct::at(row, list).set(ct::sum(five, ct::axis<0>)));
};
}  // namespace

TEST_CASE("derivatives of reads at run-time indices, clamped, negative, outside") {
  for (int i : {0, 3, -1, 9, -9}) {
    const auto x = between<double, 4, 5>(-1, 1);
    const indices list{i, 1, -2, 1, 3};
    const ct::array<std::int32_t> at = i;
    check_rules_of(reads, std::tuple(x), std::tuple(at, indices{i % 4, 1, -2, 1, 3}));  // in range: NaN has no differences
    check_jit(reads, 0, as<float>(x), at, list);
  }
}

TEST_CASE("derivatives of writes at run-time indices; the last of several to one place stays") {
  for (int i : {0, 3, -1, 9, -9}) {
    const auto x = between<double, 4, 5>(-1, 1);
    const auto five = between<double, 5, 5>(-1, 1, 40);
    const auto block = between<double, 2, 2>(-1, 1, 60);
    const auto row = between<double, 5>(-1, 1, 66);
    const indices list{i, 1, -3, 1, 2};
    const ct::array<std::int32_t> at = i;
    check_rules_of(writes, std::tuple(x, block, row, five), std::tuple(at, list));
    check_jit(writes, 1e-13, x, block, row, five, at, list);
  }
}

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

TEST_CASE("reads and writes and their derivatives compile, batched and not") {
  constexpr auto f = [](auto x, auto u, auto list) { return std::tuple(ct::take<0>(x, list), ct::at(x, list).set(u), ct::at(x, list).add(u)); };
  check_derivatives<orders::second, orders::first>(f, std::tuple(between<double, 4>(-1, 1), between<double, 5>(-1, 1, 9)), std::tuple(indices{0, 1, -1, 1, 3}));
}

TEST_CASE("indices beyond the end: take gives NaN, x(i) and dynamic_slice clamp, at drops") {
  const auto x = ct::arange<float, 5>();
  const auto r = ct::jit([](auto x, auto far, auto before) {
    return std::tuple(ct::take<0>(x, far), x(far), x(before), ct::dynamic_slice<3>(x, far), ct::dynamic_slice<3>(x, before), ct::at(x, far).add(10), ct::at(x, before).set(9), ct::at(x, -1).set(99),
                      ct::take<0>(x, -2), ct::take<0>(ct::astype<std::int32_t>(x), far), ct::take<0>(x > 1.0, far), ct::dynamic_update_slice(x, ct::ones_like(x(ct::range<0, 2>)), far));
  })(x, ct::array<std::int32_t>(10), ct::array<std::int32_t>(-10));
  CHECK(std::isnan(float(std::get<0>(r))));
  CHECK(std::get<1>(r) == 4);
  CHECK(std::get<2>(r) == 0);
  CHECK(std::get<3>(r) == ct::array<float, 3>{2, 3, 4});
  CHECK(std::get<4>(r) == ct::array<float, 3>{0, 1, 2});
  CHECK(std::get<5>(r) == x);
  CHECK(std::get<6>(r) == x);
  CHECK(std::get<7>(r) == ct::array<float, 5>{0, 1, 2, 3, 99});
  CHECK(std::get<8>(r) == 3);
  CHECK(std::get<9>(r) == std::numeric_limits<std::int32_t>::min());
  CHECK(bool(std::get<10>(r)));
  CHECK(std::get<11>(r) == ct::array<float, 5>{0, 1, 2, 1, 1});
}

TEST_CASE("gradients through indexing: clamped windows, duplicates, dropped and overwritten updates") {
  const auto r = ct::jit([](auto x, auto u, auto four, auto duplicate) {
    const auto three = [](auto y) { return ct::sum(y); };
    const auto window = ct::grad([=](auto x) { return three(ct::dynamic_slice<3>(x, four)); })(x);
    const auto gathered = ct::grad([=](auto x) { return three(ct::take<0>(x, duplicate)); })(x);
    const auto set = ct::grad([=](auto x, auto u) { return three(ct::at(x, duplicate).set(u) * ct::iota<double, 5>(x)); }, ct::wrt<0, 1>)(x, u);
    const auto far = ct::grad([=](auto u) { return three(ct::at(x, duplicate + 4).add(u)); })(u);
    return std::tuple(window, gathered, set, far);
  })(ct::array<double, 5>(), ct::array<double, 3>{1, 2, 3}, ct::array<std::int32_t>(4), ct::array<std::int32_t, 3>{0, 0, 2});
  CHECK(std::get<0>(r) == ct::array<double, 5>{0, 0, 1, 1, 1});
  CHECK(std::get<1>(r) == ct::array<double, 5>{2, 0, 1, 0, 0});
  CHECK(std::get<0>(std::get<2>(r)) == ct::array<double, 5>{0, 1, 0, 3, 4});
  CHECK(std::get<1>(std::get<2>(r)) == ct::array<double, 3>{0, 0, 2});
  CHECK(std::get<3>(r) == ct::array<double, 3>{1, 1, 0});
}

TEST_CASE("updates of an axis of run-time extent: negative indices, outside, and their gradients") {
  constexpr auto f = [](auto x, auto u, auto list) { return std::tuple(ct::at(x, list).add(u), ct::at(x, list).set(u), ct::at(x, list).max(u), ct::at(x, list).multiply(2.0)); };
  for (int n : {0, 4}) {
    ct::array<double, ct::dyn> x({n});
    std::copy_n(between<double, 4>(-1, 1).data(), n, x.data());
    const auto u = between<double, 5>(-1, 1, 9);
    const indices list{0, 99, -1, 1, -99};
    if (n > 0) check_rules(graph_of(f, x, u, list), tensors_of(x, u, list));
    const auto [y, pull] = ct::vjp([](auto x, auto u) { return ct::at(x, ct::astype<std::int32_t>(u)).add(u * u); }, x, ct::array<double, 3>{-1, 2, 77});
    CHECK(y.extent(0) == n);
    const auto back = pull(y);
    CHECK(std::get<0>(back) == y);
    CHECK(std::get<1>(back)(2) == 0);
    CHECK(std::get<1>(back)(1) == Approx(n > 0 ? 4 * y(2) : 0));
  }
}

namespace {
constexpr auto dynamic_reads = [](auto x, auto i, auto list) {  // [dyn,3], scalar, [4]
  return std::tuple(x(i), x(list), x(i, ct::index<1>), ct::take<0>(x, list), ct::take<1>(x, i % 3), ct::take_along_axis<0>(x, ct::reshape<4, 1>(list)), ct::dynamic_slice<2, 3>(x, i, 0),
                    ct::dynamic_slice<1, 2>(x, i, i), ct::concatenate<0>(x, x)(i));
};
constexpr auto dynamic_writes = [](auto x, auto block, auto i) {  // [dyn,3] [2,1] scalar
  return std::tuple(ct::dynamic_update_slice(x, block, i, 2), ct::dynamic_update_slice(ct::concatenate<0>(x, x), x, i, 0), ct::at(x, i, 1).set(7.0), ct::at(x, i).multiply(3.0));
};
ct::array<double, ct::dyn, 3> rows_of(int n) {
  ct::array<double, ct::dyn, 3> x({n, 3});
  for (int k = 0; k < 3 * n; ++k) x.data()[k] = 0.1 * k - 0.7;
  return x;
}
}  // namespace

TEST_CASE("indices of an axis of run-time extent are clamped into it, negative ones count from its end") {
  for (int n : {2, 3, 7}) {
    const auto x = rows_of(n);
    for (int i : {0, 1, n - 1, n, 1000, -1, -n, -n - 1, -1000}) {
      const auto r = ct::jit([](auto v, auto at, auto list) { return std::tuple(v(at), ct::take<0>(v, list), ct::dynamic_slice<2, 1>(v, at, 2), ct::at(v, at).set(9)); })(x, ct::array<std::int32_t>(i), ct::array<std::int64_t, 2>{i, 0});
      const int wrapped = i < 0 ? i + n : i, row = std::clamp(wrapped, 0, n - 1), start = std::clamp(wrapped, 0, n - 2);
      for (int j = 0; j < 3; ++j) {
        CHECK(std::get<0>(r)(j) == x(row, j));
        if (wrapped == row) CHECK(std::get<1>(r)(0, j) == x(row, j));
        else CHECK(std::isnan(std::get<1>(r)(0, j)));
        CHECK(std::get<1>(r)(1, j) == x(0, j));
        for (int k = 0; k < n; ++k) CHECK(std::get<3>(r)(k, j) == (k == wrapped ? 9 : x(k, j)));
      }
      for (int k = 0; k < 2; ++k) CHECK(std::get<2>(r)(k, 0) == x(start + k, 2));
    }
  }
}

TEST_CASE("derivatives of reads and writes along an axis of run-time extent") {
  for (int n : {2, 5}) {
    const auto x = rows_of(n);
    const auto block = between<double, 2, 1>(-1, 1, 60);
    for (int i : {0, 1, -1}) {
      const ct::array<std::int32_t> at(i);
      const ct::array<std::int32_t, 4> list{i, 1, -2, 1};
      check_rules(graph_of(dynamic_reads, x, at, list), tensors_of(x, at, list));
      check_jit(dynamic_reads, 1e-15, x, at, list);
      check_rules(graph_of(dynamic_writes, x, block, at), tensors_of(x, block, at));
      check_jit(dynamic_writes, 1e-15, x, block, at);
    }
    constexpr auto gradients = [](auto v, auto i) {
      return std::tuple(ct::grad([i](auto w) { return ct::sum(ct::square(w(i))); })(v), ct::vmap([](auto row) { return row(2); })(v),
                        ct::vmap([v](auto k) { return v(k, ct::index<0>); })(ct::stack<0>(i, i + 1)), ct::vmap([i](auto column) { return column(i); }, ct::in_axes<1>)(v));
    };
    check_jit(gradients, 1e-15, x, ct::array<std::int32_t>(1));
  }
}

TEST_CASE("a run-time extent with too few elements for an index is an error before anything is written") {
  CHECK_THROWS_WITH(ct::jit([](auto v, auto i) { return v(i); })(rows_of(0), ct::array<std::int32_t>(0)), "argument leaf 0, axis 0: the extent is 0 where at least 1 is needed");
  CHECK_THROWS_WITH(ct::jit([](auto v, auto i) { return ct::dynamic_slice<4, 1>(v, i, 0); })(rows_of(3), ct::array<std::int32_t>(0)), "argument leaf 0, axis 0: the extent is 3 where at least 4 is needed");
  CHECK_THROWS_WITH(ct::jit([](auto v, auto u, auto i) { return ct::dynamic_update_slice(v, u, i, 0); })(between<double, 2, 3>(-1, 1), rows_of(3), ct::array<std::int32_t>(0)),
                    "the extent 2: the extent is 2 where at least 3 is needed");
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
template <class T, class I, int Updates> void check_many_updates() {
  constexpr int n = 3000;
  const auto x = between<T, n, 3>(-1, 1);
  const auto by_row = between<T, Updates, 3>(-1, 1, 1);
  const auto by_element = between<T, Updates>(-1, 1, 2);
  ct::array<I, Updates> rows, columns;
  for (int k = 0; k < Updates; ++k) rows(k) = I((k * 7919ll) % (n + 40) - 20), columns(k) = I(k % 5 - 1);
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
}

namespace {
constexpr auto pairs_of_indices = [](auto x, auto table, auto i, auto j) {  // [4,5], [2,4,5], [3], [3] of int64
  return std::tuple(x(i, j), table(ct::full_extent, i, j), table(j, i), x(ct::expand_dims<1>(i), ct::expand_dims<0>(j)), table(ct::index<1>, i, 2), x(i, -1), table(i, j, 3)(ct::index<0>));
};
}  // namespace

TEST_CASE("several indices of neighbouring axes broadcast together") {
  const auto x = between<double, 4, 5>(-1, 1);
  const auto table = between<double, 2, 4, 5>(-1, 1, 1);
  const ct::array<std::int32_t, 3> i{1, -1, 1};
  const ct::array<std::int64_t, 3> j{4, 0, -2};
  const auto r = ct::jit(pairs_of_indices)(x, table, i, j);
  const int row[] = {1, 3, 1}, column[] = {4, 0, 3};
  for (int k = 0; k < 3; ++k) {
    CHECK(std::get<0>(r)(k) == x(row[k], column[k]));
    for (int t = 0; t < 2; ++t) CHECK(std::get<1>(r)(t, k) == table(t, row[k], column[k]));
    for (int l = 0; l < 3; ++l) CHECK(std::get<3>(r)(k, l) == x(row[k], column[l]));
    CHECK(std::get<4>(r)(k) == table(1, row[k], 2));
    CHECK(std::get<5>(r)(k) == x(row[k], 4));
  }
  check_rules_of(pairs_of_indices, std::tuple(x, table), std::tuple(i, j));
  check_jit(pairs_of_indices, 0, x, table, i, j);
  check_jit(pairs_of_indices, 0, x, table, ct::array<std::int32_t, 3>{9, -9, 2}, ct::array<std::int64_t, 3>{-9, 9, 1});  // clamped
  const auto from_rows = [](auto v, auto a, auto b) { return ct::sum(ct::square(v(a, b))); };
  check_jit(ct::grad(from_rows), 1e-15, rows_of(7), ct::array<std::int32_t, 2, 1>{{6}, {0}}, ct::array<std::int32_t, 3>{0, 2, 2});
}
