/// Stencils: rolled and padded arrays are read where they lie, at another index, and so are those of the derivatives.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

template <class... A> auto kernels_of(const auto& f, const A&... x) { return ct::jit(f).cost(x...).kernels; }

/// Diffusion and a nonlinear flux on a torus.
constexpr auto torus_step = [](auto u, auto k) {
  const auto flux = k * u * u + 0.5 * u;
  const auto around = ct::roll<0>(u, 1) + ct::roll<0>(u, -1) + ct::roll<1>(u, 1) + ct::roll<1>(u, -1);
  return u + 0.1 * (around - 4.0 * u) - 0.05 * (ct::roll<1>(flux, -1) - ct::roll<1>(flux, 1) + ct::roll<0>(flux, -2) - ct::roll<0>(flux, 3));
};
/// The same on interior points alone, the others kept, written as slices and pads.
constexpr auto walls_step = [](auto u, auto k) {
  const auto inner = [](auto x) { return ct::slice<ct::range<1, -1>, ct::range<1, -1>>(x); };
  const auto along = ct::slice<ct::full_extent, ct::range<1, -1>>(u);
  const auto across = ct::slice<ct::range<1, -1>>(u);
  const auto around = ct::slice<ct::range<2, 1000>>(along) + ct::slice<ct::range<0, -2>>(along) + ct::slice<ct::full_extent, ct::range<2, 1000>>(across) + ct::slice<ct::full_extent, ct::range<0, -2>>(across);
  return u + ct::pad<ct::low<1, 1>, ct::high<1, 1>>(inner(k) * (around - 4.0 * inner(u)), 0.0);
};
template <class F> struct pullback {
  template <class G, class... X> constexpr auto operator()(const G& g, const X&... x) const { return std::get<1>(ct::vjp(F{}, x...))(g); }
};
constexpr pullback<decltype(torus_step)> torus_pullback;
constexpr pullback<decltype(walls_step)> walls_pullback;

/// Windows of windows, of what kernels do not compute, and of what is expensive.
constexpr auto chains = [](auto x) {  // [r, c]
  const auto twice = ct::roll<0>(ct::roll<1>(x, 5) + x, 2) - ct::roll<1>(ct::roll<1>(x, -5), 3);
  const auto differences = x - ct::roll<1>(x, 1);
  const auto fourth = differences - ct::roll<1>(differences, 1);
  const auto of_view = ct::roll<1>(ct::transpose(ct::roll<0>(ct::transpose(x), 1)), 2) * ct::flip<1>(ct::roll<1>(x, 4));
  const auto expensive = ct::roll<0>(ct::exp(x), 1) + ct::roll<1>(ct::exp(x), 1);
  const auto mixed = ct::pad<ct::low<1, 0>, ct::high<0, 2>>(ct::roll<1>(x, 1), 0.0) * ct::pad<ct::low<0, 2>, ct::high<1, 0>>(2.0 * x * x, 0.0);
  const auto cut = ct::slice<ct::full_extent, ct::range<0, 2>>(ct::pad<ct::low<0, 1>, ct::high<0, 0>>(x, 0.0)) + ct::pad<ct::low<0, 3>, ct::high<0, -1000>>(ct::broadcast_to<1, 1000>(x(0, 0)), 0.0)(0, 0);
  const auto nested = ct::pad<ct::low<0, 2>, ct::high<0, 1>>(ct::pad<ct::low<0, -1>, ct::high<0, -1>>(x, 0.0), 0.0) + 1.0 * ct::pad<ct::low<0, 2>, ct::high<0, -1>>(x, 0.0);
  return std::tuple(twice, fourth, of_view, expensive, mixed, cut, nested, ct::sum(x * ct::roll<0>(x, 1), ct::axis<0>), ct::max(ct::roll<1>(x, 1) + ct::roll<0>(x, 1), ct::axis<1>));
};

