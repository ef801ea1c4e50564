// The groups custom_jvp, custom_vjp, custom_gradient and vjp of known_answers_table.hpp.
#include "known_answers_table.hpp"

namespace ct = cotangent;
using known::argument;
using known::check;
using known::number;

// f(x, y) = sin(x) y with rules of its own.
constexpr auto sin_times = [](auto x, auto y) { return ct::sin(x) * y; };
constexpr auto sin_times_jvp = [](auto primals, auto tangents) {
  const auto [x, y] = primals;
  const auto [dx, dy] = tangents;
  return std::tuple(ct::sin(x) * y, ct::cos(x) * dx * y + ct::sin(x) * dy);
};
constexpr auto sin_times_forward = [](auto x, auto y) { return std::tuple(ct::sin(x) * y, std::tuple(ct::cos(x), ct::sin(x), y)); };
constexpr auto sin_times_backward = [](auto residuals, auto g) {
  const auto [cos_x, sin_x, y] = residuals;
  return std::tuple(cos_x * g * y, sin_x * g);
};
constexpr auto cube = [](auto x) { return ct::pow(x, 3); };
constexpr auto cube_of_five = [](auto x) { return cube(5 * x); };

TEST_CASE("known answers: custom_jvp") {
  {
    const std::string id = "custom_jvp.f23";
    constexpr auto f = ct::custom_jvp(sin_times, sin_times_jvp);
    const float x = number(id, "x"), y = number(id, "y");
    check(id, ct::jit(f)(x, y), ct::jvp(f, std::tuple(x, y), std::tuple(1.0f, 0.0f)), ct::grad(f)(x, y));
  }
  constexpr auto log1pexp = [](auto x) { return ct::log(1 + ct::exp(x)); };
  {
    const std::string id = "custom_jvp.log1pexp_100_naive";
    check(id, ct::grad(log1pexp)(number(id, "x")));
  }
  {
    const std::string id = "custom_jvp.log1pexp_100";
    constexpr auto rule = [](auto primals, auto tangents) {
      const auto x = std::get<0>(primals);
      return std::tuple(ct::log(1 + ct::exp(x)), (1 - 1 / (1 + ct::exp(x))) * std::get<0>(tangents));
    };
    check(id, ct::grad(ct::custom_jvp(log1pexp, rule))(number(id, "x")));
  }
  {
    const std::string id = "custom_jvp.control_flow";
    constexpr auto rule = [](auto primals, auto tangents) {
      const auto x = std::get<0>(primals);
      const auto t = std::get<0>(tangents);
      return std::tuple(ct::sin(x), ct::where(x > 0, 2 * t, 3 * t));
    };
    constexpr auto f = ct::custom_jvp([](auto x) { return ct::sin(x); }, rule);
    const auto x = argument<float, 2>(id, "x");
    check(id, ct::grad(f)(x(0)), ct::grad(f)(x(1)));
  }
  {
    // app(f, x) = f(x): the function is part of the type here.
    const std::string id = "custom_jvp.nondiff_app";
    constexpr auto app = ct::custom_jvp(cube, [](auto primals, auto tangents) { return std::tuple(cube(std::get<0>(primals)), 2 * std::get<0>(tangents)); });
    check(id, ct::jit(app)(number(id, "x")), ct::grad(app)(number(id, "x")));
  }
  {
    const std::string id = "custom_jvp.nondiff_app2";
    constexpr auto app = ct::custom_jvp(cube_of_five, [](auto primals, auto tangents) { return std::tuple(cube_of_five(std::get<0>(primals)), 3 * std::get<0>(tangents)); });
    check(id, ct::jit(app)(number(id, "x")), ct::grad(app)(number(id, "x")));
  }
  CHECK(known::complete("custom_jvp"));
}

constexpr auto newton_step = [](auto a, auto x) { return 0.5f * (x + a / x); };
constexpr auto newton_sqrt = [](auto a) {
  auto x = a;
  for (int i = 0; i < 8; ++i) x = newton_step(a, x);
  return x;
};
/// Implicit differentiation at the fixed point x = step(a, x): u = g + (dstep/dx)^T u, then (dstep/da)^T u.
constexpr auto newton_backward = [](auto residuals, auto g) {
  const auto a = std::get<0>(residuals);  // clang 19 cannot capture a structured binding in constant evaluation
  const auto x = std::get<1>(residuals);
  const auto of_x = std::get<1>(ct::vjp([a](auto v) { return newton_step(a, v); }, x));
  const auto of_a = std::get<1>(ct::vjp([x](auto v) { return newton_step(v, x); }, a));
  auto u = g;
  for (int i = 0; i < 3; ++i) u = g + std::get<0>(of_x(u));
  return of_a(u);
};
/// x, whose cotangent is clipped to [lo, hi].
constexpr auto clip_gradient = ct::custom_vjp(
    [](auto, auto, auto x) { return x; }, [](auto lo, auto hi, auto x) { return std::tuple(x, std::tuple(lo, hi)); },
    [](auto bounds, auto g) {
      const auto [lo, hi] = bounds;
      return std::tuple(ct::zeros_like(lo), ct::zeros_like(hi), ct::clip(g, lo, hi));
    });

TEST_CASE("known answers: custom_vjp") {
  {
    const std::string id = "custom_vjp.f23";
    check(id, ct::grad(ct::custom_vjp(sin_times, sin_times_forward, sin_times_backward))(number(id, "x"), number(id, "y")));
  }
  {
    const std::string id = "vjp.custom_vjp";
    constexpr auto f = ct::custom_vjp([](auto x) { return ct::sin(x); }, [](auto x) { return std::tuple(ct::sin(x), x); },
                                      [](auto x, auto g) { return std::tuple(ct::cos(x) * g); });
    const auto [y, pull] = ct::vjp(f, number(id, "x"));
    check(id, y, pull(1.0f));
  }
  {
    const std::string id = "custom_vjp.newton_sqrt_grads";
    constexpr auto f = ct::custom_vjp(newton_sqrt, [](auto a) { const auto x = newton_sqrt(a); return std::tuple(x, std::tuple(a, x)); }, newton_backward);
    check(id, ct::grad(f)(number(id, "a")), ct::grad(ct::grad(f))(number(id, "a")));
  }
  {
    const std::string id = "custom_vjp.clip_gradient";
    check(id, ct::grad([](auto x) { return clip_gradient(-0.1f, x + 0.1f, x); })(number(id, "x")));
  }
  {
    // custom_gradient: f(x) = x^2 with the gradient g x.
    const std::string id = "custom_gradient.sq";
    constexpr auto f = ct::custom_vjp([](auto x) { return ct::square(x); }, [](auto x) { return std::tuple(ct::square(x), x); },
                                      [](auto x, auto g) { return std::tuple(g * x); });
    const float x = number(id, "x");
    check(id, ct::jit(f)(x), ct::grad(f)(x), ct::grad(ct::grad(f))(x));
  }
  {
    const std::string id = "custom_gradient.mul";
    constexpr auto f = ct::custom_vjp([](auto x, auto y) { return x * y; }, [](auto x, auto y) { return std::tuple(x * y, std::tuple(x, y)); },
                                      [](auto xy, auto g) { return std::tuple(g * std::get<1>(xy), g * std::get<0>(xy)); });
    check(id, ct::grad(f, ct::wrt<0, 1>)(number(id, "x"), number(id, "y")));
  }
  CHECK(known::complete("custom_vjp"));
  CHECK(known::complete("vjp"));
  CHECK(known::complete("custom_gradient"));
}
