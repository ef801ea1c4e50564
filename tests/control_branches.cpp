/// while_loop, fori_loop with run-time bounds, cond and switch_: values, derivatives, vmap, and inside one another.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
/// Halves v until its largest element is at most `limit`; counts.
constexpr auto halve = [](auto v, auto limit) {
  return ct::while_loop([limit](auto s) { return ct::max(std::get<1>(s)) > limit; }, [](auto s) { return std::tuple(std::get<0>(s) + 1, std::get<1>(s) * 0.5); }, std::tuple(0, v));
};
constexpr auto halve_slope = [](auto v, auto t, auto limit) {
  return ct::jvp([limit](auto v) { return std::get<1>(halve(v, limit)); }, std::tuple(v), std::tuple(t));
};
/// The sum of sin(k x) for k below n, in forward mode only.
constexpr auto harmonics = [](auto n, auto x) {
  return ct::fori_loop(0, n, [x](auto k, auto sum) { return sum + ct::sin(ct::astype<double>(k) * x); }, ct::zeros_like(x));
};
/// A condition and a body that both depend on a captured scalar; Newton's iteration for its square root.
constexpr auto root = [](auto a) { return ct::while_loop([a](auto x) { return ct::abs(x * x - a) > 1e-12; }, [a](auto x) { return 0.5 * (x + a / x); }, 1.0); };

constexpr auto signed_log = [](auto x) { return ct::cond(x > 0.0, [](auto x) { return ct::log(x); }, [](auto x) { return x; }, x); };
constexpr auto log_slope = [](auto x) { return ct::grad(signed_log)(x); };
/// Branches with different residuals, a captured array and results of two dtypes.
constexpr auto branches = [](auto p, auto x, auto w) {
  return ct::cond(
      p, [w](auto x) { return std::tuple(ct::sin(x) * ct::sum(w), ct::sum(w * w), std::int32_t(1) + ct::argmax(x)); }, [](auto x) { return std::tuple(x * x * x, ct::sum(ct::exp(x)), ct::argmin(x)); }, x);
};
constexpr auto switched = [](auto i, auto x, auto w) {
  return ct::switch_(i, std::tuple([](auto x) { return ct::sin(x); }, [w](auto x) { return x * w * w; }, [](auto x) { return x + 1.0; }), x);
};
}  // namespace

TEST_CASE("while_loop runs as long as its condition holds, perhaps not at all") {
  const auto f = ct::jit(halve);
  const auto [count, v] = f(ct::array<double, 3>{1, 40, -3}, 1.5);
  CHECK(count == 5);
  CHECK(v == ct::array<double, 3>{1 / 32., 1.25, -3 / 32.});
  const auto [none, same] = f(ct::array<double, 3>{1, 1, 1}, 1.5);
  CHECK(none == 0);
  CHECK(same == ct::array<double, 3>{1, 1, 1});
  const auto collatz = ct::jit([](auto n) {
    return std::get<1>(ct::while_loop([](auto s) { return std::get<0>(s) != 1; },
                                      [](auto s) {
                                        const auto [n, steps] = s;
                                        return std::tuple(ct::where(n % 2 == 0, n >> 1, 3 * n + 1), steps + 1);
                                      },
                                      std::tuple(n, 0)));
  });
  CHECK(collatz(std::int32_t(27)) == 111);
  CHECK(collatz(std::int32_t(1)) == 0);
}

TEST_CASE("fori_loop with run-time bounds") {
  const auto f = ct::jit([](auto low, auto high) { return ct::fori_loop(low, high, [](auto i, auto c) { return c * 10 + i; }, 0); });
  CHECK(f(std::int32_t(1), std::int32_t(5)) == 1234);
  CHECK(f(std::int32_t(5), std::int32_t(5)) == 0);
  CHECK(f(std::int32_t(5), std::int32_t(-5)) == 0);
  CHECK(interpret(harmonics, std::int64_t(2), ct::array<double, 2>{0.5, 1})(1) == Approx(std::sin(1.)));
}

