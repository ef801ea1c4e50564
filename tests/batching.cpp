/// Collectives (transforms/collectives.hpp): values beside JAX's and beside the same computed with whole arrays, derivatives inside and
/// outside of the map, bodies of loops and branches, nested and run-time axes. Batching rules of users (transforms/custom_vmap.hpp).

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

template <extent... E> using doubles = ct::array<double, E...>;

/// f mapped along an axis "i".
template <class F> constexpr auto along_i(const F& f) { return ct::vmap(f, ct::axis_name<"i">); }

/// A function of an instance's row that uses every differentiable collective.
constexpr auto exchanging = [](auto x) {
  const auto rows = ct::all_gather<"i">(ct::sin(x), ct::axis_size<4>);
  const auto sums = ct::psum_scatter<"i">(rows * x);
  const auto turned = ct::all_to_all<"i", 0, 1>(rows * ct::expand_dims<0>(x));
  const auto next = ct::ppermute<"i">(x * sums, {{0, 1}, {1, 2}, {3, 0}});
  return std::tuple(ct::psum<"i">(x * x) * next, ct::pmean<"i">(sums) - x, ct::pmax<"i">(ct::cos(x)) * ct::pmin<"i">(x * next), turned,
                    ct::pbroadcast<"i", 2>(x) * (ct::axis_index<"i">() + 1));
};
/// The same of all rows at once.
constexpr auto exchanging_at_once = [](auto x) {
  const auto rows = ct::sin(x);                                                                                  // [4, 3], of every instance
  const auto sums = ct::einsum<"kj,ij->kj">(rows, x);                                                             // entry k of the sum over i
  const auto products = ct::expand_dims<0>(rows) * ct::expand_dims<1>(x);                                        // [i, k, j]
  const auto moved = x * sums;
  const auto next = ct::concatenate<0>(ct::slice<ct::range<3, 4>>(moved), ct::slice<ct::range<0, 2>>(moved), ct::slice<ct::range<0, 1>>(moved) * 0.0);
  return std::tuple(ct::sum(x * x, ct::axis<0>) * next, ct::mean(sums, ct::axis<0>) - x, ct::max(ct::cos(x), ct::axis<0>) * ct::min(x * next, ct::axis<0>) + 0.0 * x,
                    ct::transpose<1, 2, 0>(products), x(2) * (ct::expand_dims<1>(ct::iota<double, 4>()) + 1.0));
};

const doubles<4, 3> rows{{0.3, -1, 2}, {0.7, 0.2, -0.4}, {1.1, 1.6, 0.9}, {-0.6, 0.5, 1.3}};

}  // namespace

