/// scan and fori_loop with static bounds: against plain loops, and their derivatives and vmap.

#include <cstdint>

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
template <template <class, extent...> class A> struct particle {
  A<double, 2> position, speed;
  A<double> time;
};

/// The carry is (int32, T[3]), x is (int32, T[3]); the order of the steps changes the hash.
constexpr auto hash_step = [](auto carry, auto x) {
  const auto h = std::get<0>(carry) * 1664525 + std::get<0>(x);
  const auto v = ct::sin(std::get<1>(carry)) + std::get<1>(x);
  return std::tuple(std::tuple(h, v), std::pair(h ^ 7, ct::sum(v)));
};
constexpr auto hash_forward = [](auto c, auto x) { return std::tuple(ct::scan(hash_step, c, x), ct::scan(hash_step, c, x, ct::unroll<3>)); };
constexpr auto hash_backward = [](auto c, auto x) { return std::tuple(ct::scan(hash_step, c, x, ct::reverse), ct::scan(hash_step, c, x, ct::unroll<4>, ct::reverse)); };

template <class T> using hash_carry = std::tuple<ct::array<std::int32_t>, ct::array<T, 3>>;

template <class Result, class Carry, class Xs> void check_hash(const Result& r, const Carry& c, const Xs& xs, bool reverse) {
  using T = typename std::tuple_element_t<1, Carry>::value_type;
  std::uint32_t h = std::uint32_t(std::int32_t(std::get<0>(c)));
  auto v = std::get<1>(c);
  const extent n = std::get<0>(xs).extent(0);
  const double tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-13;
  const auto& [last, ys] = r;
  REQUIRE(std::get<0>(ys).extent(0) == n);
  for (extent step = 0; step < n; ++step) {
    const extent i = reverse ? n - 1 - step : step;
    h = h * 1664525u + std::uint32_t(std::get<0>(xs)(i));
    double sum = 0;
    for (int k = 0; k < 3; ++k) sum += double(v(k) = std::sin(v(k)) + std::get<1>(xs)(i, k));
    REQUIRE(std::get<0>(ys)(i) == (std::int32_t(h) ^ 7));
    REQUIRE(std::get<1>(ys)(i) == Approx(sum).margin(tolerance).epsilon(tolerance));
  }
  CHECK(std::int32_t(std::get<0>(last)) == std::int32_t(h));
  for (int k = 0; k < 3; ++k) CHECK(std::get<1>(last)(k) == Approx(v(k)).margin(tolerance).epsilon(tolerance));
}

template <class Xs> void fill(Xs& xs) {
  std::int32_t n = 3;
  for (auto& i : std::get<0>(xs)) i = n *= 7;
  double t = 0;
  for (auto& v : std::get<1>(xs)) v = typename std::remove_cvref_t<decltype(std::get<1>(xs))>::value_type(std::sin(t += 0.7));
}

template <class T, extent N> void check_length() {
  INFO("length " << N);
  const hash_carry<T> c{std::int32_t(12345), between<T, 3>(-1, 1)};
  std::tuple<ct::array<std::int32_t, N>, ct::array<T, N, 3>> xs;
  fill(xs);
  const auto forward = ct::jit(hash_forward)(c, xs);
  check_hash(std::get<0>(forward), c, xs, false);
  check_hash(std::get<1>(forward), c, xs, false);
  const auto backward = ct::jit(hash_backward)(c, xs);
  check_hash(std::get<0>(backward), c, xs, true);
  check_hash(std::get<1>(backward), c, xs, true);
}
constexpr auto scaled = [](auto c, auto xs, auto w) { return ct::scan([w](auto c, auto x) { return std::tuple(c * w + x, ct::sin(c)); }, c, xs); };
/// A particle with drag; x is a step of time.
constexpr auto fall = [](const auto& p, auto dt) {
  auto q = p;
  q.position = p.position + dt * p.speed;
  q.speed = p.speed * 0.5;
  q.time = p.time + dt;
  return std::pair(q, q.position);
};
}  // namespace

