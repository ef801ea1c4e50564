/// Reads and writes at run-time indices along axes of run-time extent.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

TEST_CASE("updates of an axis of run-time extent: negative indices, outside, and their gradients") {
  constexpr auto f = [](auto x, auto u, auto list) { return std::tuple(ct::at(x, list).add(u), ct::at(x, list).set(u), ct::at(x, list).max(u), ct::at(x, list).multiply(2.0)); };
  for (int n : {0, 4}) {
    ct::array<double, ct::dyn> x({n});
    std::copy_n(between<double, 4>(-1, 1).data(), n, x.data());
    const auto u = between<double, 5>(-1, 1, 9);
    const ct::array<std::int32_t, 5> list{0, 99, -1, 1, -99};
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
  CHECK_THROWS_WITH(ct::jit([](auto v, auto i) { return v(i); })(rows_of(0), ct::array<std::int32_t>(0)), "index: argument leaf 0 [0,3], axis 0: the extent is 0 where at least 1 is needed");
  CHECK_THROWS_WITH(ct::jit([](auto v, auto i) { return ct::dynamic_slice<4, 1>(v, i, 0); })(rows_of(3), ct::array<std::int32_t>(0)), "dynamic_slice: argument leaf 0 [3,3], axis 0: the extent is 3 where at least 4 is needed");
  CHECK_THROWS_WITH(ct::jit([](auto v, auto u, auto i) { return ct::dynamic_update_slice(v, u, i, 0); })(between<double, 2, 3>(-1, 1), rows_of(3), ct::array<std::int32_t>(0)),
                    "dynamic_update_slice: an extent of 2 where at least 3 is needed");
}
