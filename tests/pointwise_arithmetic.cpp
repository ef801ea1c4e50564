/// Arithmetic, comparisons, logic, selection and conversion.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
constexpr auto arithmetic = [](auto x, auto y) {
  return std::tuple(x + y, x - y, x * y, x / y, -x, +x, ct::abs(x), ct::maximum(x, y), ct::minimum(x, y), ct::fmod(x, y), x % y,
                    ct::floor_divide(x, y), ct::sign(x), ct::floor(x), ct::ceil(x), ct::trunc(x), ct::round(x), ct::square(x),
                    ct::reciprocal(y), ct::where(x > y, x, y * x), ct::clip(x, -1.0, 1.0), ct::clamp(-1.0, x, y),
                    ct::logaddexp(x, y), 2 - x, 1 / y, 3 * x + 1, ct::copysign(x, y));
};
constexpr auto broadcast = [](auto x, auto row, auto column, auto scalar) { return x * row + column / scalar - row * column; };
constexpr auto logic = [](auto x, auto y, auto i, auto j, auto p, auto q) {
  return std::tuple(x == y, x != y, x < y, x <= y, x > y, x >= y, i == j, i < j, i & j, i | j, i ^ j, i << 2, i >> 1, ~i, p & q, p | q, p ^ q, !p,
                    p && i, i || q, ct::is_finite(x), ct::is_nan(y), ct::signbit(y), -i, i + j, i - j, i * j, ct::floor_divide(i, j), i % j, ct::fmod(i, j),
                    ct::abs(i), ct::sign(i), ct::maximum(i, j), ct::minimum(i, 2), ct::where(p, i, j), ct::clamp(-1, i, 1));
};
constexpr auto conversions = [](auto x, auto i, auto p) {
  return std::tuple(ct::astype<float>(x), ct::astype<double>(x), ct::astype<std::int32_t>(x), ct::astype<bool>(x), ct::astype<float>(i), ct::astype<std::int64_t>(i),
                    ct::astype<bool>(i), ct::astype<double>(p), ct::astype<std::int32_t>(p), ct::where(p, x, i), x * i, x * p, i / i, i + 0.5);
};
}  // namespace

TEST_CASE("derivatives of arithmetic away from kinks") {
  const ct::array<double, 13> x{-2.3, -1.4, -0.6, 0.3, 0.8, 1.7, 2.9, 5.3, -5.2, 0.45, 1.2, -1.2, 3.7};
  const ct::array<double, 13> y{1.1, 0.6, 1.9, 0.4, 1.3, -0.8, 1.4, 2.2, 1.4, -1.9, 0.9, -0.7, 4.1};
  check_rules_of(arithmetic, std::tuple(x, y));
  check_jit(arithmetic, 1e-13, x, y);
  check_jit(arithmetic, 1e-6, as<float>(x), as<float>(y));
}

TEST_CASE("derivatives of broadcast operands sum over the repeated axes") {
  check_derivatives(broadcast, std::tuple(between<double, 5, 9>(-1, 1), between<double, 9>(-1, 1, 7), between<double, 5, 1>(-1, 1, 11), ct::array<double>(1.7)));
}

TEST_CASE("comparisons, logic and integer arithmetic give exact values and batch") {
  const ct::array<double, 6> x{1, 2, 2, -1, 0, 3.5}, y{2, 1, 2, -1, -0.0, INFINITY};
  const ct::array<std::int32_t, 6> i{5, -5, 7, 0, -1, 6}, j{3, 3, -2, 4, -5, 4};
  const ct::array<bool, 6> p{true, false, true, false, true, false}, q{true, true, false, false, true, true};
  check_rules_of<orders::none>(logic, std::tuple(x, y), std::tuple(i, j, p, q));
  check_jit(logic, 0, x, y, i, j, p, q);
  const auto r = ct::jit([](auto a, auto b) { return std::tuple(a % b, ct::fmod(a, b), ct::floor_divide(a, b)); })(i, j);
  CHECK(std::get<0>(r) == ct::array<std::int32_t, 6>{2, 1, -1, 0, -1, 2});
  CHECK(std::get<1>(r) == ct::array<std::int32_t, 6>{2, -2, 1, 0, -1, 2});
  CHECK(std::get<2>(r) == ct::array<std::int32_t, 6>{1, -2, -4, 0, 0, 1});
}