TEST_CASE("scan is a loop: forward and reverse, one step and several in each turn, for several lengths") {
  check_length<double, 0>();
  check_length<double, 1>();
  check_length<double, 2>();
  check_length<float, 7>();
  check_length<double, 100>();
}

TEST_CASE("one program scans every run-time length") {
  const auto forward = ct::jit(hash_forward);
  const auto backward = ct::jit(hash_backward);
  const hash_carry<float> c{std::int32_t(-5), between<float, 3>(-1, 1)};
  for (extent n : {0, 1, 2, 3, 4, 7, 12, 100}) {
    INFO("length " << n);
    std::tuple xs(ct::array<std::int32_t, ct::dyn>({n}), ct::array<float, ct::dyn, 3>({n, 3}));
    fill(xs);
    const auto r = forward(c, xs);
    check_hash(std::get<0>(r), c, xs, false);
    check_hash(std::get<1>(r), c, xs, false);
    const auto b = backward(c, xs);
    check_hash(std::get<0>(b), c, xs, true);
    check_hash(std::get<1>(b), c, xs, true);
  }
  const std::tuple differ(ct::array<std::int32_t, ct::dyn>({4}), ct::array<float, ct::dyn, 3>({5, 3}));
  CHECK_THROWS_AS(forward(c, differ), ct::shape_error);
  CHECK_THROWS_WITH(forward(c, differ), Catch::Contains("4") && Catch::Contains("5") && Catch::Contains("axis 0"));
}

TEST_CASE("scan over nothing; without results; with a struct as the carry; outside a trace") {
  constexpr auto doubled = [](auto c, auto) { return std::tuple(c + c, ct::none); };
  const auto [last, nothing] = ct::scan(doubled, ct::array<float, 2>{1, 3}, ct::none, ct::length<5>);
  CHECK(last == ct::array<float, 2>{32, 96});

  const particle<ct::array> start{{0, 1}, {4, -8}, 1.0};
  const auto [end, path] = ct::jit([](const auto& p, auto dts) { return ct::scan(fall, p, dts); })(start, ct::array<double, 3>{1, 2, 4});
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(end)>, particle<ct::array>>);
  CHECK(path == ct::array<double, 3, 2>{{4, -7}, {8, -15}, {12, -23}});
  CHECK(end.position == ct::array<double, 2>{12, -23});
  CHECK(end.speed == ct::array<double, 2>{0.5, -1});
  CHECK(end.time == 8);

  const ct::array<double, 2> scale{2, 3};
  const auto captured = ct::scan([scale](auto c, auto x) { return std::tuple(c * scale + x, c); }, ct::array<double, 2>{1, 1}, ct::array<double, 3>{0, 1, 2});
  CHECK(std::get<0>(captured) == ct::array<double, 2>{12, 32});
  CHECK(std::get<1>(captured) == ct::array<double, 3, 2>{{1, 1}, {2, 3}, {5, 10}});
}

TEST_CASE("a literal init has the dtype that the body gives it") {
  const auto r = ct::jit([](auto xs) {
    const auto [sum, sums] = ct::scan([](auto c, auto x) { return std::tuple(c + x, c); }, 0, xs);
    const auto [pair, none] = ct::scan([](auto c, auto x) { return std::tuple(std::tuple(std::get<0>(c) + 1, std::get<1>(c) * x), ct::none); }, std::tuple(0, 1.0), xs);
    return std::tuple(sum, sums, pair, ct::fori_loop<0, 4>([xs](auto i, auto c) { return c * 0.5f + xs(i); }, 1));
  })(ct::array<float, 3>{2, 3, 4});
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(std::get<0>(r))>, ct::array<float>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(std::get<0>(std::get<2>(r)))>, ct::array<std::int32_t>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(std::get<3>(r))>, ct::array<float>>);
  CHECK(std::get<0>(r) == 9);
  CHECK(std::get<1>(r) == ct::array<float, 3>{0, 2, 5});
  CHECK(std::get<0>(std::get<2>(r)) == 3);
  CHECK(std::get<1>(std::get<2>(r)) == 24);
  CHECK(std::get<3>(r) == 1 / 16.f + 2 / 8.f + 3 / 4.f + 4 / 2.f + 4);
}