TEST_CASE("values beside JAX's") {
  const ct::array<int, 4> n{0, 1, 2, 3};
  const auto [sum, mean, gathered, share, largest, smallest, count] = ct::jit(along_i([](auto x) {
    return std::tuple(ct::psum<"i">(x), ct::pmean<"i">(x), ct::all_gather<"i">(x, ct::axis_size<4>), x / ct::psum<"i">(x), ct::pmax<"i">(x), ct::pmin<"i">(x), ct::psum<"i">(x > 1));
  }))(n);
  CHECK(sum == ct::array<int, 4>{6, 6, 6, 6});
  CHECK(mean == ct::array<float, 4>{1.5f, 1.5f, 1.5f, 1.5f});
  CHECK(gathered == ct::array<int, 4, 4>{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}});
  CHECK(share == ct::array<float, 4>{0, 1.0f / 6, 2.0f / 6, 0.5f});
  CHECK(largest == ct::array<int, 4>{3, 3, 3, 3});
  CHECK(smallest == ct::array<int, 4>{0, 0, 0, 0});
  CHECK(count == ct::array<int, 4>{2, 2, 2, 2});

  const ct::array<int, 4, 4> m = ct::reshape<4, 4>(ct::arange<int, 16>());
  const auto [sums, scattered, in_tiles, joined, exchanged, exchanged_tiles] = ct::jit(along_i([](auto x) {
    return std::tuple(ct::psum<"i">(x), ct::psum_scatter<"i">(x), ct::psum_scatter<"i">(x, ct::tiled, ct::axis_size<4>), ct::all_gather<"i">(x, ct::axis_size<4>, ct::axis<-1>, ct::tiled),
                      ct::all_to_all<"i", 0, 0>(x), ct::all_to_all<"i", 0, 0>(ct::tile<2>(x), ct::tiled, ct::axis_size<4>));
  }))(m);
  CHECK(sums == ct::array<int, 4, 4>{{24, 28, 32, 36}, {24, 28, 32, 36}, {24, 28, 32, 36}, {24, 28, 32, 36}});
  CHECK(scattered == ct::array<int, 4>{24, 28, 32, 36});
  CHECK(in_tiles == ct::array<int, 4, 1>{{24}, {28}, {32}, {36}});
  CHECK(joined == ct::array<int, 4, 16>(ct::tile<4, 1>(ct::reshape<1, 16>(m))));
  CHECK(exchanged == ct::array<int, 4, 4>(ct::transpose(m)));
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 8; ++k) CHECK(exchanged_tiles(i, k) == m(k / 2, (2 * i + k % 2) % 4));

  const ct::array<float, 3> three{1, 2, 3};
  CHECK(ct::vmap([](auto x) { return ct::ppermute<"i">(x, {{0, 1}}); }, ct::axis_name<"i">)(three) == ct::array<float, 3>{0, 1, 0});
  CHECK(ct::vmap(ct::grad([](auto x) { return -ct::psum<"i">(x); }), ct::out_axes<ct::none>, ct::axis_name<"i">)(ct::ones<float, 5>()) == -5);
  CHECK(ct::vmap(ct::grad([](auto x) { return ct::ppermute<"i">(x, {{0, 1}, {1, 0}}); }), ct::axis_name<"i">)(ct::array<float, 2>{1, 2}) == ct::array<float, 2>{1, 1});
  CHECK(ct::vmap([](auto w, auto d) { return ct::grad([](auto w, auto d) { return ct::psum<"i">(w * d); })(w, d); }, ct::axis_name<"i">)(ct::ones<float, 2>(), ct::array<float, 2>{0, 1}) == ct::array<float, 2>{0, 2});
  CHECK(ct::grad([](auto x) { return ct::sum(along_i([](auto x) { return ct::psum<"i">(x); })(x)); })(ct::array<float, 4>{0, 1, 2, 3}) == ct::array<float, 4>{4, 4, 4, 4});
  CHECK(along_i(ct::grad([](auto x) { return ct::pbroadcast<"i", 0>(x); }))(ct::array<float, 4>{0, 1, 2, 3}) == ct::array<float, 4>{4, 0, 0, 0});
}

TEST_CASE("every collective beside the same at once; derivatives of both orders of map and derivative") {
  check_close(tensors_of(ct::jit(along_i(exchanging))(rows)), tensors_of(ct::jit(exchanging_at_once)(rows)), 1e-12);
  check_derivatives(along_i(exchanging), std::tuple(rows));
  // Of the map, and mapped: the transpose of a collective is a collective.
  const doubles<4, 3> t = ct::cos(3.0 * rows);
  const auto pushed = [](auto x, auto t) { return std::get<1>(ct::jvp(along_i(exchanging), std::tuple(x), std::tuple(t))); };
  const auto pushed_inside = [](auto x, auto t) { return along_i([](auto x, auto t) { return std::get<1>(ct::jvp(exchanging, std::tuple(x), std::tuple(t))); })(x, t); };
  check_close(tensors_of(ct::jit(pushed)(rows, t)), tensors_of(ct::jit(pushed_inside)(rows, t)), 1e-12);
  static constexpr auto seeds = [](auto out) { return ct::tree_map([](auto y) { return ct::sin(y * 1.7); }, out); };
  const auto pull_outside = [](auto x) {
    const auto [y, pull] = ct::vjp(along_i(exchanging), x);
    return pull(seeds(y));
  };
  const auto pull_inside = [](auto x) {
    return along_i([](auto x) {
      const auto [y, pull] = ct::vjp(exchanging, x);
      return pull(seeds(y));
    })(x);
  };
  check_close(tensors_of(ct::jit(pull_outside)(rows)), tensors_of(ct::jit(pull_inside)(rows)), 1e-12);
}

