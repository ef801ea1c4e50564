/// dynamic_slice, dynamic_update_slice, take, take_along_axis, x(i, ...), at(...).set .add.

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

TEST_CASE("ellipsis stands for the axes that other indices leave") {
  constexpr auto short_form = [](auto x, auto i) {
    return std::tuple(x(ct::ellipsis, i), x(i, ct::ellipsis), x(i, ct::ellipsis, ct::range<0, 2>), x(ct::index<1>, i, i, ct::ellipsis), ct::slice<ct::ellipsis, ct::index<2>>(x), ct::at(x, ct::ellipsis, i).set(7), ct::at(x, i, ct::ellipsis).add(1));
  };
  constexpr auto long_form = [](auto x, auto i) {
    constexpr auto all = ct::full_extent;
    return std::tuple(x(all, all, i), x(i), x(i, all, ct::range<0, 2>), x(ct::index<1>, i, i), ct::slice<ct::full_extent, ct::full_extent, ct::index<2>>(x), ct::at(x, all, all, i).set(7), ct::at(x, i).add(1));
  };
  const auto x = between<double, 2, 3, 4>(-1, 1);
  CHECK(ct::jit(short_form)(x, 1) == ct::jit(long_form)(x, 1));
  CHECK(ct::array<double, 2, 3>(x(ct::ellipsis, ct::index<3>)) == ct::array<double, 2, 3>(x(ct::full_extent, ct::full_extent, ct::index<3>)));
  CHECK(ct::array<double, 2, 3, 4>(ct::at(x, ct::ellipsis, ct::index<0>).add(1)) == ct::array<double, 2, 3, 4>(ct::at(x, ct::full_extent, ct::full_extent, ct::index<0>).add(1)));
  CHECK(ct::array<double, 3, 4>((2 * x)(ct::index<1>, ct::ellipsis)) == ct::array<double, 3, 4>((2 * x)(ct::index<1>)));
  check_rules_of(short_form, std::tuple(x), std::tuple(ct::array<std::int32_t>(1)));
}

TEST_CASE("a window as large as the array along an axis needs no start there") {
  const auto x = between<double, 3, 4>(-1, 1), u = between<double, 3, 4>(0, 1);
  const auto windows = [](auto x, auto u, auto i) {
    return std::tuple(ct::dynamic_slice<3, 2>(x, i, i), ct::dynamic_slice<3, 4>(x, i, i), ct::dynamic_update_slice(x, ct::slice<ct::full_extent, ct::range<0, 1>>(u), 5, i), ct::dynamic_update_slice(x, u, i, i));
  };
  const auto r = ct::jit(windows)(x, u, 1);
  CHECK(std::get<0>(r) == ct::array<double, 3, 2>(x(ct::full_extent, ct::range<1, 3>)));
  CHECK(std::get<1>(r) == x);
  CHECK(std::get<2>(r) == ct::array<double, 3, 4>(ct::at(x, ct::full_extent, ct::index<1>).set(u(ct::full_extent, ct::index<0>))));
  CHECK(std::get<3>(r) == u);
  check_rules_of(windows, std::tuple(x, u), std::tuple(ct::array<std::int32_t>(1)));
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
  ct::array<double, ct::dyn, 3> rows({7, 3});
  std::copy_n(between<double, 21>(-1, 1).data(), 21, rows.data());
  check_jit(ct::grad(from_rows), 1e-15, rows, ct::array<std::int32_t, 2, 1>{{6}, {0}}, ct::array<std::int32_t, 3>{0, 2, 2});
}

TEST_CASE("integers of C++ index as numbers known when the program is compiled") {
  constexpr auto f = [](auto x) {
    const int one = 1;
    return x(one) * x(0) + ct::sum(ct::at(x, 2).add(x(-1)));
  };
  constexpr auto of_matrix = [](auto x) { return ct::sum(ct::square(x(ct::full_extent, 1))) + ct::sum(x(2) * x(0)); };
  const auto x = between<double, 4>(-1, 1);
  const auto m = between<double, 5, 3>(-1, 1);
  const auto known = [](const std::string& graph) { return graph.find("gather") == std::string::npos && graph.find("scatter") == std::string::npos; };
  CHECK(known(ct::jit(ct::grad(f)).graph(x)));
  CHECK(known(ct::jit(ct::vmap(ct::grad(f))).graph(between<double, 6, 4>(-1, 1))));
  CHECK(known(ct::jit(ct::grad(of_matrix)).graph(m)));
  CHECK(known(ct::jit(ct::grad([](auto x) { return ct::sum(ct::square(x(ct::full_extent, 1))); })).graph(ct::array<double, ct::dyn, 3>(m))));
  // One element of many is added where it lies.
  CHECK(ct::jit([](auto x) { return ct::at(x, 3).add(1.0); }).graph(between<double, 1000>(-1, 1)).find("scatter_add") != std::string::npos);
  check_derivatives(f, std::tuple(x));
  check_derivatives(of_matrix, std::tuple(m));
  CHECK(ct::jit(ct::grad(of_matrix))(ct::array<double, ct::dyn, 3>(m)) == ct::array<double, ct::dyn, 3>(ct::jit(ct::grad(of_matrix))(m)));
}
