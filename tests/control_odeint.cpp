/// odeint and odeint_rk4 against exact solutions, and their derivatives.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
constexpr auto decay = [](auto k, auto y0, auto ts) { return ct::odeint([&](auto y, auto) { return -k * y; }, y0, ts, ct::tolerance<1e-11>); };
constexpr auto squares = [](auto k, auto y0, auto ts) { return ct::sum(ct::square(decay(k, y0, ts))); };
constexpr auto fixed = [](auto k, auto ts) { return ct::odeint_rk4([&](auto y, auto t) { return -k * t * y; }, 1.0 + 0 * k, ts, ct::substeps<16>); };
constexpr auto last = [](auto k, auto ts) { return fixed(k, ts)(ct::index<2>); };
}  // namespace

TEST_CASE("odeint: exponential decay, its adjoint, vmap with steps of their own") {
  const ct::array<double, 4> ts{0, 0.3, 0.35, 2};
  const double k = 0.7, y0 = 1.5;
  const auto [ys, gradients] = ct::jit([](auto k, auto y0, auto ts) { return std::tuple(decay(k, y0, ts), ct::grad(squares, ct::wrt<0, 1, 2>)(k, y0, ts)); })(k, y0, ts);
  const auto& [dk, dy, dt] = gradients;
  double want_k = 0, want_y = 0, want_first = 0;
  for (int i = 0; i < 4; ++i) {
    const double y = y0 * std::exp(-k * ts(i));
    CHECK(std::abs(ys(i) - y) < 1e-9);
    want_k -= 2 * ts(i) * y * y, want_y += 2 * y * y / y0;
    if (i > 0) {
      CHECK(std::abs(dt(i) + 2 * k * y * y) < 1e-8);
      want_first += 2 * k * y * y;  // the later the start, the less has decayed
    }
  }
  CHECK(std::abs(dk() - want_k) < 1e-8);
  CHECK(std::abs(dy() - want_y) < 1e-8);
  CHECK(std::abs(dt(0) - want_first) < 1e-8);
  const ct::array<double, 3> rates{0.1, 0.7, 40};
  const auto batch = ct::jit(ct::vmap(decay, ct::in_axes<0, ct::none, ct::none>))(rates, y0, ts);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) CHECK(std::abs(batch(i, j) - y0 * std::exp(-rates(i) * ts(j))) < 1e-8);
}

TEST_CASE("odeint of a tree with arguments, over run-time times") {
  constexpr auto oscillator = [](auto w, auto ts) {
    const auto one = ct::ones_like(w);
    return ct::odeint([](const auto& s, auto, auto w) { return std::tuple(std::get<1>(s), -w * w * std::get<0>(s)); }, std::tuple(one, 0.0 * one), ts, ct::tolerance<1e-10>, w);
  };
  ct::array<double, ct::dyn> ts({5});
  for (int i = 0; i < 5; ++i) ts(i) = 0.4 * i;
  const auto [x, v] = ct::jit(oscillator)(2.0, ts);
  REQUIRE(x.extent(0) == 5);
  for (int i = 0; i < 5; ++i) {
    CHECK(std::abs(x(i) - std::cos(2 * ts(i))) < 1e-8);
    CHECK(std::abs(v(i) + 2 * std::sin(2 * ts(i))) < 1e-8);
  }
}

TEST_CASE("odeint_rk4: fourth order, and all derivatives") {
  const ct::array<double, 3> ts{0, 0.5, 1};
  const auto [ys, g, gg, t] = ct::jit([](auto k, auto ts) {
    return std::tuple(fixed(k, ts), ct::grad(last)(k, ts), ct::grad(ct::grad(last))(k, ts), std::get<1>(ct::jvp(last, std::tuple(k, ts), std::tuple(1.0 + 0 * k, 0.0 * ts))));
  })(0.8, ts);
  for (int i = 0; i < 3; ++i) CHECK(std::abs(ys(i) - std::exp(-0.4 * ts(i) * ts(i))) < 1e-7);
  CHECK(std::abs(g() + 0.5 * std::exp(-0.4)) < 1e-6);
  CHECK(std::abs(gg() - 0.25 * std::exp(-0.4)) < 1e-6);
  CHECK(std::abs(t() - g()) < 1e-12);
}

namespace {
constexpr auto network_energy = [](auto w, auto u, auto ts) {
  const auto field = [](auto y, auto, auto w, auto u) { return ct::matmul(w, ct::tanh(ct::matmul(u, y))); };
  return ct::mean(ct::square(ct::odeint(field, ct::array<double, 2>{1, 0.5}, ts, ct::tolerance<1e-11>, w, u)));
};
}  // namespace

TEST_CASE("a neural differential equation: the value and the gradient run the way forward once") {
  const ct::array<double, 3> ts{0, 0.5, 1};
  auto w = between<double, 2, 2>(-1, 1), u = between<double, 2, 2>(-1, 1, 1);
  const auto energy = ct::jit(network_energy);
  const auto both = ct::jit(ct::value_and_grad(network_energy, ct::wrt<0, 1>));
  const auto [e, gradients] = both(w, u, ts);
  CHECK(std::abs(e() - energy(w, u, ts)()) < 1e-12);
  for (int k = 0; k < 4; ++k)
    for (auto* x : {&w, &u}) {
      double& moved = x->data()[k];
      const double at = moved, h = 1e-5;
      moved = at + h;
      const double after = energy(w, u, ts)();
      moved = at - h;
      const double before = energy(w, u, ts)();
      moved = at;
      CHECK(std::abs((after - before) / (2 * h) - (x == &w ? std::get<0>(gradients) : std::get<1>(gradients)).data()[k]) < 1e-6);
    }
  const auto steps = both.kernels(w, u, ts);
  int ways = 0;
  for (std::size_t at = 0; (at = steps.find(": while", at)) != std::string::npos; ++at) ++ways;
  CHECK(ways == 2);
}