TEST_CASE("loops: one value for all, or one for each") {
  // The carry is what all instances share: it is not batched, and the loop runs until all are done.
  const auto steps = [](auto x) {
    return ct::while_loop([](auto state) { return ct::psum<"i">(std::get<0>(state)) > 1.0; },
                          [](auto state) { return std::tuple(std::get<0>(state) * 0.5, std::get<1>(state) + 1); }, std::tuple(x, 0));
  };
  const auto [left, count] = ct::jit(along_i(steps))(doubles<3>{3, 1, 4});
  CHECK(left == doubles<3>{0.375, 0.125, 0.5});  // 8 to 1 in 3 steps
  CHECK(count == ct::array<int, 3>{3, 3, 3});

  // A power method: the vector is spread over the instances.
  const auto power = [](auto row) {
    const auto step = [](auto v, auto) {
      const auto w = ct::sum(ct::all_gather<"i">(v, ct::axis_size<4>) * 1.0);
      return std::tuple((v + w) / ct::psum<"i">(v), ct::psum<"i">(v) * ct::axis_index<"i">());
    };
    return ct::scan(step, ct::sum(row), ct::array<double, 5>{});
  };
  const auto at_once = [](auto rows) {
    const auto step = [](auto v, auto) { return std::tuple((v + ct::sum(v)) / ct::sum(v), ct::sum(v) * ct::iota<double, 4>()); };
    const auto [last, all] = ct::scan(step, ct::sum(rows, ct::axis<1>), ct::array<double, 5>{});
    return std::tuple(last, ct::transpose(all));
  };
  check_close(tensors_of(ct::jit(along_i(power))(rows)), tensors_of(ct::jit(at_once)(rows)), 1e-12);
  check_derivatives(along_i(power), std::tuple(rows));

  // Nothing that the body reads is mapped.
  const auto numbered = [](auto, auto one) { return ct::fori_loop<0, 3>([](auto, auto n) { return n + ct::axis_index<"i">() * ct::axis_size<"i">(); }, one); };
  CHECK(ct::jit(ct::vmap(numbered, ct::axis_name<"i">, ct::in_axes<0, ct::none>))(doubles<3>{}, 1) == ct::array<int, 3>{1, 10, 19});
}