TEST_CASE("while_loop in forward mode and under vmap") {
  const auto v = between<double, 3>(3, 9), t = between<double, 3>(-1, 1);
  check_rules(graph_of(halve, v, 1.5), tensors_of(v, 1.5), orders::none);
  check_rules(graph_of(halve_slope, v, t, 1.5), tensors_of(v, t, 1.5), orders::none);
  check_rules(graph_of(harmonics, std::int32_t(3), v), tensors_of(std::int32_t(3), v), orders::none);
  constexpr auto derivative = [](auto n, auto x) { return std::get<1>(ct::jvp([n](auto x) { return harmonics(n, x); }, std::tuple(x), std::tuple(ct::ones_like(x)))); };
  const auto d = interpret(derivative, std::int32_t(4), v);
  for (int i = 0; i < 3; ++i) CHECK(d(i) == Approx(std::cos(v(i)) + 2 * std::cos(2 * v(i)) + 3 * std::cos(3 * v(i))));
  constexpr auto all = [](auto vs, auto v, auto t, auto limits, auto counts) {
    return std::tuple(halve_slope(v, t, 1.5), ct::vmap(halve, ct::in_axes<0, ct::none>)(vs, limits(0)), ct::vmap(halve, ct::in_axes<ct::none, 0>)(v, limits),
                      ct::vmap(harmonics, ct::in_axes<ct::none, 0>)(counts(1), vs), ct::vmap(harmonics, ct::in_axes<0, ct::none>)(counts, v));
  };
  check_jit(all, 1e-12, between<double, 4, 3>(2, 9), v, t, ct::array<double, 3>{100, 0.1, 2}, ct::array<std::int32_t, 3>{4, 0, 1});
  const auto roots = ct::jit([](auto a) { return ct::vmap([](auto a) { return ct::jvp(root, std::tuple(a), std::tuple(1.0)); })(a); })(ct::array<double, 4>{1, 2, 9, 0.25});
  CHECK(std::get<0>(roots)(1) == Approx(std::sqrt(2.)));
  CHECK(std::get<1>(roots)(2) == Approx(1 / 6.).epsilon(1e-4));
}

TEST_CASE("cond takes one branch: its values and derivatives") {
  const auto x = between<double, 3>(-1, 1);
  const auto w = between<double, 2>(-1, 1, 1);
  for (bool p : {true, false}) {
    INFO(p);
    check_rules(graph_of(branches, p, x, w), tensors_of(p, x, w));
    constexpr auto gradient = [](auto p, auto x, auto w) {
      return ct::grad([p](auto x, auto w) { const auto [a, b, c] = branches(p, x, w); return ct::sum(a) * b; }, ct::wrt<0, 1>)(x, w);
    };
    check_rules(graph_of(gradient, p, x, w), tensors_of(p, x, w), orders::first);
    check_jit(gradient, 1e-13, p, x, w);
  }
  check_compiled<double, orders::second, batching::no>([](auto x, auto w, auto p) { return branches(p, x, w); }, std::tuple(x, w), std::tuple(true));
  const auto f = ct::jit([](auto i, auto x) { return ct::cond(i, [](auto x) { return x + 1.0; }, [](auto x) { return -x; }, x); });
  CHECK(f(std::int32_t(-3), 2.0) == 3);
  CHECK(f(std::int32_t(0), 2.0) == -2);
}

TEST_CASE("switch_ clamps its index; one function is called as it is") {
  const auto x = between<double, 2>(-1, 1), w = between<double, 2>(-1, 1, 1);
  const auto f = ct::jit([](auto i, auto x, auto w) {
    return std::tuple(switched(i, x, w), ct::grad([i](auto x, auto w) { return ct::sum(switched(i, x, w)); }, ct::wrt<0, 1>)(x, w), ct::switch_(i, std::tuple([](auto x) { return x * 2.0; }), x));
  });
  for (std::int32_t i : {-7, 0, 1, 2, 3, 100}) {
    INFO("index " << i);
    const auto [y, gradient, only] = f(i, x, w);
    const auto& [dx, dw] = gradient;
    for (int k = 0; k < 2; ++k) {
      CHECK(y(k) == Approx(i < 1 ? std::sin(x(k)) : i == 1 ? x(k) * w(k) * w(k) : x(k) + 1));
      CHECK(dx(k) == Approx(i < 1 ? std::cos(x(k)) : i == 1 ? w(k) * w(k) : 1));
      CHECK(dw(k) == Approx(i == 1 ? 2 * x(k) * w(k) : 0));
      CHECK(only(k) == 2 * x(k));
    }
    check_rules(graph_of(switched, i, x, w), tensors_of(i, x, w));
  }
}