TEST_CASE("expressions of constants as the first carry, alone, beside numbers and beside vars") {
  const auto f = [](auto xs) {
    const auto scaled = [](auto c, auto x) { return std::tuple(c * x, ct::none); };
    const auto both = [](auto c, auto x) { return std::tuple(std::tuple(std::get<0>(c) * x, std::get<1>(c) + x), ct::none); };
    const auto pair = [](auto c, auto x) { return std::tuple(std::pair(c.first * x, c.second + x), ct::none); };
    const auto turn = [](auto, auto c) { return std::tuple(std::get<0>(c), std::get<0>(c) * std::get<1>(c)); };
    const auto two = 2 * ct::ones<double, 3>();
    return std::tuple(std::get<0>(ct::scan(scaled, two, xs)), std::get<0>(ct::scan(both, std::tuple(two, 0.0), xs)),
                      std::get<0>(ct::scan(pair, std::pair(two, ct::zeros<double>()), xs)).first, std::get<1>(ct::fori_loop<0, 2>(turn, std::tuple(xs, two))),
                      std::get<0>(ct::scan(scaled, ct::at(ct::zeros<double, 2>(), 0).set(1), xs)));
  };
  const auto [a, b, c, d, e] = ct::jit(f)(ct::array<double, 3>{1, 2, 3});
  CHECK((a == ct::array<double, 3>{12, 12, 12}));
  CHECK((std::get<0>(b) == a && std::get<1>(b)() == 6));
  CHECK((c == a));
  CHECK((d == ct::array<double, 3>{2, 8, 18}));
  CHECK((e == ct::array<double, 2>{6, 0}));
}

TEST_CASE("expressions of constants as the first carry of loops that capture variables of the trace") {
  const auto f = [](auto x) {
    const auto two = 2 * ct::ones<double, 3>();
    const auto added = [=](auto c, auto) { return std::tuple(c + x, ct::none); };
    const auto both = [=](auto c, auto) { return std::tuple(std::tuple(std::get<0>(c) + x, std::get<1>(c) + ct::sum(x)), ct::none); };
    const auto pair = [=](auto c, auto) { return std::tuple(std::pair(c.first + x, c.second + ct::sum(x)), ct::none); };
    const auto turn = [=](auto i, auto c) { return c * x + i; };
    return std::tuple(std::get<0>(ct::scan(added, two, ct::none, ct::length<4>)), std::get<0>(ct::scan(both, std::tuple(two, 0), ct::none, ct::length<4>)),
                      std::get<0>(ct::scan(pair, std::pair(two, ct::zeros<double>()), ct::none, ct::length<4>)), ct::fori_loop<0, 3>(turn, two), ct::fori_loop(0, 3, turn, two),
                      ct::while_loop([](auto c) { return ct::sum(c) < 27.0; }, [=](auto c) { return c + x; }, two));
  };
  const auto [a, b, c, d, e, g] = ct::jit(f)(ct::array<double, 3>{1, 2, 3});
  CHECK((a == ct::array<double, 3>{6, 10, 14}));
  CHECK((std::get<0>(b) == a && std::get<1>(b)() == 24));
  CHECK((c.first == a && c.second() == 24));
  CHECK((d == ct::array<double, 3>{5, 20, 59}));
  CHECK((e == d && g == a));
  CHECK((ct::jit(ct::grad([](auto x) {
           const auto twice = [=](auto c, auto) { return std::tuple(c * x, ct::none); };
           return ct::sum(std::get<0>(ct::scan(twice, 2 * ct::ones<double, 3>(), ct::none, ct::length<2>)));
         }))(ct::array<double, 3>{1, 2, 3}) == ct::array<double, 3>{4, 8, 12}));
}