/// Indices, masks, integers, numbers that every element shares, padding that is not zero, products of what was rolled.
constexpr auto kinds = [](auto x, auto n, auto c) {  // [5, 7] int32[5, 7] scalar
  const auto i = ct::iota<std::int32_t, 7>(x);
  const auto edge = ct::where(ct::roll<0>(i == 2, 3), 1.0, 0.0);
  const auto place = ct::roll<0>(2 * i, -3);
  const auto counts = ct::roll<1>(n, 1) + ct::pad<ct::low<1, 1>, ct::high<-1, -1>>(n, 0);
  const auto shared = ct::roll<0>(c * x, 1) + ct::roll<1>(c + 0.0 * x, 1) + ct::pad<ct::low<1, 0>, ct::high<-1, 0>>(c * ct::ones_like(x), 0.0);
  const auto filled = 2.0 * ct::pad<ct::low<1, 0>, ct::high<0, 1>>(x, 7.0) + ct::pad<ct::low<0, 1>, ct::high<1, 0>>(x, c);
  const auto product = ct::matmul(ct::transpose(ct::roll<0>(x, 1)), ct::roll<1>(x, 2)) + ct::roll<1>(ct::matmul(ct::transpose(x), x), 1);
  return std::tuple(edge, place, counts, shared, filled, product, ct::roll<1>(x, 3), ct::cumsum(ct::roll<1>(x, 1), ct::axis<1>), ct::roll<0>(n > 2, 2));
};

template <class T, int Rows, int Columns> void check_steps() {
  constexpr double tolerance = std::is_same_v<T, float> ? 2e-6 : 1e-14;
  const auto u = between<T, Rows, Columns>(-1, 1), k = between<T, Rows, Columns>(0, 1, 1), g = between<T, Rows, Columns>(-1, 1, 2);
  check_jit(torus_step, tolerance, u, k);
  check_jit(torus_pullback, tolerance, g, u, k);
  if constexpr (Rows > 1 && Columns > 1) {
    check_jit(walls_step, tolerance, u, k);
    check_jit(walls_pullback, tolerance, g, u, k);
  }
}

}  // namespace

TEST_CASE("Jacobians of rolls along a run-time extent") {
  const auto rolled = [](auto u) { return ct::roll<0>(u, 1); };
  const auto energy = [](auto u) { return ct::sum(ct::square(u - ct::roll<0>(u, 2))) / 2; };
  for (const ct::extent n : {1, 2, 5, 33}) {
    ct::array<double, ct::dyn> u({n});
    for (ct::extent i = 0; i < n; ++i) u(i) = std::sin(double(i));
    check_jit(ct::jacfwd(rolled), 0, u);
    check_jit(ct::jacrev(rolled), 0, u);
    check_jit(ct::hessian(energy), 1e-14, u);
  }
}

TEST_CASE("a step of a stencil and its adjoint are one kernel each, of rows shorter and longer than vectors") {
  const auto u = between<float, 67, 131>(-1, 1);
  CHECK(kernels_of(torus_step, u, u) == 1);
  CHECK(kernels_of(torus_pullback, u, u, u) == 1);
  CHECK(kernels_of(walls_step, u, u) == 1);
  check_steps<float, 67, 131>();
  check_steps<double, 5, 64>();
  check_steps<float, 4, 3>();
  check_steps<double, 1, 1>();
  check_steps<double, 2, 1>();
}

TEST_CASE("derivatives of stencils") {
  check_derivatives(torus_step, std::tuple(between<double, 5, 7>(-1, 1), between<double, 5, 7>(0, 1, 1)));
  check_derivatives(walls_step, std::tuple(between<double, 5, 7>(-1, 1), between<double, 5, 7>(0, 1, 1)));
}

TEST_CASE("windows of windows, of views and of what is stored") {
  check_jit(chains, 1e-14, between<double, 9, 37>(-1, 1));
  check_jit(chains, 2e-6, between<float, 70, 3>(-1, 1));
  check_rules_of(chains, std::tuple(between<double, 3, 5>(-1, 1)));
  constexpr auto fourth = [](auto x) {
    const auto d = ct::roll<0>(x, 1) + ct::roll<0>(x, -1) - 2.0f * x;
    return ct::roll<0>(d, 1) + ct::roll<0>(d, -1) - 2.0f * d;
  };
  CHECK(kernels_of(fourth, between<float, 100>(-1, 1)) == 1);
  check_jit(fourth, 2e-6, between<float, 100>(-1, 1));
}

