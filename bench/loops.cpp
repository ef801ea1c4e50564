/// Loops: what a turn costs, a rigid body of 12 scalar states, an ensemble of Lorenz systems, and an inverse heat problem.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <cotangent/cotangent.hpp>
#include <tbb/parallel_for.h>

#include "harness.hpp"

namespace {

namespace ct = cotangent;

void expect_close(const char* what, double a, double b, double tolerance) {
  if (std::abs(a - b) <= tolerance * std::abs(b)) return;
  std::fprintf(stderr, "loops: %s: the two sides differ: %.17g and %.17g\n", what, a, b);
  std::exit(1);
}

// A recurrence with one multiplication and addition in a turn.

constexpr int turns = 1000000;
constexpr auto recurrence = [](auto a, auto c) { return ct::fori_loop<0, turns>([&](auto, auto c) { return a * c + 1.0; }, c); };
[[gnu::noinline]] double recurrence_by_hand(double a, double c) {
  for (int i = 0; i < turns; ++i) c = std::fma(a, c, 1.0);
  return c;
}

// A rigid body: position, velocity, roll, pitch and yaw, body rates; thrust, torques and drag as parameters.

constexpr int body_steps = 10000;

/// One explicit Euler step, for vars and for doubles.
template <class State, class Parameters> constexpr auto body_step(const State& state, const Parameters& parameters) {
  using std::cos, std::sin;
  const auto& [x, y, z, u, v, w, roll, pitch, yaw, p, q, r] = state;
  const auto& [thrust, l, m, n, drag] = parameters;
  const double dt = 1e-3, gravity = 9.81, ix = 0.02, iy = 0.03, iz = 0.04;
  const auto sa = sin(roll), ca = cos(roll), sb = sin(pitch), cb = cos(pitch), sc = sin(yaw), cc = cos(yaw);
  return std::tuple(x + dt * u, y + dt * v, z + dt * w,                                      //
                    u + dt * (thrust * (ca * sb * cc + sa * sc) - drag * u),                 //
                    v + dt * (thrust * (ca * sb * sc - sa * cc) - drag * v),                 //
                    w + dt * (thrust * ca * cb - gravity - drag * w),                        //
                    roll + dt * (p + sa * sb / cb * q + ca * sb / cb * r),                   //
                    pitch + dt * (ca * q - sa * r), yaw + dt * ((sa * q + ca * r) / cb),     //
                    p + dt * ((l + (iy - iz) * q * r) / ix - drag * p),                      //
                    q + dt * ((m + (iz - ix) * p * r) / iy - drag * q),                      //
                    r + dt * ((n + (ix - iy) * p * q) / iz - drag * r));
}
template <class T> constexpr auto body_start(T zero) {
  return std::tuple(zero, zero, zero, zero, zero, zero, zero + 0.1, zero + 0.05, zero, zero + 0.2, zero, zero + 0.1);
}
constexpr auto sum_of_squares = [](const auto& state) { return std::apply([](const auto&... s) { return (... + (s * s)); }, state); };
constexpr auto body_loss = [](const auto& parameters) {
  const auto start = body_start(std::get<0>(parameters) * 0.0);
  return sum_of_squares(ct::fori_loop<0, body_steps>([&](auto, const auto& s) { return body_step(s, parameters); }, start));
};
using body_parameters = std::tuple<double, double, double, double, double>;
[[gnu::noinline]] double body_by_hand(const body_parameters& parameters) {
  auto state = body_start(0.0);
  for (int i = 0; i < body_steps; ++i) state = body_step(state, parameters);
  return sum_of_squares(state);
}

// Lorenz, "Deterministic nonperiodic flow", J. Atmos. Sci. 20, 1963, with classical Runge-Kutta steps.

constexpr ct::extent trajectories = 65536;

template <class S, class P> constexpr auto lorenz_field(const S& s, const P& parameters) {
  const auto& [x, y, z] = s;
  const auto& [sigma, rho, beta] = parameters;
  return std::tuple(sigma * (y - x), x * (rho - z) - y, x * y - beta * z);
}
template <class S, class K> constexpr auto moved(const S& s, float h, const K& k) {
  return std::tuple(std::get<0>(s) + h * std::get<0>(k), std::get<1>(s) + h * std::get<1>(k), std::get<2>(s) + h * std::get<2>(k));
}
template <class S, class P> constexpr auto lorenz_step(const S& s, const P& p) {
  const float h = 0.01f;
  const auto k1 = lorenz_field(s, p), k2 = lorenz_field(moved(s, h / 2, k1), p), k3 = lorenz_field(moved(s, h / 2, k2), p), k4 = lorenz_field(moved(s, h, k3), p);
  return moved(moved(moved(moved(s, h / 6, k1), h / 3, k2), h / 3, k3), h / 6, k4);
}
template <int Steps> constexpr auto lorenz = [](const auto& start, const auto& parameters) {
  return ct::fori_loop<0, Steps>([&](auto, const auto& s) { return lorenz_step(s, parameters); }, start);
};
template <int Steps> constexpr auto mean_height = [](const auto& parameters, const auto& start) { return ct::mean(std::get<2>(lorenz<Steps>(start, parameters))); };

using ensemble_axis = ct::array<float, trajectories>;
using ensemble = std::tuple<ensemble_axis, ensemble_axis, ensemble_axis>;
using lorenz_parameters = std::tuple<float, float, float>;
ensemble lorenz_start() {
  ensemble s;
  for (int i = 0; i < trajectories; ++i) std::get<0>(s)(i) = 1 + 1e-5f * float(i), std::get<1>(s)(i) = 1, std::get<2>(s)(i) = 20;
  return s;
}
/// All steps of 64 trajectories at a time, whose states the compiler keeps in vector registers.
template <int Steps> void lorenz_by_hand(const ensemble& from, const lorenz_parameters& p, ensemble& to) {
  constexpr int block = 64;
  tbb::parallel_for(0, int(trajectories) / block, [&](int b) {
    std::array<float, block> x, y, z;
    for (int i = 0; i < block; ++i) {
      const auto k = std::size_t(i);
      x[k] = std::get<0>(from)(b * block + i), y[k] = std::get<1>(from)(b * block + i), z[k] = std::get<2>(from)(b * block + i);
    }
    for (int step = 0; step < Steps; ++step)
      for (std::size_t i = 0; i < block; ++i) std::tie(x[i], y[i], z[i]) = lorenz_step(std::tuple(x[i], y[i], z[i]), p);
    for (int i = 0; i < block; ++i) {
      const auto k = std::size_t(i);
      std::get<0>(to)(b * block + i) = x[k], std::get<1>(to)(b * block + i) = y[k], std::get<2>(to)(b * block + i) = z[k];
    }
  });
}

/// The same as a function of one state [3].
constexpr auto lorenz_of_state = [](auto s, auto p) {
  const auto field = [p](auto s) {
    const auto x = s(ct::index<0>), y = s(ct::index<1>), z = s(ct::index<2>);
    return ct::stack<0>(p(ct::index<0>) * (y - x), x * (p(ct::index<1>) - z) - y, x * y - p(ct::index<2>) * z);
  };
  const float h = 0.01f;
  const auto step = [&](auto, auto s) {
    const auto k1 = field(s), k2 = field(s + h / 2 * k1), k3 = field(s + h / 2 * k2), k4 = field(s + h * k3);
    return s + h / 6 * k1 + h / 3 * k2 + h / 3 * k3 + h / 6 * k4;
  };
  return ct::fori_loop<0, 1000>(step, s);
};

// u_t = div(k grad u) without flux through the edges, explicit in time; the misfit at the end by the diffusivity k.

constexpr ct::extent cells = 64;
constexpr int heat_steps = 500;

constexpr auto heat_step = [](auto u, auto k) {
  using namespace ct;
  const auto upper = [](auto a) { return slice<range<1, cells>, full_extent>(a); };
  const auto lower = [](auto a) { return slice<range<0, cells - 1>, full_extent>(a); };
  const auto right = [](auto a) { return slice<full_extent, range<1, cells>>(a); };
  const auto left = [](auto a) { return slice<full_extent, range<0, cells - 1>>(a); };
  const auto down = 0.5f * (upper(k) + lower(k)) * (upper(u) - lower(u)), across = 0.5f * (right(k) + left(k)) * (right(u) - left(u));
  return u + 0.2f * (pad<low<0, 0>, high<1, 0>>(down, 0.0f) - pad<low<1, 0>, high<0, 0>>(down, 0.0f) +
                     pad<low<0, 0>, high<0, 1>>(across, 0.0f) - pad<low<0, 1>, high<0, 0>>(across, 0.0f));
};
constexpr auto heat_loss = [](auto k, auto start, auto seen) {
  const auto step = [&](auto u, auto) { return std::tuple(heat_step(u, k), ct::none); };
  return ct::sum(ct::square(std::get<0>(ct::checkpointed_scan<2>(step, start, ct::none, ct::length<heat_steps>)) - seen));
};
using grid = ct::array<float, cells, cells>;

}  // namespace

