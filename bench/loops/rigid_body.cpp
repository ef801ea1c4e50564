/// A rigid body: position, velocity, roll, pitch and yaw, body rates; thrust, torques and drag as parameters.

#include "loops.hpp"

namespace loops {
namespace {

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

}  // namespace

void add_rigid_body() {
  const body_parameters parameters(9.9, 0.001, -0.001, 0.0005, 0.1);
  bench::compare("loops", "rigid body, 10,000 steps, forward", 2, "hand-written loop", [=] {
    expect_close("rigid body", ct::jit(body_loss)(parameters)(), body_by_hand(parameters), 1e-9);
    return bench::sides{[=] { return ct::jit(body_loss)(parameters); }, [=] { return body_by_hand(parameters); }};
  });
  bench::measure("loops", "rigid body, 10,000 steps, grad", 2, [=] { return [=] { return ct::jit(ct::grad(body_loss))(parameters); }; });
}

}  // namespace loops