TEST_CASE("branches, checkpoints, rules of their own, implicit functions") {
  static constexpr auto f = [](auto x) {
    const auto branch = ct::cond(x(0) > 0.5, [](auto x) { return ct::psum<"i">(x * x); }, [](auto x) { return ct::sin(x) + ct::axis_index<"i">(); }, x);
    const auto kept = ct::checkpoint([](auto x) { return ct::sin(x * ct::psum<"i">(ct::cos(x))); })(x);
    const auto doubled = ct::custom_jvp([](auto x) { return ct::psum<"i">(x); }, [](auto p, auto t) {
      return std::tuple(ct::psum<"i">(std::get<0>(p)), 2.0 * ct::psum<"i">(std::get<0>(t)));
    })(x);
    const auto solved = ct::custom_linear_solve([](auto v) { return 3.0 * v + 0.1 * ct::psum<"i">(v); }, x, [](auto, auto b) { return (b - ct::psum<"i">(b) * (0.1 / 3.4)) / 3.0; }, ct::symmetric);
    return std::tuple(branch, kept, doubled, solved);
  };
  const auto [branch, kept, doubled, solved] = ct::jit(along_i(f))(rows);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) {
      double squares = 0, cosines = 0, sum = 0, solved_sum = 0;
      for (int k = 0; k < 4; ++k) squares += rows(k, j) * rows(k, j), cosines += std::cos(rows(k, j)), sum += rows(k, j), solved_sum += solved(k, j);
      CHECK(branch(i, j) == Approx(rows(i, 0) > 0.5 ? squares : std::sin(rows(i, j)) + i));
      CHECK(kept(i, j) == Approx(std::sin(rows(i, j) * cosines)));
      CHECK(doubled(i, j) == Approx(sum));
      CHECK(3 * solved(i, j) + 0.1 * solved_sum == Approx(rows(i, j)));
    }
  const auto gradient = ct::jit(ct::grad([](auto x) { return ct::sum(std::get<2>(along_i(f)(x))) + ct::sum(std::get<3>(along_i(f)(x)) * x); }))(rows);
  CHECK(gradient(1, 1) == Approx(8 + 2 * solved(1, 1)));
  // All instances take part in a sum under a condition.
  const auto of_branch = [](auto x) {
    return ct::sum(along_i([](auto x) { return ct::cond(x > 0.0, [](auto x) { return ct::psum<"i">(x * x); }, [](auto) { return 0.0; }, x); })(x));
  };
  CHECK(ct::jit(ct::grad(of_branch))(doubles<3>{1, -2, 3}) == doubles<3>{4, -8, 12});
  check_derivatives(along_i([](auto x) {
    return ct::checkpoint([](auto x) { return ct::sin(x * ct::psum<"i">(ct::cos(x))); })(x);
  }), std::tuple(rows));
}

