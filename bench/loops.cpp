/// Loops: what a turn costs, a rigid body of 12 scalar states, and an inverse heat problem.

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

  const auto k = std::make_shared<grid>(), u = std::make_shared<grid>(), seen = std::make_shared<grid>();
  for (int i = 0; i < cells * cells; ++i) k->data()[i] = 0.5f + 0.3f * std::sin(0.01f * float(i)), u->data()[i] = std::sin(0.37f * float(i));
  bench::measure("loops", "heat equation, 64 x 64, 500 steps, forward", 2, [=] { return [=] { return ct::jit(heat_loss)(*k, *u, *seen); }; });
  bench::measure("loops", "heat equation, 64 x 64, 500 steps, grad", 2, [=] { return [=] { return ct::jit(ct::grad(heat_loss))(*k, *u, *seen); }; });
  bench::memory("loops", "heat equation, 64 x 64, 500 steps, grad, peak memory", 2, ct::jit(ct::grad(heat_loss)).cost(*k, *u, *seen).peak_bytes);
  return bench::run(argc, argv);
}
