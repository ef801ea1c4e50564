/// PARTICLE: the control w, found by gradient descent, with which a charged particle that two charges push away crosses the x axis
/// at the origin. Its path is Euler's method on the gradient of the potential. The derivative by w goes forward through the path,
/// the one of the potential in reverse ("fr").

#include "descent.hpp"

namespace gradbench {
namespace {

constexpr double time_step = 0.1;

constexpr auto potential = [](auto x, auto w) {
  const auto from = [](auto x, auto y) { return 1.0 / ct::sqrt(x * x + y * y); };
  const auto x0 = x(ct::index<0>) - 10.0, x1 = x(ct::index<1>);
  return from(x0, x1 - (10.0 - w)) + from(x0, x1);
};
/// The square of where the path crosses the axis.
constexpr auto missed = [](auto w) {
  const auto zero = 0.0 * w;
  const auto above = [](auto s) { return (std::get<0>(s) + time_step * std::get<1>(s))(ct::index<1>) > 0; };
  const auto step = [=](auto s) {
    const auto [x, v] = s;
    return std::tuple(x + time_step * v, v - time_step * ct::grad(potential)(x, w));
  };
  const auto [x, v] = ct::while_loop(above, step, std::tuple(ct::stack<0>(zero, zero + 8.0), ct::stack<0>(zero + 0.75, zero)));
  const auto last = x + time_step * v;
  return ct::square(last(ct::index<0>) - last(ct::index<1>) / v(ct::index<1>) * v(ct::index<0>));
};
constexpr auto control = [](auto w) { return argmin(missed, ct::jacfwd(missed), w); };

struct particle {
  using number = std::array<double, 1>;
  ct::array<double> start, place, result;

  void ours() { ct::jit(control).into(result)(start); }
  double difference() const { return gradbench::difference(numbers(result), numbers(place)); }
  double slope_error() {
    ct::array<double> g;
    path<true>(start(), g());
    return gradbench::slope_error([this] { double unused; return path<false>(start(), unused); }, {{numbers(start), numbers(g)}});
  }

  /// The value of `missed`, and with Derivative its derivative: tangents of x and v go along.
  template <bool Derivative> static double path(double w, double& derivative) {
    double x[2] = {0, 8}, v[2] = {0.75, 0}, dx[2] = {}, dv[2] = {};
    for (;;) {
      double a[2] = {}, da[2] = {};
      for (int charge = 0; charge < 2; ++charge) {
        const double r[2] = {x[0] - 10, x[1] - (charge ? 0 : 10 - w)}, dr[2] = {dx[0], dx[1] + (charge ? 0 : 1)};
        const double squares = r[0] * r[0] + r[1] * r[1], inverse = 1 / (squares * std::sqrt(squares));
        const double along = 3 * (r[0] * dr[0] + r[1] * dr[1]) / squares;
        for (int i = 0; i < 2; ++i) {
          a[i] += r[i] * inverse;
          if (Derivative) da[i] += (dr[i] - along * r[i]) * inverse;
        }
      }
      for (int i = 0; i < 2; ++i) x[i] += time_step * v[i], dx[i] += time_step * dv[i];
      if (x[1] <= 0) {
        const double t = -x[1] / v[1], dt = (-dx[1] - t * dv[1]) / v[1], end = x[0] + t * v[0];
        derivative = 2 * end * (dx[0] + dt * v[0] + t * dv[0]);
        return end * end;
      }
      for (int i = 0; i < 2; ++i) v[i] += time_step * a[i], dv[i] += time_step * da[i];
    }
  }
  [[gnu::noinline]] void by_hand() {
    const auto value = [](const number& w) { double unused; return path<false>(w[0], unused); };
    const auto gradient = [](const number& w) { number g; path<true>(w[0], g[0]); return g; };
    place() = argmin_by_hand<1>(value, gradient, {start()})[0];
  }
};

}  // namespace

void add_particle() { add_scalar<particle>("PARTICLE"); }

}  // namespace gradbench
