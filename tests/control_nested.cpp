/// Loops and branches inside one another, and with run-time extents.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
/// Each step takes one of two branches; both capture w.
constexpr auto cond_in_scan = [](auto c, auto xs, auto w) {
  return ct::scan(
      [w](auto c, auto x) {
        const auto y = ct::cond(x > 0.0, [w](auto c, auto x) { return ct::sin(c) * x * w; }, [w](auto c, auto x) { return c * w - ct::square(x); }, c, x);
        return std::tuple(y, y * c);
      },
      c, xs);
};
constexpr auto scan_in_cond = [](auto c, auto xs, auto p) {
  return ct::cond(p, [](auto c, auto xs) { return ct::scan([](auto c, auto x) { return std::tuple(ct::tanh(c + x), c); }, c, xs); },
                  [](auto c, auto xs) { return std::tuple(c * ct::sum(xs), xs * xs); }, c, xs);
};
constexpr auto scan_in_while = [](auto v, auto xs) {
  return ct::while_loop([](auto v) { return v < 2.0; }, [xs](auto v) { return std::get<0>(ct::scan([](auto c, auto x) { return std::tuple(c + ct::square(x), ct::none); }, v, xs)); }, v);
};
constexpr auto while_in_scan = [](auto c, auto xs) {
  return ct::scan(
      [](auto c, auto x) {
        const auto y = ct::while_loop([](auto v) { return ct::abs(v) < 3.0; }, [x](auto v) { return v * (x + 2.0); }, c + x);
        return std::tuple(y * 0.25, y);
      },
      c, xs);
};
/// The index of a branch is the counter of a loop, whose carry is an array.
constexpr auto switch_in_fori = [](auto x) {
  return ct::fori_loop<0, 4>([](auto i, auto c) { return ct::switch_(i, std::tuple([](auto c) { return ct::sin(c); }, [](auto c) { return c * c; }, [](auto c) { return ct::cumsum(c); }), c); }, x);
};
constexpr auto forward_of = []<class F>(F) {
  return [](auto c, auto xs, auto dc, auto dxs) { return ct::jvp(F(), std::tuple(c, xs), std::tuple(dc, dxs)); };
};
/// Some turns undo transposes, some do not.
constexpr auto transposed_turns = [](auto xs, auto s) {
  const auto turned = ct::transpose<0, 2, 1>(xs);
  const auto one = ct::scan([](auto s, auto x) { return std::tuple(s + ct::sum(ct::transpose(x) * ct::transpose(x)), ct::transpose(x * s)); }, s, turned);
  const auto two = ct::scan([](auto s, auto x) { return std::tuple(s + ct::sum(ct::transpose(x)), x + s); }, s, ct::transpose<0, 2, 1>(xs * 2.0));
  const auto three = ct::scan([](auto s, auto x) { return std::tuple(s * 0.5 + ct::sum(x), ct::transpose(x)); }, s, turned);
  return std::tuple(one, two, three);
};
constexpr auto loss_of_transposed = [](auto xs, auto s) {
  const auto [one, two, three] = transposed_turns(xs, s);
  return std::get<0>(one) * std::get<0>(two) + ct::sum(ct::sin(std::get<1>(one))) + ct::sum(ct::square(std::get<1>(two))) + ct::sum(ct::sin(std::get<1>(three)));
};
}  // namespace

TEST_CASE("cond in scan, and scan in cond") {
  const std::tuple x(between<double>(-1, 1), between<double, 5>(-1, 1), between<double>(0.5, 1.5));
  check_rules_of(cond_in_scan, x);
  check_compiled<double, orders::first, batching::no>(cond_in_scan, x, std::tuple());
  check_compiled<double, orders::first, batching::yes>(cond_in_scan, x, std::tuple());
  const auto c = between<double>(-1, 1);
  const auto xs = between<double, 3>(-1, 1);
  for (bool p : {true, false}) check_rules(graph_of(scan_in_cond, c, xs, p), tensors_of(c, xs, p));
  check_compiled<double, orders::first, batching::no>(scan_in_cond, std::tuple(c, xs), std::tuple(ct::array<bool>(true)));
  check_compiled<double, orders::first, batching::yes>(scan_in_cond, std::tuple(c, xs), std::tuple(ct::array<bool>(true)));
}

TEST_CASE("scan in while_loop, and while_loop in scan, in forward mode") {
  const auto v = ct::array<double>(0.5), c = ct::array<double>(0.25), t = ct::array<double>(0.75);
  const auto xs = between<double, 4>(-1, 1), dxs = between<double, 4>(-1, 1, 1);
  check_rules(graph_of(scan_in_while, v, xs), tensors_of(v, xs), orders::none);
  check_rules(graph_of(while_in_scan, c, xs), tensors_of(c, xs), orders::none);
  const auto inner = forward_of(scan_in_while);
  const auto outer = forward_of(while_in_scan);
  check_rules(graph_of(inner, v, xs, t, dxs), tensors_of(v, xs, t, dxs), orders::none);
  check_rules(graph_of(outer, c, xs, t, dxs), tensors_of(c, xs, t, dxs), orders::none);
  check_jit([](auto... a) { return std::tuple(forward_of(scan_in_while)(a...), forward_of(while_in_scan)(a...)); }, 1e-12, c, xs, t, dxs);
  // Forward mode against central differences.
  const double h = 1e-6;
  const auto value = [&](double s) {
    auto moved = xs;
    for (int i = 0; i < 4; ++i) moved(i) += s * dxs(i);
    return interpret(while_in_scan, ct::array<double>(c() + s * t()), moved);
  };
  const auto exact = std::get<1>(interpret(outer, c, xs, t, dxs));
  const auto high = value(h), low = value(-h);
  for (int i = 0; i < 4; ++i) CHECK(std::get<1>(exact)(i) == Approx((std::get<1>(high)(i) - std::get<1>(low)(i)) / (2 * h)).epsilon(1e-6));
}