TEST_CASE("several axes, run-time axes, axes of one and of none") {
  const auto nested = ct::vmap(
      ct::vmap([](auto x) { return std::tuple(ct::psum<"rows">(x), ct::psum<"columns">(x), ct::psum<"rows", "columns">(x), ct::axis_index<"rows">() * 10 + ct::axis_index<"columns">()); }, ct::axis_name<"columns">),
      ct::axis_name<"rows">);
  const auto [down, across, all, places] = ct::jit(nested)(rows);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) {
      CHECK(down(i, j) == Approx(ct::array<double, 3>(ct::sum(rows, ct::axis<0>))(j)));
      CHECK(across(i, j) == Approx(ct::array<double, 4>(ct::sum(rows, ct::axis<1>))(i)));
      CHECK(all(i, j) == Approx(double(ct::array<double>(ct::sum(rows)))));
      CHECK(places(i, j) == 10 * i + j);
    }
  // The inner of two axes of one name; an axis without a name between.
  const auto inner = ct::vmap(ct::vmap([](auto x) { return ct::psum<"i">(x); }, ct::axis_name<"i">), ct::axis_name<"i">);
  CHECK(ct::jit(inner)(ct::array<int, 2, 3>{{1, 2, 3}, {4, 5, 6}}) == ct::array<int, 2, 3>{{6, 6, 6}, {15, 15, 15}});
  const auto outer = ct::vmap(ct::vmap([](auto x) { return ct::psum<"i">(x); }), ct::in_axes<1>, ct::out_axes<1>, ct::axis_name<"i">);
  CHECK(ct::jit(outer)(ct::array<int, 2, 3>{{1, 2, 3}, {4, 5, 6}}) == ct::array<int, 2, 3>{{6, 6, 6}, {15, 15, 15}});

  const auto centred = ct::jit(ct::vmap([](auto x) {
    const auto d = x - ct::pmean<"a rather long name of an axis">(x);
    const auto looped = ct::fori_loop<0, 2>([](auto, auto v) { return v + ct::psum<"a rather long name of an axis">(v) * ct::axis_index<"a rather long name of an axis">(); }, x);
    return std::tuple(d / ct::sqrt(ct::pmean<"a rather long name of an axis">(d * d)), ct::psum<"a rather long name of an axis">(1), looped);
  }, ct::axis_name<"a rather long name of an axis">));
  for (ct::extent n : {0, 1, 2, 5, 1000}) {
    doubles<ct::dyn> x({n});
    double mean = 0, squares = 0;
    for (ct::extent i = 0; i < n; ++i) x(i) = std::sin(double(i)), mean += x(i) / double(n);
    for (ct::extent i = 0; i < n; ++i) squares += (x(i) - mean) * (x(i) - mean) / double(n);
    const auto [standard, count, looped] = centred(x);
    std::vector<double> want(x.begin(), x.end());
    for (int k = 0; k < 2; ++k) {
      double sum = 0;
      for (double v : want) sum += v;
      for (ct::extent i = 0; i < n; ++i) want[std::size_t(i)] += sum * double(i);
    }
    REQUIRE(standard.size() == n);
    for (ct::extent i = 0; i < n; ++i) {
      CHECK(count(i) == n);
      if (n > 1) CHECK(standard(i) == Approx((x(i) - mean) / std::sqrt(squares)).margin(1e-9));
      CHECK(looped(i) == Approx(want[std::size_t(i)]).margin(1e-7));
    }
  }
  // A function of what is captured and what is mapped, of trees, of floats.
  const auto f = [](auto x, auto scale) {
    return ct::vmap([scale](auto x) { return ct::psum<"i">(std::tuple(x * scale, x > 0.0f)); }, ct::axis_name<"i">)(x);
  };
  const auto [scaled, positive] = ct::jit(f)(ct::array<float, 3>{1, -2, 4}, 2.0f);
  CHECK(scaled == ct::array<float, 3>{6, 6, 6});
  CHECK(positive == ct::array<int, 3>{2, 2, 2});
  // Batch statistics: two kernels, as of the whole array.
  const auto normalized = along_i([](auto x) { return (x - ct::pmean<"i">(x)) / ct::sqrt(ct::pmean<"i">(x * x) + 1.0); });
  CHECK(ct::jit(normalized).kernels(rows) == ct::jit([](auto x) { return (x - ct::mean(x, ct::axis<0>)) / ct::sqrt(ct::mean(x * x, ct::axis<0>) + 1.0); }).kernels(rows));
}

