/// Values and derivatives at ties, zeros, bounds, infinities and NaN: jax.lax's conventions.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
const double inf = INFINITY, NaN = NAN;

/// The elementwise derivative of a function of one argument.
constexpr auto slope = [](auto f, auto x) { return std::get<0>(std::get<1>(ct::vjp(f, x))(ct::ones_like(x))); };
/// Both partial derivatives of a function of two.
constexpr auto slopes = [](auto f, auto x, auto y) { return std::get<1>(ct::vjp(f, x, y))(ct::ones_like(x)); };

template <class A> void same(const A& have, const A& want) { CHECK(difference(tensors_of(have), tensors_of(want), 1e-15) == ""); }
template <extent N> using list = ct::array<double, N>;
}  // namespace

TEST_CASE("derivatives of one argument at kinks and poles") {
  const auto [abs, sqrt, rsqrt, cbrt, log1p, asin, steps, square, zeroth, first, clip, clamp, half, trap, safe, expm1, erf_inv, rounded, acosh, atanh] = ct::jit([](auto zeros, auto ends) {
    const auto z = zeros(ct::index<0>), one = ends(ct::index<1>), minus_one = ends(ct::index<2>);
    return std::tuple(
        slope([](auto x) { return ct::abs(x); }, zeros), slope([](auto x) { return ct::sqrt(x); }, z), slope([](auto x) { return ct::rsqrt(x); }, z), slope([](auto x) { return ct::cbrt(x); }, z),
        slope([](auto x) { return ct::log1p(x); }, minus_one), slope([](auto x) { return ct::asin(x); }, ends),
        slope([](auto x) { return ct::sign(x) + ct::floor(x) + ct::ceil(x) + ct::round(x) + ct::trunc(x); }, zeros), slope([](auto x) { return ct::pow(x, 2); }, zeros),
        slope([](auto x) { return ct::pow(x, 0); }, zeros), slope([](auto x) { return ct::pow(x, 1); }, zeros), slope([](auto x) { return ct::clip(x, 0.0, 1.0); }, ends),
        slope([](auto x) { return ct::clamp(0.0, x, 1.0); }, ends), slope([](auto x) { return ct::maximum(x, 0.0); }, zeros), slope([](auto x) { return ct::where(x > 0.0, ct::sqrt(x), 0.0); }, z),
        slope([](auto x) { return ct::where(x > 0.0, ct::sqrt(ct::where(x > 0.0, x, 1.0)), 0.0); }, z), slope([](auto x) { return ct::expm1(x); }, z), slope([](auto x) { return ct::erf_inv(x); }, z),
        slope([](auto x) { return ct::astype<double>(ct::astype<std::int32_t>(x)) + ct::astype<double>(ct::astype<float>(x)); }, zeros), slope([](auto x) { return ct::acosh(x); }, one),
        slope([](auto x) { return ct::atanh(x); }, ends));
  })(list<3>{0, -0.0, NaN}, list<4>{0, 1, -1, 0.5});
  same(abs, list<3>{1, 1, -1});
  CHECK(sqrt == inf);
  CHECK(rsqrt == -inf);
  CHECK(cbrt == inf);
  CHECK(log1p == inf);
  CHECK(asin(1) == inf);
  CHECK(asin(2) == inf);
  same(steps, list<3>{0, 0, 0});
  same(square, list<3>{0, 0, NaN});
  same(zeroth, list<3>{0, 0, 0});
  same(first, list<3>{1, 1, 1});
  same(clip, list<4>{0.5, 0.5, 0, 1});
  same(clamp, list<4>{0, 0, 0, 1});
  same(half, list<3>{0.5, 0.5, 0});
  CHECK(std::isnan(double(trap)));
  CHECK(safe == 0);
  CHECK(expm1 == 1);
  CHECK(double(erf_inv) == Approx(0.8862269254527579));
  same(rounded, list<3>{1, 1, 1});
  CHECK(acosh == inf);
  CHECK(atanh(1) == inf);
}