TEST_CASE("truth values have an order, and maxima that are truth values") {
  const ct::array<bool, 6> p{true, false, true, false, true, false}, q{true, true, false, false, true, true};
  const auto order = [](auto p, auto q) { return std::tuple(p < q, p <= q, p > q, p >= q, ct::maximum(p, q), ct::minimum(p, q), ct::max(p & q), ct::min(p | q, ct::axis<0>, ct::keepdims)); };
  check_rules_of<orders::none>(order, std::tuple(), std::tuple(p, q));
  const auto [less, less_or_equal, greater, greater_or_equal, larger, smaller, largest, smallest] = ct::jit(order)(p, q);
  CHECK(less == ct::array<bool, 6>{false, true, false, false, false, true});
  CHECK(less_or_equal == ct::array<bool, 6>{true, true, false, true, true, true});
  CHECK(greater == ct::array<bool, 6>{false, false, true, false, false, false});
  CHECK(greater_or_equal == ct::array<bool, 6>{true, false, true, true, true, false});
  CHECK(larger == ct::array<bool, 6>{true, true, true, false, true, true});
  CHECK(smaller == ct::array<bool, 6>{true, false, false, false, true, false});
  CHECK(largest() == true);
  CHECK(smallest == ct::array<bool, 1>{false});
}

TEST_CASE("quotients are rounded down exactly") {
  const ct::array<double, 7> x{49, -98, 1, -1, 0.3, -0.5, INFINITY};
  const auto f = [](auto x) { return std::tuple(ct::floor_divide(x, 49), ct::floor_divide(x, 0.1), ct::floor_divide(x, -0.0), ct::floor_divide(x, -INFINITY)); };
  const auto check_values = [](const auto& have, const std::vector<double>& want) {
    for (int i = 0; i < 6; ++i) CHECK(have(i) == want[std::size_t(i)]);
  };
  const auto [by_49, by_tenth, by_zero, by_infinity] = ct::jit(f)(x);
  check_values(by_49, {1, -2, 0, -1, 0, -1});
  check_values(by_tenth, {489, -980, 9, -10, 2, -5});
  check_values(by_zero, {-INFINITY, INFINITY, -INFINITY, INFINITY, -INFINITY, INFINITY});
  check_values(by_infinity, {-1, 0, -1, 0, -1, 0});
  CHECK(std::isnan(by_49(6)));
  CHECK(ct::grad([](auto x) { return ct::sum(x * ct::floor_divide(x, 49)); })(ct::array<double, 2>{49, -98}) == ct::array<double, 2>{1, -2});
}

TEST_CASE("numbers whose sums, products and quotients are infinite, NaN or wrap around") {
  const auto f = [](auto x, auto i) {
    const auto big = ct::full_like(x, 1e308), infinite = ct::full_like(x, INFINITY);
    const auto most = ct::full_like(i, 2147483647);
    return std::tuple(x * (big * 10.0), x - (infinite - infinite), x + infinite * 0.0, x / ct::full_like(x, -0.0), x / 5e-324, x * 1e200 * 1e200, big / 1e-10, 1.0 / ct::full_like(x, -0.0), ct::sum(big),
                      INFINITY / x, ct::roll<0>(x * INFINITY, 1), i + (most + 1), ct::where(most + 1 > 0, i, 7 * i), most * 2);
  };
  const ct::array<double, 40> x = ct::full<double, 40>(0.5);
  const auto r = ct::jit(f)(x, ct::ones<std::int32_t, 40>());
  const double inf = INFINITY, nan = NAN;
  CHECK(checks::difference(tensors_of(r), tensors_of(ct::jit([](auto x, auto i, auto s) {
    const auto full = [&](auto k) { return 0.0 * x + s(k); };
    return std::tuple(full(0), full(1), full(1), -full(0), full(0), full(0), full(0), -full(0), s(0), full(0), full(0), 0 * i + -2147483647, 7 * i, 0 * i - 2);
  })(x, ct::ones<std::int32_t, 40>(), ct::array<double, 2>{inf, nan})), 0) == "");
}

TEST_CASE("conversions convert the tangent, and integers cut it") {
  const ct::array<double, 5> x{1.5, -2.25, 0, 3.75, -0.5};
  const ct::array<std::int32_t, 5> i{1, -2, 3, 4, 7};
  const ct::array<bool, 5> p{true, false, true, false, false};
  check_rules_of(conversions, std::tuple(x), std::tuple(i, p));
  check_jit(conversions, 1e-13, x, i, p);
}

TEST_CASE("fused arithmetic equals its parts") {
  check_compiled<float, orders::second, batching::yes>(
      [](auto x, auto y) { return ct::where(x > y, x / y, ct::square(x) - y) * ct::maximum(x, 0.25) + ct::abs(x - y) * ct::clip(y, -0.5, 0.5); },
      std::tuple(between<float, 37>(-2, 2), between<float, 37>(0.5, 2, 5)), std::tuple());
}

TEST_CASE("arithmetic over run-time extents, empty ones too") {
  constexpr auto f = [](auto x, auto row) { return std::tuple(x * row + 1.0f, ct::where(x > 0.0f, x, row), ct::maximum(x, row)); };
  const ct::array<float, 3> row{0.5f, -1, 2};
  for (int n : {0, 1, 37}) {
    ct::array<float, ct::dyn, 3> x({n, 3});
    std::copy_n(between<float, 111>(-1, 1).data(), 3 * n, x.data());
    check_rules(graph_of(f, x, row), tensors_of(x, row));
    check_jit(f, 1e-6, x, row);
  }
}