TEST_CASE("captured values: a collective belongs to the innermost map") {
  const doubles<2, 3> m{{1, 2, 3}, {4, 5, 6}};
  const auto nested = [](auto m) {
    return ct::vmap([](auto row) {
      const auto y = ct::sum(row), outer = y * 0.0 + ct::axis_index<"i">(row);
      return ct::vmap([y, outer](auto v) {
        return std::tuple(0 * v + ct::psum<"i">(y), y * ct::axis_index<"i">(), ct::ppermute<"i">(y, {{0, 1}}), 0 * v + ct::pmax<"i">(y), v * outer);
      }, ct::axis_name<"i">)(row);
    }, ct::axis_name<"i">)(m);
  };
  const auto [sums, products, moved, largest, scaled] = ct::jit(nested)(m);
  CHECK(sums == doubles<2, 3>{{18, 18, 18}, {45, 45, 45}});
  CHECK(products == doubles<2, 3>{{0, 6, 12}, {0, 15, 30}});
  CHECK(moved == doubles<2, 3>{{0, 6, 0}, {0, 15, 0}});
  CHECK(largest == doubles<2, 3>{{6, 6, 6}, {15, 15, 15}});
  CHECK(scaled == doubles<2, 3>{{0, 0, 0}, {4, 5, 6}});
  const auto unbound = [](auto x) { return ct::vmap([x](auto v) { return v + ct::psum<"i">(x); }, ct::axis_name<"i">)(x); };
  CHECK(ct::jit(unbound)(doubles<3>{1, 4, 2}) == doubles<3, 3>{{4, 13, 7}, {7, 16, 10}, {5, 14, 8}});

  // Outside of a trace, of functions that capture; numbers, booleans; a loop's bound.
  const doubles<3> x{1, 4, 2};
  const doubles<2> pair{5, 6};
  const double two = 2;
  CHECK(along_i([&](auto x) { return x * two + ct::axis_index<"i">(); })(x) == doubles<3>{2, 9, 6});
  CHECK(along_i([&](auto x) { return x * two * ct::psum<"i">(1); })(x) == doubles<3>{6, 24, 12});
  CHECK(along_i([&](auto x) { return ct::psum<"i">(pair) + x * 0; })(x) == doubles<3, 2>{{15, 18}, {15, 18}, {15, 18}});
  CHECK(along_i([&](auto x) { return ct::pbroadcast<"i", 1>(x) * two; })(x) == doubles<3>{8, 8, 8});
  const auto [doubled, plain] = along_i([&](auto x) { return ct::psum<"i">(std::tuple(x * two, x)); })(x);
  CHECK(doubled == doubles<3>{14, 14, 14});
  CHECK(plain == doubles<3>{7, 7, 7});
  const auto [all, none, first, scattered, count, mean, looped] = ct::jit(along_i([](auto x) {
    return std::tuple(ct::pmax<"i">(x > 3.0), ct::pmin<"i">(x > 1.0), ct::pbroadcast<"i", 1>(x > 3.0), ct::psum_scatter<"i">(ct::expand_dims<0>(x > 1.0) || ct::array<bool, 3>{true, false, false}), std::get<1>(ct::psum<"i">(std::tuple(x, 2))),
                      x + ct::pmean<"i">(2.5), ct::fori_loop(0, ct::axis_index<"i">(x), [](auto, auto v) { return v * 2; }, x));
  }))(x);
  CHECK(all == ct::array<bool, 3>{true, true, true});
  CHECK(none == ct::array<bool, 3>{false, false, false});
  CHECK(first == ct::array<bool, 3>{true, true, true});
  CHECK(scattered == ct::array<int, 3>{3, 2, 2});
  CHECK(count == ct::array<int, 3>{6, 6, 6});
  CHECK(mean == doubles<3>{3.5, 6.5, 4.5});
  CHECK(looped == doubles<3>{1, 8, 8});
}

namespace {
/// A right rule, which says in its first result, times a million, which arguments are batched.
constexpr auto product = [](auto x, auto y) { return std::tuple(ct::sum(ct::sin(x) * y), ct::cos(y)); };
template <bool Marks> constexpr auto rule_of_product = [](auto size, auto in_batched, auto x, auto y) {
  constexpr bool of_x = std::tuple_element_t<0, decltype(in_batched)>::value, of_y = std::tuple_element_t<1, decltype(in_batched)>::value;
  static_assert(x.rank() == 1 + of_x && y.rank() == 1 + of_y && size.rank() == 0);
  const double mark = Marks ? (of_x + 2 * of_y) * 1e6 : 0.0;
  return std::tuple(std::tuple(ct::sum(ct::sin(x) * y, ct::axis<-1>) + mark, ct::cos(y)), std::tuple<std::true_type, std::bool_constant<of_y>>());
};
constexpr auto custom = ct::custom_vmap(product, rule_of_product<false>);
constexpr auto marked = ct::custom_vmap(product, rule_of_product<true>);
}  // namespace