TEST_CASE("a traced integer exponent: the derivative at exponent 0 is 0") {
  const auto power = [](auto x, auto n) { return ct::sum(ct::pow(x, n)); };
  const auto second = [](auto x, auto n) { return ct::sum(ct::grad([](auto a, auto b) { return ct::sum(ct::pow(a, b)); })(x, n)); };
  const list<4> x{0, 0, 2, 0};
  const ct::array<std::int32_t, 4> n{0, 1, 3, 2};
  same(ct::grad(power)(x, n), list<4>{0, 1, 12, 0});
  same(ct::grad(second)(x, n), list<4>{0, 0, 12, 2});
  same(ct::grad(power)(x, ct::array<std::int32_t>(0)), list<4>{0, 0, 0, 0});
}

TEST_CASE("derivatives of two arguments at ties, zeros and infinities") {
  const auto [max, min, rem, power, division, angle, clamped, logaddexp, hypot, select] = ct::jit([](auto x, auto y, auto u, auto v, auto p, auto q, auto a, auto b) {
    return std::tuple(slopes([](auto x, auto y) { return ct::maximum(x, y); }, x, y), slopes([](auto x, auto y) { return ct::minimum(x, y); }, x, y),
                      slopes([](auto x, auto y) { return ct::fmod(x, y); }, u, v), slopes([](auto x, auto y) { return ct::pow(x, y); }, p, q),
                      slopes([](auto x, auto y) { return x / y; }, u, v), slopes([](auto x, auto y) { return ct::atan2(x, y); }, a, b),
                      slopes([](auto lo, auto hi) { return ct::clamp(lo, ct::zeros_like(lo), hi); }, u, v), slopes([](auto x, auto y) { return ct::logaddexp(x, y); }, x, y),
                      slopes([](auto x, auto y) { return ct::hypot(x, y); }, a, b), slopes([](auto x, auto y) { return ct::where(x > y, x, y); }, x, y));
  })(list<5>{2, 1, NaN, inf, -inf}, list<5>{2, 3, 1, 0, 0}, list<3>{7, -7, 7}, list<3>{3, 3, -3}, list<4>{0, 0, -2, 0}, list<4>{0, 2, 3, 1}, list<2>{0, 1}, list<2>{0, 2});
  same(std::get<0>(max), list<5>{0.5, 0, 0, 1, 0});
  same(std::get<1>(max), list<5>{0.5, 1, 0, 0, 1});
  same(std::get<0>(min), list<5>{0.5, 1, 0, 0, 1});
  same(std::get<1>(min), list<5>{0.5, 0, 0, 1, 0});
  same(std::get<0>(rem), list<3>{1, 1, 1});
  same(std::get<1>(rem), list<3>{-2, 2, 2});
  same(std::get<0>(power), list<4>{NaN, 0, 12, 1});
  same(std::get<1>(power), list<4>{0, 0, NaN, 0});
  same(std::get<0>(division), list<3>{1 / 3.0, 1 / 3.0, -1 / 3.0});
  same(std::get<1>(division), list<3>{-7 / 9.0, 7 / 9.0, -7 / 9.0});
  same(std::get<0>(angle), list<2>{NaN, 0.4});
  same(std::get<1>(angle), list<2>{NaN, -0.2});
  same(std::get<0>(clamped), list<3>{0, 0, 0});
  same(std::get<1>(clamped), list<3>{0, 0, 1});
  CHECK(std::get<0>(logaddexp)(0) == Approx(0.5));
  CHECK(std::get<0>(logaddexp)(3) == 1);
  CHECK(std::get<0>(logaddexp)(4) == 0);
  CHECK(std::get<1>(logaddexp)(4) == 1);
  same(std::get<0>(hypot), list<2>{0.5, 1 / std::sqrt(5.0)});
  same(std::get<0>(select), list<5>{0, 0, 0, 1, 0});
  same(std::get<1>(select), list<5>{1, 1, 1, 0, 1});
}

namespace {
constexpr auto softplus = [](auto x) { return ct::nn::softplus(x); };
constexpr auto second = [](auto f, auto x) { return ct::grad([f](auto v) { return ct::sum(ct::grad([f](auto v) { return ct::sum(f(v)); })(v)); })(x); };
}  // namespace