TEST_CASE("under vmap a NaN of the branch that is not taken reaches neither value nor gradient") {
  const ct::array<double, 4> x{-1, 2, 0, 0.5};
  const auto r = ct::jit([](auto x) {
    return std::tuple(ct::vmap(signed_log)(x), ct::vmap(log_slope)(x), ct::grad([](auto x) { return ct::sum(ct::vmap(signed_log)(x)); })(x), ct::vmap(ct::grad(log_slope))(x));
  })(x);
  CHECK(std::get<0>(r) == ct::array<double, 4>{-1, std::log(2.), 0, std::log(0.5)});
  CHECK(std::get<1>(r) == ct::array<double, 4>{1, 0.5, 1, 2});
  CHECK(std::get<2>(r) == ct::array<double, 4>{1, 0.5, 1, 2});
  CHECK(std::get<3>(r) == ct::array<double, 4>{0, -0.25, 0, -4});
}

TEST_CASE("vmap of cond and switch_ in compiled programs, with one predicate and with one per instance") {
  constexpr auto all = [](auto p, auto i, auto x, auto xs, auto w) {
    return std::tuple(ct::vmap(branches, ct::in_axes<ct::none, 0, ct::none>)(p(0), xs, w), ct::vmap(branches, ct::in_axes<0, ct::none, ct::none>)(p, x, w),
                      ct::vmap(switched, ct::in_axes<0, 0, ct::none>)(i, xs, w), ct::vmap(switched, ct::in_axes<ct::none, ct::none, 0>)(i(0), x, xs));
  };
  for (bool first : {false, true})
    check_jit(all, 1e-13, ct::array<bool, 3>{first, true, false}, ct::array<std::int32_t, 3>{1, -4, 7}, between<double, 3>(-1, 1), between<double, 3, 3>(-1, 1, 1), between<double, 3>(-1, 1, 2));
}

TEST_CASE("cond, switch_ and map called with arrays, outside a trace") {
  const ct::array<double, 2> x{1, 2}, w{3, 4};
  CHECK(ct::cond(true, [](auto x) { return x + 1.0; }, [](auto x) { return -x; }, x) == ct::array<double, 2>{2, 3});
  CHECK(ct::cond(false, [](auto x) { return x + 1.0; }, [](auto x) { return -x; }, x) == ct::array<double, 2>{-1, -2});
  CHECK(ct::switch_(1, std::tuple([](auto x) { return x; }, [](auto x) { return x * x; }), x) == ct::array<double, 2>{1, 4});
  CHECK(ct::map([](auto x) { return x * 2.0; }, x) == ct::array<double, 2>{2, 4});
  CHECK(ct::map([w](auto x) { return x * w; }, x) == ct::array<double, 2, 2>{{3, 4}, {6, 8}});
  CHECK(ct::while_loop([](auto x) { return ct::sum(x) < 20.0; }, [](auto x) { return x * 2.0; }, x) == ct::array<double, 2>{8, 16});
}

TEST_CASE("the Jacobian of a loop around a branch: what no tangent reaches stays without a batch axis") {
  constexpr auto f = [](auto x) {
    const auto turn = [](auto, auto s) {
      return ct::cond(ct::sum(s) < 10.0, [](auto y) { return y * y + 1.0; }, [](auto y) { return 2.0 * y; }, s);
    };
    return ct::fori_loop<0, 3>(turn, x);
  };
  const ct::array<double, 2> x{1, 2};
  const ct::array<double, 2, 2> expected{{16, 0}, {0, 80}};
  CHECK(ct::jacfwd(f)(x) == expected);
  CHECK(ct::jacrev(f)(x) == expected);
}
