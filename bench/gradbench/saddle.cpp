/// SADDLE: the saddle point of x^2 - y^2, for x and y in the plane, by gradient descent in x of the maximum over y, which is found
/// by gradient descent in turn. The derivative by x goes forward through the loop that finds y, the one by y in reverse ("fr").

#include "descent.hpp"

namespace gradbench {
namespace {

constexpr auto objective = [](auto x, auto y) { return ct::sum(x * x) - ct::sum(y * y); };
constexpr auto largest_y = [](auto x, auto start) {
  const auto below = [=](auto y) { return -objective(x, y); };
  return argmin(below, ct::grad(below), start);
};
constexpr auto saddle_point = [](auto start) {
  const auto maximum = [=](auto x) { return objective(x, largest_y(x, start)); };
  const auto x = argmin(maximum, ct::jacfwd(maximum), start);
  return ct::concatenate<0>(x, largest_y(x, start));
};

struct saddle {
  using point = std::array<double, 2>;
  ct::array<double, 2> start = {1, 1};
  ct::array<double, 4> place, result;

  void ours() { ct::jit(saddle_point).into(result)(start); }
  double difference() const { return gradbench::difference(numbers(result), numbers(place)); }
  double slope_error() {
    const ct::array<double, 2> g{2 * start(0), 2 * start(1)};
    return gradbench::slope_error([this] { return maximum({start(0), start(1)}); }, {{numbers(start), numbers(g)}});
  }

  static double squares(const point& p) { return p[0] * p[0] + p[1] * p[1]; }
  point argmax(const point& x) const {
    const double at = squares(x);
    return argmin_by_hand<2>([at](const point& y) { return squares(y) - at; }, [](const point& y) { return point{2 * y[0], 2 * y[1]}; }, {start(0), start(1)});
  }
  double maximum(const point& x) const { return squares(x) - squares(argmax(x)); }
  /// y's way does not depend on x, so the derivative by x is that of x^2.
  [[gnu::noinline]] void by_hand() {
    const point x = argmin_by_hand<2>([this](const point& p) { return maximum(p); }, [](const point& p) { return point{2 * p[0], 2 * p[1]}; }, {start(0), start(1)});
    const point y = argmax(x);
    place(0) = x[0], place(1) = x[1], place(2) = y[0], place(3) = y[1];
  }
};

}  // namespace

void add_saddle() { add_scalar<saddle>("SADDLE"); }

}  // namespace gradbench
