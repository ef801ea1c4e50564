/// Swing-up: which forces on a cart make the pendulum that hangs from it stand upright three seconds later, everything at
/// rest? 150 forces, rolled out by ct::scan with Runge-Kutta steps, found by Gauss-Newton with Levenberg-Marquardt damping:
/// ct::jacfwd gives the Jacobian of all residuals, a Cholesky factorization solves for the step.
///
///     ./examples/run pendulum_control [--steps N] [--threads N] [--out DIR]
///
/// Writes DIR/pendulum_control.svg: the angle, the cart's place and the force.

#include <chrono>
#include <cmath>
#include <numeric>

#include <cotangent/cotangent.hpp>

#include "support/options.hpp"
#include "support/svg.hpp"

namespace ct = cotangent;

// ---- the model: everything that is traced ----

constexpr ct::extent N = 150;     // forces, each for 0.02 s
constexpr double dt = 0.02, pi = 3.14159265358979323846;
constexpr double cart = 1, bob = 0.2, length = 0.5, gravity = 9.81;  // kg, kg, m, m/s^2
constexpr double price = 0.02;    // of a newton, in units of the residuals

template <template <class, ct::extent...> class A> struct motion {
  A<double> place, angle, speed, spin;  // angle 0 hangs, angle pi stands
};

/// A point mass on a rod under a cart, without friction (Tedrake, Underactuated Robotics, section 3.2).
constexpr auto velocity = [](const auto& s, auto force) {
  const auto sine = ct::sin(s.angle);
  const auto cosine = ct::cos(s.angle);
  const auto mass = cart + bob * sine * sine;
  const auto acceleration = (force + bob * sine * (length * s.spin * s.spin + gravity * cosine)) / mass;
  const auto turning = -(force * cosine + bob * length * s.spin * s.spin * cosine * sine + (cart + bob) * gravity * sine) / (length * mass);
  return motion<ct::var>{s.speed, s.spin, acceleration, turning};
};
constexpr auto moved = [](const auto& s, double h, const auto& k) { return ct::tree_map([h](auto a, auto b) { return a + h * b; }, s, k); };
constexpr auto rk4_step = [](const auto& s, auto force) {
  const auto k1 = velocity(s, force);
  const auto k2 = velocity(moved(s, dt / 2, k1), force);
  const auto k3 = velocity(moved(s, dt / 2, k2), force);
  const auto k4 = velocity(moved(s, dt, k3), force);
  const auto next = ct::tree_map([](auto a, auto a1, auto a2, auto a3, auto a4) { return a + (dt / 6) * (a1 + 2 * a2 + 2 * a3 + a4); }, s, k1, k2, k3, k4);
  return std::tuple(next, std::tuple(next.place, next.angle));
};

/// From hanging at rest: the last motion, and the places and angles after each step.
constexpr auto roll_out = [](auto forces) {
  const auto zero = 0 * forces(ct::index<0>);
  return ct::scan(rk4_step, motion<ct::var>{zero, zero, zero, zero}, forces);
};

/// What should be small: the price of every force, and at the end the distance from standing still in the middle.
constexpr auto residuals_at = [](auto forces, const auto& last) {
  return ct::concatenate<0>(price * forces, 10 * ct::stack<0>(last.place, last.angle - pi, last.speed, last.spin));
};
constexpr auto residuals = [](auto forces) { return residuals_at(forces, std::get<0>(roll_out(forces))); };

/// Half the sum of squares of the residuals r, its gradient J^T r, the curvature J^T J of Gauss and Newton, and the motion.
constexpr auto expand = [](auto forces) {
  const auto motion = roll_out(forces);
  const auto r = residuals_at(forces, std::get<0>(motion));
  const auto j = ct::jacfwd(residuals)(forces);  // [N + 4, N]
  return std::tuple(0.5 * ct::sum(r * r), ct::matmul(r, j), ct::matmul(ct::transpose(j), j), motion);
};

// ---- the optimization ----