int main(int argc, char** argv) {
  bench::init(argc, argv);
  ct::set_num_threads(2);

  bench::compare("loops", "1,000,000 turns of a recurrence", 2, "hand-written loop", [] {
    expect_close("recurrence", ct::jit(recurrence)(0.99, 0.5)(), recurrence_by_hand(0.99, 0.5), 1e-12);
    double a = 0.99, c = 0.5, d = 0.99, e = 0.5;
    return bench::sides{[=]() mutable {
                          benchmark::DoNotOptimize(a);
                          benchmark::DoNotOptimize(c);
                          return ct::jit(recurrence)(a, c);
                        },
                        [=]() mutable {
                          benchmark::DoNotOptimize(d);
                          benchmark::DoNotOptimize(e);
                          return recurrence_by_hand(d, e);
                        }};
  });

  const body_parameters parameters(9.9, 0.001, -0.001, 0.0005, 0.1);
  bench::compare("loops", "rigid body, 10,000 steps, forward", 2, "hand-written loop", [=] {
    expect_close("rigid body", ct::jit(body_loss)(parameters)(), body_by_hand(parameters), 1e-9);
    return bench::sides{[=] { return ct::jit(body_loss)(parameters); }, [=] { return body_by_hand(parameters); }};
  });
  bench::measure("loops", "rigid body, 10,000 steps, grad", 2, [=] { return [=] { return ct::jit(ct::grad(body_loss))(parameters); }; });

  const lorenz_parameters chaotic(10.0f, 28.0f, 8.0f / 3);
  const auto start = std::make_shared<const ensemble>(lorenz_start());
  bench::compare("loops", "65,536 Lorenz systems, 1,000 steps", 2, "hand-written loop", [=] {
    // The flow is chaotic: only a short run can be compared.
    const auto to = std::make_shared<ensemble>(*start);
    lorenz_by_hand<100>(*start, chaotic, *to);
    expect_close("Lorenz", std::get<2>(ct::jit(lorenz<100>)(*start, chaotic))(777), std::get<2>(*to)(777), 1e-3);
    return bench::sides{[=] { return ct::jit(lorenz<1000>)(*start, chaotic); }, [=] { lorenz_by_hand<1000>(*start, chaotic, *to); }};
  }, 15);
  bench::compare("loops", "65,536 Lorenz systems, vmap of a state [3]", 2, "hand-written loop", [=] {
    const auto to = std::make_shared<ensemble>(*start);
    const auto states = std::make_shared<ct::array<float, trajectories, 3>>();
    for (int i = 0; i < trajectories; ++i) (*states)(i, 0) = std::get<0>(*start)(i), (*states)(i, 1) = 1, (*states)(i, 2) = 20;
    const ct::array<float, 3> p{10.0f, 28.0f, 8.0f / 3};
    return bench::sides{[=] { return ct::jit(ct::vmap(lorenz_of_state, ct::in_axes<0, ct::none>))(*states, p); },
                        [=] { lorenz_by_hand<1000>(*start, chaotic, *to); }};
  }, 15);
  bench::measure("loops", "65,536 Lorenz systems, 100 steps, grad", 2, [=] { return [=] { return ct::jit(ct::grad(mean_height<100>))(chaotic, *start); }; }, 15);

  const auto k = std::make_shared<grid>(), u = std::make_shared<grid>(), seen = std::make_shared<grid>();
  for (int i = 0; i < cells * cells; ++i) k->data()[i] = 0.5f + 0.3f * std::sin(0.01f * float(i)), u->data()[i] = std::sin(0.37f * float(i));
  bench::measure("loops", "heat equation, 64 x 64, 500 steps, forward", 2, [=] { return [=] { return ct::jit(heat_loss)(*k, *u, *seen); }; });
  bench::measure("loops", "heat equation, 64 x 64, 500 steps, grad", 2, [=] { return [=] { return ct::jit(ct::grad(heat_loss))(*k, *u, *seen); }; });
  bench::memory("loops", "heat equation, 64 x 64, 500 steps, grad, peak memory", 2, ct::jit(ct::grad(heat_loss)).cost(*k, *u, *seen).peak_bytes);
  return bench::run(argc, argv);
}