TEST_CASE("custom_vmap: the rule of the arguments that are batched") {
  const doubles<4, 3> y = ct::cos(rows);
  const doubles<3> one{1, 2, 3};
  const double alone = double(std::get<0>(ct::jit(marked)(one, one)));
  CHECK(std::abs(alone) < 100);
  const auto marks = [](const doubles<4>& r) { return std::lround(r(2) / 1e6); };
  CHECK(marks(std::get<0>(ct::jit(ct::vmap(marked))(rows, y))) == 3);
  CHECK(marks(std::get<0>(ct::jit(ct::vmap(marked, ct::in_axes<0, ct::none>))(rows, one))) == 1);
  CHECK(marks(std::get<0>(ct::jit(ct::vmap(marked, ct::in_axes<ct::none, 0>))(one, y))) == 2);
  // Inside of a loop's body, and of a run-time number of instances.
  const auto looped = ct::vmap([](auto x, auto y) { return ct::fori_loop<0, 2>([y](auto, auto v) { return v + std::get<0>(marked(v, y)); }, x); }, ct::in_axes<0, ct::none>);
  const auto once = [&](const doubles<3>& x) { return doubles<3>(x + 1e6 + double(std::get<0>(ct::jit(product)(x, one)))); };
  const doubles<3> row{rows(1, 0), rows(1, 1), rows(1, 2)};
  CHECK(doubles<4, 3>(ct::jit(looped)(rows, one))(1, 2) == Approx(once(once(row))(2)));
  const doubles<ct::dyn, 3> some(rows);
  CHECK(std::lround(doubles<ct::dyn>(std::get<0>(ct::jit(ct::vmap(marked, ct::in_axes<0, ct::none>))(some, one)))(3) / 1e6) == 1);

  // A right rule changes nothing: derivatives inside and outside, batches of batches.
  const auto all = [](auto& f) {
    return [&f](auto x, auto y) {
      const auto energy = [&f](auto x, auto y) { const auto r = f(x, y); return std::get<0>(r) * ct::sum(std::get<1>(r)); };
      return std::tuple(ct::vmap(f)(x, y), ct::vmap(ct::grad(energy, ct::wrt<0, 1>))(x, y), ct::vmap(ct::grad(energy, ct::wrt<0, 1>), ct::in_axes<0, ct::none>)(x, y(0)),
                        ct::vmap(ct::grad(energy, ct::wrt<0, 1>), ct::in_axes<ct::none, 0>)(x(1), y), ct::hessian(energy)(x(0), y(1)), ct::vmap(ct::hessian(energy))(x, y),
                        ct::vmap(ct::vmap(f, ct::in_axes<ct::none, 0>), ct::in_axes<0, ct::none>)(x, y), ct::jacrev(energy)(x(0), y(0)),
                        ct::grad([&f](auto x, auto y) { return ct::sum(std::get<0>(ct::vmap(f)(x, y))); })(x, y));
    };
  };
  check_close(tensors_of(interpret(all(custom), rows, y)), tensors_of(interpret(all(product), rows, y)), 1e-12);
  check_derivatives(ct::vmap(custom), std::tuple(rows, y));

  // A rule whose results are as many as there are instances only if the run has as many.
  const auto repeated = ct::jit(ct::vmap(ct::custom_vmap([](auto x) { return x * 2; }, [](auto, auto, auto x) { return std::tuple(ct::concatenate<0>(x, ct::slice<ct::range<0, 1>>(x)), std::true_type()); })));
  CHECK_THROWS_AS(repeated(doubles<ct::dyn>(one)), ct::shape_error);

  // More than four arguments: one rule, for all. A result that is not batched. A tree.
  const auto five = ct::custom_vmap([](auto a, auto b, auto c, auto d, auto e) { return std::pair(a + b.first * c, d + e + b.second); },
                                    [](auto size, auto, auto a, auto b, auto c, auto, auto) { return std::tuple(std::pair(a + b.first * c, size * 1.0), std::tuple(std::true_type(), std::false_type())); });
  const auto [first, second] = ct::jit(ct::vmap(five, ct::in_axes<0, ct::none, ct::none, ct::none, ct::none>))(one, std::pair(2.0, 1.0), 3.0, 4.0, 5.0);
  CHECK(first == doubles<3>{7, 8, 9});
  CHECK(second == doubles<3>{3, 3, 3});
}