TEST_CASE("a donated carry gives the same result, a kept one keeps its elements") {
  const auto run = ct::jit([](auto c, auto xs) { return std::get<0>(ct::scan([](auto c, auto x) { return std::tuple(ct::flip<0>(c) * 0.5f + x, ct::none); }, c, xs)); });
  auto c = between<float, 40, 30>(-1, 1);
  const auto xs = between<float, 6, 40, 30>(-1, 1, 1);
  const auto kept = c, expected = run(c, xs);
  CHECK(c == kept);
  CHECK(run(std::move(c), xs) == expected);
}

/// Results of a turn that are its carries: before it, after it, twice, and one that never changes.
constexpr auto stacking_step = [](auto c, auto x) {
  const auto [a, b, kept] = c;
  const auto next_a = ct::roll<0>(a, 1) * 0.5f + x, next_b = ct::flip<1>(b) - a;
  return std::tuple(std::tuple(next_a, next_b, kept), std::tuple(a, next_b, a, next_a, kept, ct::sum(next_b, ct::axis<0>)));
};
template <class Carry, class Xs> void check_stacking(const Carry& start, const Xs& xs) {
  const auto step = ct::jit(stacking_step);
  const auto slice = [](const auto& ys, extent i) {
    ct::array<float, 3, 5> r;
    std::copy_n(ys.data() + i * 15, 15, r.data());
    return r;
  };
  for (const bool backward : {false, true}) {
    const auto [last, ys] = backward ? ct::jit([](auto c, auto xs) { return ct::scan(stacking_step, c, xs, ct::reverse); })(start, xs)
                                     : ct::jit([](auto c, auto xs) { return ct::scan(stacking_step, c, xs); })(start, xs);
    auto c = start;
    for (extent turn = 0; turn < xs.extent(0); ++turn) {
      const extent i = backward ? xs.extent(0) - 1 - turn : turn;
      const auto [next, of_turn] = step(c, slice(xs, i));
      CHECK(slice(std::get<0>(ys), i) == std::get<0>(c));
      CHECK(slice(std::get<1>(ys), i) == std::get<1>(next));
      CHECK(slice(std::get<2>(ys), i) == std::get<0>(c));
      CHECK(slice(std::get<3>(ys), i) == std::get<0>(next));
      CHECK(slice(std::get<4>(ys), i) == std::get<2>(c));
      for (int j = 0; j < 5; ++j) CHECK(std::get<5>(ys)(i, j) == std::get<5>(of_turn)(j));
      c = next;
    }
    CHECK(last == c);
  }
}
TEST_CASE("results that are the carries, forward and reverse, for several lengths") {
  const std::tuple start(between<float, 3, 5>(-1, 1), between<float, 3, 5>(-1, 1, 1), between<float, 3, 5>(-1, 1, 2));
  for (extent n : {0, 1, 2, 5}) {
    INFO("length " << n);
    ct::array<float, ct::dyn, 3, 5> xs({n, 3, 5});
    for (extent i = 0; i < n * 15; ++i) xs.data()[i] = float(std::sin(0.7 * double(i)));
    check_stacking(start, xs);
  }
  check_stacking(start, between<float, 4, 3, 5>(-1, 1, 3));
  check_stacking(start, between<float, 1, 3, 5>(-1, 1, 3));
  // Nothing is kept twice: the carries lie in the results, whose last, or what follows it, is the last carry.
  const auto text = ct::jit([](auto c, auto xs) { return ct::scan(stacking_step, c, xs); }).kernels(start, between<float, 4, 3, 5>(-1, 1, 3));
  INFO(text);
  CHECK(text.find("arena of 0 bytes") != std::string::npos);
}