namespace {
/// What one window alone shows moves behind it, whatever it costs and whatever it is where it would not be defined.
constexpr auto shown_once = [](auto x) {  // [r, c]
  const auto expensive = ct::roll<1>(ct::log(x * x + 1.0) * ct::exp(ct::sin(x)) / (2.0 + ct::cos(x)), 3);
  const auto edges = ct::pad<ct::low<1, 2>, ct::high<2, 0>>(1.0 / x - ct::log(ct::abs(x)), 0.0);
  const auto one_side = ct::pad<ct::low<0, 1>, ct::high<0, 0>>(ct::exp(x) * x + ct::cos(3.0 * x), 0.0);
  const auto nested = ct::pad<ct::low<1, 0>, ct::high<0, 1>>(ct::cos(ct::pad<ct::low<0, 1>, ct::high<1, 0>>(ct::exp(x), 0.0)) + 1.0, 0.0);
  const auto cut = ct::pad<ct::low<2, 0>, ct::high<-1, 0>>(ct::exp(x) + 1.0, 0.0);
  const auto wide = ct::pad<ct::low<100, 0>, ct::high<0, 0>>(ct::exp(x) + 1.0, 0.0);
  const auto whole = ct::pad<ct::low<0, 1>, ct::high<1, 0>>(ct::astype<std::int32_t>(3.0 * x) + 1, 0);
  return std::tuple(expensive + x, 2.0 * edges, one_side - 1.0, nested * nested, cut + 0.5, wide * 2.0, whole - 1, ct::sum(1.0 + ct::pad<ct::low<1, 1>, ct::high<1, 1>>(ct::cos(x), 0.0), ct::axis<0>));
};
constexpr auto rosenbrock = [](auto x) {
  const auto a = ct::slice<ct::range<0, -1>>(x), b = ct::slice<ct::range<1, 1000000>>(x);
  return ct::sum(100.0 * ct::square(b - ct::square(a)) + ct::square(1.0 - a));
};
/// The energy of differences of an array with zeros around it.
constexpr auto bounded_energy = [](auto u, auto k) {
  const auto p = ct::pad<ct::low<1, 1>, ct::high<1, 1>>(u, 0.0);
  const auto down = ct::slice<ct::range<1, 1000000>, ct::full_extent>(p) - ct::slice<ct::range<0, -1>, ct::full_extent>(p);
  const auto right = ct::slice<ct::full_extent, ct::range<1, 1000000>>(p) - ct::slice<ct::full_extent, ct::range<0, -1>>(p);
  return ct::sum(k * ct::square(down)) + ct::sum(ct::square(right));
};
/// The same along one axis, of what is a slice of a slice and costs more.
constexpr auto bounded_length = [](auto u) {
  const auto p = ct::pad<ct::low<1, 1>, ct::high<1, 1>>(u, 0.0);
  const auto down = ct::slice<ct::range<1, 1000000>, ct::full_extent>(p) - ct::slice<ct::range<0, -1>, ct::full_extent>(p);
  return ct::sum(ct::sqrt(1.0 + ct::square(ct::slice<ct::full_extent, ct::range<1, -1>>(down))));
};
}  // namespace

