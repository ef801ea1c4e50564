/// scan and fori_loop: jvp, vjp, vmap, and these of one another.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
/// A recurrent network: the weights are captured; sin(w) does not change from step to step.
constexpr auto network = [](auto h, auto xs, auto w, auto b) {
  return ct::scan(
      [w, b](auto h, auto x) {
        const auto next = ct::tanh(ct::matmul(ct::sin(w), h) + b * x);
        return std::pair(next, ct::sum(next * x));
      },
      h, xs);
};
constexpr auto network_unrolled = [](auto h, auto xs, auto w, auto b) {
  std::array<decltype(ct::sum(h)), 5> ys;
  for (int i = 0; i < 5; ++i) {
    const auto x = xs(i);
    h = ct::tanh(ct::matmul(ct::sin(w), h) + b * x);
    ys[std::size_t(i)] = ct::sum(h * x);
  }
  return std::tuple(h, ct::stack<0>(ys[0], ys[1], ys[2], ys[3], ys[4]));
};
/// An int32 counter and an array of indices beside floating carries; a carry that nothing changes; one that stays without
/// a derivative; a y that is only x.
constexpr auto mixed = [](auto c, auto scale, auto xs, auto indices, auto table) {
  return ct::scan(
      [table](auto carry, auto x) {
        const auto [count, v, scale, steps] = carry;
        const auto entry = table(std::get<1>(x)) * scale;
        const auto next = v * entry + std::get<0>(x) * ct::astype<double>(count);
        return std::tuple(std::tuple(count + 1, next, scale, steps + 1.0), std::tuple(next * v, std::get<1>(x) + count, std::get<0>(x)));
      },
      std::tuple(0, c, scale, 0.5), std::tuple(xs, indices));
};
constexpr auto mixed_unrolled = [](auto c, auto scale, auto xs, auto indices, auto table) {
  std::array<decltype(c), 4> ys;
  for (int i = 0; i < 4; ++i) {
    const auto next = c * (table(indices(i)) * scale) + xs(i) * double(i);
    ys[std::size_t(i)] = next * c;
    c = next;
  }
  return std::tuple(std::tuple(ct::sum(indices) * 0 + 4, c, scale, 4.5 + 0.0 * ct::sum(ct::stop_gradient(c))), std::tuple(ct::stack<0>(ys[0], ys[1], ys[2], ys[3]), indices + ct::iota<std::int32_t, 4>(xs), xs));
};

template <class... Options> struct running {
  template <class C, class X> constexpr auto operator()(const C& c, const X& xs) const {
    return ct::scan([](auto c, auto x) { return std::tuple(ct::sin(c) * x + c, c * c); }, c, xs, Options()...);
  }
};
template <int K> using turns_of = ct::unroll_tag<K>;

constexpr auto nested = [](auto c, auto rows) {
  return ct::scan(
      [](auto c, auto row) {
        const auto inner = [c](auto d, auto x) { return std::tuple(ct::cos(d) * x + c, d * c); };
        const auto [d, ys] = ct::scan(inner, c * 0.5, row, ct::reverse);
        return std::tuple(d, ys * d);
      },
      c, rows);
};

/// Steps of two stages that read neighbours: around the end, zeros outside, and the ends again.
template <extent Turns, extent N = 1024> struct moving {
  template <class Y> constexpr auto operator()(const Y& start) const {
    const auto slope = [](auto y) {
      const auto padded = ct::pad<ct::low<1>, ct::high<0>>(y);
      const auto joined = ct::concatenate<0>(ct::slice<ct::range<0, 1>>(y), y);
      return y * (ct::roll<0>(y, -1) - ct::slice<ct::range<0, N>>(padded) + 0.5 * ct::slice<ct::range<0, N>>(joined));
    };
    return ct::fori_loop<0, Turns>([slope](auto, auto y) { return y + 0.001 * slope(y + 0.0005 * slope(y)); }, start);
  }
};
}  // namespace