/// The solution x of a x = b for a symmetric positive definite a, by Cholesky's factorization a = l l^T.
ct::array<double, N> solve(ct::array<double, N, N> a, ct::array<double, N> b) {
  auto& l = a;  // in the lower triangle
  for (ct::extent j = 0; j < N; ++j) {
    for (ct::extent k = 0; k < j; ++k)
      for (ct::extent i = j; i < N; ++i) l(i, j) -= l(i, k) * l(j, k);
    const double root = std::sqrt(l(j, j));
    for (ct::extent i = j; i < N; ++i) l(i, j) /= root;
  }
  for (ct::extent i = 0; i < N; ++i) {
    for (ct::extent k = 0; k < i; ++k) b(i) -= l(i, k) * b(k);
    b(i) /= l(i, i);
  }
  for (ct::extent i = N; i-- > 0;) {
    for (ct::extent k = i + 1; k < N; ++k) b(i) -= l(k, i) * b(k);
    b(i) /= l(i, i);
  }
  return b;
}

int run(int steps, const std::string& out) {
  const std::string picture = out + "/pendulum_control.svg";
  examples::check_writable(picture);

  const auto evaluate = ct::jit(expand);
  ct::array<double, N> forces;  // the first guess: to and fro
  for (ct::extent i = 0; i < N; ++i) forces(i) = 3 * std::sin(2 * pi * double(i) * dt / 1.4);
  auto [objective, gradient, curvature, motion] = evaluate(forces);
  double damping = 0.01;
  std::printf("first guess     objective %12.6f\n", double(objective));
  const auto length_of = [](const auto& v) { return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0)); };
  const auto start = std::chrono::steady_clock::now();
  int taken = 0;
  while (taken < steps && length_of(gradient) > 1e-6) {
    // Levenberg (1944), Marquardt (1963): a step that does not help is tried again with more damping.
    auto damped = curvature;
    for (ct::extent i = 0; i < N; ++i) damped(i, i) += damping;
    const ct::array<double, N> step = solve(damped, gradient);
    ct::array<double, N> trial = forces;
    for (ct::extent i = 0; i < N; ++i) trial(i) -= step(i);
    auto [reached, next_gradient, next_curvature, next_motion] = evaluate(trial);
    const bool better = double(reached) < double(objective);
    if (better) forces = trial, objective = reached, gradient = next_gradient, curvature = next_curvature, motion = next_motion;
    damping *= better ? 0.2 : 3;
    if (++taken <= 5 || taken % 100 == 0) {
      std::printf("step %4d/%d  objective %12.6f  gradient %.1e  damping %.1e\n", taken, steps, double(objective), length_of(gradient), damping);
      std::fflush(stdout);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  const auto& [last, path] = motion;
  const auto& [places, angles] = path;
  examples::curve angle{"angle", {0}, {0}}, place{"cart", {0}, {0}}, force{"force", {}, {}};
  double strongest = 0;
  for (ct::extent i = 0; i < N; ++i) {
    const double end = double(i + 1) * dt;
    angle.x.push_back(end), angle.y.push_back(angles(i) * 180 / pi);
    place.x.push_back(end), place.y.push_back(places(i));
    force.x.push_back(end - dt), force.y.push_back(forces(i));
    force.x.push_back(end), force.y.push_back(forces(i));
    strongest = std::max(strongest, std::abs(forces(i)));
  }
  const std::vector<examples::panel> panels{{"angle in degrees: 180 stands", {angle}, false},
                                            {"place of the cart in metres", {place}, false},
                                            {"force in newtons", {force}, false}};
  examples::write_file(picture, examples::line_chart("Swing-up of a pendulum on a cart", "150 forces by Gauss-Newton through ct::scan", "seconds", panels));
  double distance = 0;
  for (const double d : {double(last.place), double(last.angle) - pi, double(last.speed), double(last.spin)}) distance = std::hypot(distance, d);
  std::printf("%d steps in %.2f s; curves: %s\n", taken, seconds, picture.c_str());
  std::printf("after %.1f s the pendulum stands at %.2f degrees, %.1e from rest; the strongest force is %.2f N, the gradient %.1e\n", N * dt,
              double(last.angle) * 180 / pi, distance, strongest, length_of(gradient));
  if (!(distance < 0.02 && length_of(gradient) < 1e-3)) throw ct::error("the pendulum does not stand still at the end, or the forces are not the best ones");
  return 0;
}

int main(int argc, char** argv) {
  return examples::guarded("pendulum_control", [&] {
    int steps = 2000, threads = 0;
    std::string out = ".";
    examples::option_parser().number("--steps", steps, 1).number("--threads", threads, 1).folder("--out", out).parse(argc, argv);
    if (threads > 0) ct::set_num_threads(threads);
    return run(steps, out);
  });
}