TEST_CASE("what one window alone shows is computed where it is shown") {
  check_jit(shown_once, 1e-13, between<double, 9, 37>(-1, 1));
  check_jit(shown_once, 1e-5, between<float, 5, 64>(-1, 1));
  check_jit(shown_once, 1e-13, between<double, 1, 1>(-1, 1));
  for (int n : {0, 1, 3, 40}) {
    ct::array<double, ct::dyn, 5> x({n, 5});
    std::copy_n(between<double, 200>(-1, 1).data(), 5 * n, x.data());
    check_jit(shown_once, 1e-13, x);
  }
  check_rules_of([](auto x) { return std::tuple(std::get<0>(shown_once(x)), std::get<2>(shown_once(x)), std::get<3>(shown_once(x)), std::get<7>(shown_once(x))); }, std::tuple(between<double, 3, 5>(-1, 1)));
  CHECK(kernels_of(ct::grad(rosenbrock), between<float, 100>(-1, 1)) == 1);
  check_jit(ct::grad(rosenbrock), 1e-13, between<double, 1001>(-1, 1));
  check_jit(ct::grad(rosenbrock), 1e-5, between<float, 40>(-1, 1));
  check_jit(ct::grad(rosenbrock), 1e-13, between<double, 2>(-1, 1));
}

TEST_CASE("slices of what is computed from windows are computed from slices of them") {
  CHECK(kernels_of(ct::grad(bounded_energy), between<double, 40, 50>(-1, 1), ct::array<double>(0.3)) == 1);
  check_jit(ct::grad(bounded_energy), 1e-13, between<double, 40, 50>(-1, 1), ct::array<double>(0.3));
  check_jit(ct::grad(bounded_energy), 1e-5, between<float, 3, 64>(-1, 1), ct::array<float>(0.3f));
  check_jit(ct::grad(bounded_energy), 1e-13, between<double, 1, 1>(-1, 1), ct::array<double>(0.3));
  check_rules_of(bounded_energy, std::tuple(between<double, 4, 5>(-1, 1), ct::array<double>(0.3)));
  check_jit(ct::value_and_grad(bounded_length), 1e-13, between<double, 9, 70>(-1, 1));
  check_jit(ct::value_and_grad(bounded_length), 1e-5, between<float, 33, 33>(-1, 1));
}

TEST_CASE("windows into indices, masks, integers and numbers, and with padding that is not zero") {
  const auto x = between<double, 5, 7>(-1, 1);
  ct::array<std::int32_t, 5, 7> n;
  for (int i = 0; i < 35; ++i) n.data()[i] = i % 6 - 1;
  check_jit(kinds, 1e-14, x, n, ct::array<double>(0.7));
}

namespace {
template <int Steps> constexpr auto scanned = [](auto u, auto k) {
  const auto turn = [=](auto v, auto) { return std::tuple(torus_step(v, k), ct::none); };
  return std::get<0>(ct::scan(turn, u, ct::none, ct::length<Steps>));
};
constexpr auto unrolled = [](auto u, auto k) { return torus_step(torus_step(torus_step(u, k), k), k); };
template <int Steps> constexpr auto energy = [](auto u, auto k) { return ct::sum(ct::square(scanned<Steps>(u, k))); };
constexpr auto unrolled_energy = [](auto u, auto k) { return ct::sum(ct::square(unrolled(u, k))); };
}  // namespace

TEST_CASE("one element of zeros is a number that takes a few operations") {
  constexpr auto element = [](auto x) {
    const auto all = ct::concatenate<0>(2.0 * x, x);
    return ct::square(all(ct::index<12>)) * all(ct::index<-100>) + ct::sum(ct::sin(all));
  };
  constexpr auto put = [](auto x, auto table, auto i) {
    const auto number = ct::reshape<1, 1>(ct::sum(x(ct::full_extent, ct::index<2>)) * 3.0), entry = ct::reshape<1, 1>(table(i));
    return std::tuple(ct::exp(x) + ct::pad<ct::low<3, 7>, ct::high<46, 62>>(number, 0.0), x * ct::pad<ct::low<0, 69>, ct::high<49, 0>>(entry, 0.0),
                      ct::cos(x) - ct::pad<ct::low<-1, 0>, ct::high<50, 69>>(ct::exp(entry), 0.0));
  };
  check_jit(ct::value_and_grad(element), 1e-13, between<double, 400>(-1, 1));
  check_jit(put, 1e-13, between<double, 50, 70>(-1, 1), between<double, 9>(-1, 1, 1), 4);
}