TEST_CASE("a recurrent network: derivatives for the carry, the xs and the captured weights") {
  const std::tuple x(between<double, 3>(-1, 1), between<double, 5, 3>(-1, 1, 1), between<double, 3, 3>(-1, 1, 2), between<double, 3>(-1, 1, 3));
  check_derivatives(network, x);
  std::apply([](const auto&... a) { check_same(graph_of(network, a...), graph_of(network_unrolled, a...), tensors_of(a...)); }, x);
}

TEST_CASE("carries and xs of integers beside floating ones, carries that stay, and ys that are xs") {
  const std::tuple x(between<double, 2>(-1, 1), between<double>(0.5, 1.5), between<double, 4, 2>(-1, 1, 1));
  const std::tuple constants(ct::array<std::int32_t, 4>{2, 0, 1, 2}, between<double, 3, 2>(-1, 1, 2));
  const auto [c, scale, xs] = x;
  const auto [indices, table] = constants;
  check_rules(graph_of(mixed, c, scale, xs, indices, table), tensors_of(c, scale, xs, indices, table));
  check_same(graph_of(mixed, c, scale, xs, indices, table), graph_of(mixed_unrolled, c, scale, xs, indices, table), tensors_of(c, scale, xs, indices, table));
  check_compiled<double, orders::second, batching::no>(mixed, x, constants);
}

TEST_CASE("reverse and unrolled scans: derivatives for lengths that are and are no multiples of the turns") {
  const auto c = between<double>(-1, 1);
  const auto each = [&]<extent N>(std::integral_constant<extent, N>) {
    INFO("length " << N);
    const auto xs = between<double, N>(-1, 1);
    const auto forward = graph_of(running<>{}, c, xs), backward = graph_of(running<ct::reverse_tag>{}, c, xs);
    check_rules(forward, tensors_of(c, xs));
    check_rules(backward, tensors_of(c, xs));
    check_same(graph_of(running<turns_of<2>>{}, c, xs), forward, tensors_of(c, xs));
    check_same(graph_of(running<turns_of<3>>{}, c, xs), forward, tensors_of(c, xs));
    check_same(graph_of(running<turns_of<3>, ct::reverse_tag>{}, c, xs), backward, tensors_of(c, xs));
    check_same(graph_of(running<ct::length_tag<N>>{}, c, xs), forward, tensors_of(c, xs));
  };
  each(std::integral_constant<extent, 0>());
  each(std::integral_constant<extent, 1>());
  each(std::integral_constant<extent, 2>());
  each(std::integral_constant<extent, 6>());
  each(std::integral_constant<extent, 7>());
  const auto xs = between<double, 7>(-1, 1);
  check_rules(graph_of(running<turns_of<3>, ct::reverse_tag>{}, c, xs), tensors_of(c, xs));
  check_compiled<double, orders::first, batching::no>(running<turns_of<3>, ct::reverse_tag>{}, std::tuple(c, xs), std::tuple());
}

TEST_CASE("a scan inside a scan") {
  const std::tuple x(between<double>(-1, 1), between<double, 3, 4>(-1, 1));
  check_rules_of(nested, x);
  check_compiled<double, orders::first, batching::yes>(nested, x, std::tuple());
}

TEST_CASE("moved carries of many turns are not kept beside the carries") {
  constexpr auto squares = []<class Moving>(Moving) { return [](auto y) { return ct::sum(ct::square(Moving()(y))); }; };
  const auto kept = [](const std::string& text) { return std::count(text.begin(), text.begin() + std::ptrdiff_t(text.find(" = scan")), ','); };
  const auto y = between<double, 1024>(-1, 1), t = between<double, 1024>(-1, 1, 1);
  const auto few = ct::jit(ct::grad(squares(moving<3>())));
  const auto many = ct::jit(ct::grad(squares(moving<130>())));
  CHECK(kept(few.graph(y)) > 2);
  CHECK(kept(many.graph(y)) == 2);
  const auto at = [&](double h) { return ct::jit(squares(moving<130>()))(ct::array<double, 1024>(y + h * t))(); };
  const ct::array<double> slope = ct::sum(many(y) * t);
  CHECK(slope() == Approx((at(1e-6) - at(-1e-6)) / 2e-6).epsilon(1e-7));
}