TEST_CASE("switch_ in fori_loop") {
  const auto x = between<double, 3>(-1, 1);
  check_rules(graph_of(switch_in_fori, x), tensors_of(x));
  check_compiled<double, orders::first, batching::no>(switch_in_fori, std::tuple(x), std::tuple());
}

TEST_CASE("branches and loops over run-time extents") {
  constexpr auto all = [](auto x, auto y, auto p) {
    const auto either = [p](auto x, auto y) { return ct::cond(p, [](auto x, auto y) { return ct::sin(x) * y; }, [](auto x, auto) { return x * ct::sum(x); }, x, y); };
    const auto grown = ct::while_loop([](auto v) { return ct::sum(v * v) < 50.0; }, [y](auto v) { return v * 2.0 + y * y + 0.5; }, x);
    return std::tuple(either(x, y), ct::grad([either](auto x, auto y) { return ct::sum(ct::square(either(x, y))); }, ct::wrt<0, 1>)(x, y), grown,
                      std::get<0>(ct::scan([y, p](auto c, auto x) { return std::tuple(ct::cond(p, [y](auto c) { return c + y; }, [](auto c) { return c * 0.5; }, c) * x, ct::none); }, x, y)));
  };
  const auto f = ct::jit(all);
  for (extent n : {1, 2, 9}) {
    ct::array<double, ct::dyn> x({n}), y({n});
    std::copy_n(between<double, 9>(-1, 1).data(), n, x.data());
    std::copy_n(between<double, 9>(-1, 1, 1).data(), n, y.data());
    for (bool p : {true, false}) {
      INFO(n << " " << p);
      const auto want = interpret(all, x, y, p);
      CHECK(difference(tensors_of(f(x, y, p)), tensors_of(want), 1e-12) == "");
    }
  }
  ct::array<double, ct::dyn> x({2}), y({3});
  CHECK_THROWS_AS(f(x, y, true), ct::shape_error);
}

TEST_CASE("threads take blocks of instances through all turns of a loop") {
  constexpr ct::extent n = 5000;
  const auto turn = [](auto i, auto x) { return ct::sin(x) + 0.01 * ct::astype<double>(i); };
  const auto loop = [turn](auto x) { return ct::fori_loop<0, 101>(turn, x); };
  ct::array<double, n> x;
  for (ct::extent i = 0; i < n; ++i) x(i) = 0.001 * double(i % 3000) - 1;
  const auto y = ct::jit(loop)(x);
  ct::array<double, ct::dyn> z({n});
  for (ct::extent i = 0; i < n; ++i) z(i) = x(i);
  const auto at_run_time = ct::jit(loop)(z);
  for (ct::extent i = 0; i < n; ++i) CHECK(y(i) == at_run_time(i));
  for (ct::extent i = 0; i < n; i += 501) {
    double expected = x(i);
    for (int k = 0; k < 101; ++k) expected = std::sin(expected) + 0.01 * k;
    CHECK(std::abs(y(i) - expected) <= 1e-12);
  }
}

TEST_CASE("what the turns of an inner loop keep lies in memory as they make it") {
  constexpr auto rollout = [](auto forces, auto s) {
    const auto turn = [](auto s, auto force) {
      const auto end = ct::fori_loop<0, 7>([force](auto, auto s) { return s + 0.1 * ct::sin(s * force); }, s);
      return std::tuple(end, end);
    };
    return ct::sum(ct::square(std::get<1>(ct::scan(turn, s, forces))));
  };
  constexpr auto f = ct::vmap(ct::value_and_grad(rollout, ct::wrt<0, 1>));
  const auto forces = between<double, 300, 5>(-1, 1);
  const auto s = between<double, 300>(-1, 1, 1);
  CHECK(ct::jit(f).kernels(forces, s).find("[300,7]") == std::string::npos);
  check_jit(f, 1e-11, forces, s);
}

TEST_CASE("transposes that turns undo, and those that they do not") {
  check_jit(transposed_turns, 1e-11, between<double, 4, 3, 5>(-1, 1), ct::array<double>(0.5));
  check_jit(ct::vmap(transposed_turns), 1e-11, between<double, 6, 4, 3, 5>(-1, 1), between<double, 6>(-1, 1));
  check_jit(ct::value_and_grad(loss_of_transposed, ct::wrt<0, 1>), 1e-10, between<double, 4, 3, 5>(-1, 1), ct::array<double>(0.5));
}