TEST_CASE("a step may read and shuffle all carries") {
  // Fibonacci by swapped carries, a rotation of three, and a carry that is an x.
  const auto r = ct::jit([](auto xs, auto one) {
    const auto fibonacci = ct::fori_loop<0, 30>([](auto, auto c) { return std::tuple(std::get<1>(c), std::get<0>(c) + std::get<1>(c)); }, std::tuple(0, one));
    const auto rotated = ct::scan([](auto c, auto x) { return std::tuple(std::tuple(std::get<1>(c), std::get<2>(c), std::get<0>(c)), std::get<0>(c) * x); },
                                  std::tuple(xs, xs * 2, xs * 3), xs);
    return std::tuple(fibonacci, rotated, ct::scan([](auto c, auto x) { return std::tuple(x, c); }, xs(0), xs));
  })(ct::array<double, 4>{1, 2, 3, 4}, std::int32_t(1));
  CHECK(std::get<0>(std::get<0>(r)) == 832040);
  const auto& [carries, products] = std::get<1>(r);
  CHECK(std::get<0>(carries) == ct::array<double, 4>{2, 4, 6, 8});
  CHECK(std::get<2>(carries) == ct::array<double, 4>{1, 2, 3, 4});
  CHECK(products == ct::array<double, 4, 4>{{1, 2, 3, 4}, {4, 8, 12, 16}, {9, 18, 27, 36}, {4, 8, 12, 16}});
  CHECK(std::get<0>(std::get<2>(r)) == 4);
  CHECK(std::get<1>(std::get<2>(r)) == ct::array<double, 4>{1, 1, 2, 3});
}

TEST_CASE("fori_loop counts from the low bound to the high one, and not at all if it is lower") {
  const auto r = ct::jit([](auto x) {
    const auto digits = [](auto i, auto c) { return c * 10 + i; };
    return std::tuple(ct::fori_loop<2, 6>(digits, x), ct::fori_loop<3, 3>(digits, x), ct::fori_loop<5, 1>(digits, x), ct::fori_loop<-2, 2>(digits, x));
  })(std::int32_t(7));
  CHECK(std::get<0>(r) == 72345);
  CHECK(std::get<1>(r) == 7);
  CHECK(std::get<2>(r) == 7);
  CHECK(std::get<3>(r) == 70000 - 2000 - 100 + 1);
}

TEST_CASE("vmap over the carry alone, the xs alone, and a captured array alone") {
  constexpr auto all = [](auto c, auto cs, auto xs, auto batch, auto w, auto ws) {
    return std::tuple(ct::vmap(scaled, ct::in_axes<0, ct::none, ct::none>)(cs, xs, w), ct::vmap(scaled, ct::in_axes<ct::none, 1, ct::none>)(c, batch, w),
                      ct::vmap(scaled, ct::in_axes<ct::none, ct::none, -1>, ct::out_axes<1>)(c, xs, ws));
  };
  check_jit(all, 1e-13, between<double, 2>(-1, 1), between<double, 3, 2>(-1, 1, 1), between<double, 5, 2>(-1, 1, 2), between<double, 5, 4, 2>(-1, 1, 3), between<double, 2>(-1, 1, 4), between<double, 2, 6>(-1, 1, 5));
}

TEST_CASE("rows that edges name, in turn after turn") {
  constexpr auto relaxed = [](auto x, auto from, auto to) {
    return ct::fori_loop<0, 3>([=](auto, auto x) {
      const auto d = ct::take<0>(x, to) - ct::take<0>(x, from);
      return ct::at(ct::at(x, from).add(0.1 * d), to).add(-0.1 * d * ct::sum(d * d, ct::axis<1>, ct::keepdims));
    }, x);
  };
  const auto x = between<double, 7, 3>(-1, 1);
  const ct::array<std::int32_t, 9> from{0, 1, 2, 3, 4, 5, 0, 2, 6}, to{1, 2, 3, 4, 5, 6, 6, 0, 0};
  // The turns know that an index is one for a row.
  CHECK(ct::jit(relaxed).graph(x, from, to).find("int32[9,3] = broadcast_in_dim(9,3,0) %") != std::string::npos);
  CHECK(ct::jit(relaxed).graph(x, from, to).find("%5: int32[9,3]\n") == std::string::npos);
  check_derivatives(relaxed, std::tuple(x), std::tuple(from, to));
}