TEST_CASE("stencils in loops, on donated arrays and batched") {
  const auto u = between<double, 33, 40>(-1, 1), k = between<double, 33, 40>(0, 1, 1);
  const auto want = ct::jit(unrolled)(u, k), have = ct::jit(scanned<3>)(u, k);
  const auto want_gradient = ct::jit(ct::grad(unrolled_energy, ct::wrt<0, 1>))(u, k), have_gradient = ct::jit(ct::grad(energy<3>, ct::wrt<0, 1>))(u, k);
  const auto close = [](const auto& a, const auto& b) {
    double most = 0;
    for (ct::extent i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a.data()[i] - b.data()[i]));
    return most < 1e-12;
  };
  CHECK(close(have, want));
  CHECK(close(std::get<0>(have_gradient), std::get<0>(want_gradient)));
  CHECK(close(std::get<1>(have_gradient), std::get<1>(want_gradient)));
  auto donated = u;
  CHECK(ct::jit(torus_step)(std::move(donated), k) == ct::jit(torus_step)(u, k));
  const auto both = ct::stack<0>(u, k);
  const auto batched = ct::jit(ct::vmap(torus_step, ct::in_axes<0, ct::none>))(both, k);
  for (int i = 0; i < 33; ++i)
    for (int j = 0; j < 40; ++j) CHECK(batched(0, i, j) == ct::jit(torus_step)(u, k)(i, j));
}

namespace {
/// A step of two fields on staggered grids, by differences that are padded with zeros: no array is one that shows all of another.
template <int M, int N> constexpr auto staggered = [](auto e, auto h, auto c) {  // [m,n] each
  const auto down = [](auto f) { return f(ct::range<1, M>) - f(ct::range<0, M - 1>); };
  const auto across = [](auto f) { return f(ct::full_extent, ct::range<1, N>) - f(ct::full_extent, ct::range<0, N - 1>); };
  const auto h1 = h + 0.5f * ct::pad<ct::low<0, 0>, ct::high<1, 0>>(down(e)), g1 = h - 0.5f * ct::pad<ct::low<0, 0>, ct::high<0, 1>>(across(e));
  const auto e1 = e + c * (ct::pad<ct::low<1, 0>, ct::high<0, 0>>(down(h1)) - ct::pad<ct::low<0, 1>, ct::high<0, 0>>(across(g1)));
  return std::tuple(e1, h1, ct::pad<ct::low<2, 3>, ct::high<1, 0>>(ct::slice<ct::range<1, M>, ct::range<2, N>>(ct::pad<ct::low<3, 1>, ct::high<0, 2>>(h1))));
};
}  // namespace

TEST_CASE("differences padded with zeros, of differences padded with zeros, are one kernel that copies nothing") {
  check_jit(staggered<5, 7>, 1e-13, between<double, 5, 7>(-1, 1), between<double, 5, 7>(-1, 1, 1), between<double, 5, 7>(-1, 1, 2));
  check_jit(staggered<3, 40>, 1e-13, between<double, 3, 40>(-1, 1), between<double, 3, 40>(-1, 1, 1), between<double, 3, 40>(-1, 1, 2));
  check_rules_of(staggered<4, 6>, std::tuple(between<double, 4, 6>(-1, 1), between<double, 4, 6>(-1, 1, 1), between<double, 4, 6>(-1, 1, 2)));
  check_jit(staggered<67, 130>, 1e-5, between<float, 67, 130>(-1, 1), between<float, 67, 130>(-1, 1, 1), between<float, 67, 130>(-1, 1, 2));
  const ct::array<float, 256, 256> x;
  const auto without_last = [](auto e, auto h, auto c) { const auto [e1, h1, rest] = staggered<256, 256>(e, h, c); return std::tuple(e1, h1); };
  CHECK(ct::jit(without_last).kernels(x, x, x).find("1 steps, arena of 0 bytes") != std::string::npos);
}