TEST_CASE("second derivatives where a formula has a kink and the function has none") {
  const auto [soft, sigmoid, both, product] = ct::jit([](auto x) {
    return std::tuple(second(softplus, x), second([](auto x) { return ct::nn::log_sigmoid(x); }, x), second([](auto x) { return ct::logaddexp(2 * x, x); }, x),
                      second([](auto x) { return ct::xlogy(x, x + 1); }, x));
  })(list<3>{0, 1, -40});
  const auto slope = [](double x) { return 1 / (1 + std::exp(-x)) / (1 + std::exp(x)); };
  for (int i = 0; i < 3; ++i) {
    const double x = i == 0 ? 0 : i == 1 ? 1 : -40;
    CHECK(soft(i) == Approx(slope(x)));
    CHECK(sigmoid(i) == Approx(-slope(x)).margin(1e-15));
    CHECK(both(i) == Approx(slope(x)).margin(1e-15));
  }
  CHECK(product(0) == 2);
  CHECK(ct::grad([](auto x) { return ct::xlogy(x, 2.0); })(0.0) == Approx(std::log(2)));
  CHECK(ct::grad([](auto x) { return ct::xlogy(x, x); })(0.0) == 0);
}

TEST_CASE("reductions: ties share, zeros of a product are exact, NaN wins, the first maximum is the one") {
  const auto [ties, some, lost, one, two, nans, first, index, stopped, constant] = ct::jit([](auto x, auto n) {
    const auto a = x(ct::index<0>), b = x(ct::index<1>), c = x(ct::index<2>), d = x(ct::index<3>);
    const auto largest = [](auto x) { return ct::max(x); };
    const auto product = [](auto x) { return ct::prod(x); };
    return std::tuple(ct::grad(largest)(a), ct::grad(largest)(b), ct::grad(largest)(n), ct::grad(product)(c), ct::grad(product)(d), ct::max(n) + ct::min(n),
                      ct::grad([](auto x) { return x(ct::argmax(x)); })(b), std::tuple(ct::argmax(b), ct::argmin(a), ct::argmax(n), ct::argmin(n)),
                      ct::grad([](auto x) { return ct::sum(ct::stop_gradient(x) * x); })(b), ct::grad([](auto x) { return ct::sum(ct::argmax(x) + 0.0 * x); })(b));
  })(ct::array<double, 4, 3>{{5, 5, 5}, {1, 3, 3}, {2, 0, 3}, {0, 0, 3}}, list<3>{1, NaN, 2});
  same(ties, list<3>{1 / 3.0, 1 / 3.0, 1 / 3.0});
  same(some, list<3>{0, 0.5, 0.5});
  same(lost, list<3>{NaN, NaN, NaN});
  same(one, list<3>{0, 6, 0});
  same(two, list<3>{0, 0, 0});
  CHECK(std::isnan(double(nans)));
  same(first, list<3>{0, 1, 0});
  CHECK(std::get<0>(index) == 1);
  CHECK(std::get<1>(index) == 0);
  CHECK(std::get<2>(index) == 1);
  CHECK(std::get<3>(index) == 1);
  same(stopped, list<3>{1, 3, 3});
  same(constant, list<3>{0, 0, 0});
}

TEST_CASE("logsumexp and logaddexp at infinities; rounding; the sign of remainders") {
  const auto [value, slope_, mixed, top, add, rounded, mod, cumulative] = ct::jit([](auto none, auto some, auto high, auto x, auto y, auto r, auto w) {
    return std::tuple(ct::logsumexp(none), ct::grad([](auto x) { return ct::logsumexp(x); })(none), ct::grad([](auto x) { return ct::logsumexp(x); })(some), ct::logsumexp(high), ct::logaddexp(x, y),
                      ct::round(r), std::tuple(x % y, ct::fmod(x, y)), ct::grad([=](auto x) { return ct::sum(ct::cumsum(x) * w); })(w));
  })(list<2>{-inf, -inf}, list<2>{-inf, 3}, list<2>{inf, 0}, list<4>{inf, -inf, -inf, -7}, list<4>{inf, -inf, 1, 3}, list<4>{10.5, 21.5, 12.5, -0.5}, list<3>{1, 10, 100});
  CHECK(value == -inf);
  same(slope_, list<2>{NaN, NaN});
  same(mixed, list<2>{0, 1});
  CHECK(top == inf);
  CHECK(add(0) == inf);
  CHECK(add(1) == -inf);
  CHECK(add(2) == 1);
  same(rounded, list<4>{10, 22, 12, -0.0});
  CHECK(std::get<0>(mod)(3) == 2);
  CHECK(std::get<1>(mod)(3) == -1);
  same(cumulative, list<3>{111, 110, 100});
}
