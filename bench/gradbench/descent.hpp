#pragma once
/// The gradient descent that SADDLE and PARTICLE prescribe, for cotangent and by hand: a step is taken if the function falls, 10
/// taken steps double the step's length and one not taken halves it; it ends at a gradient or a step of at most 1e-5.

#include "problems.hpp"

namespace gradbench {

/// The place of a minimum of f, whose gradient is g, from `start`. The gradient is also computed where a step is not taken: vmap
/// of a loop with ct::cond in it, which jacfwd makes, takes all that the branches give for mapped.
template <class F, class G, class X> constexpr auto argmin(const F& f, const G& g, const X& start) {
  const auto going = [](auto s) { return !std::get<5>(s); };
  const auto step = [=](auto s) {
    const auto [x, fx, gx, eta, taken, done] = s;
    const auto next = x - eta * gx;
    const auto f_next = f(next);
    const auto g_next = g(next);
    const auto ends = ct::sqrt(ct::sum(gx * gx)) <= 1e-5 || ct::sqrt(ct::sum(ct::square(x - next))) <= 1e-5;
    const auto accepted = !ends && f_next < fx, full = accepted && taken == 9;
    return std::tuple(ct::where(accepted, next, x), ct::where(accepted, f_next, fx), ct::where(accepted, g_next, gx),
                      eta * ct::where(full, 2.0, ct::where(accepted, 1.0, 0.5)), ct::where(accepted && !full, taken + 1, 0), ends);
  };
  const auto fx = f(start), zero = 0.0 * fx;
  return std::get<0>(ct::while_loop(going, step, std::tuple(start, fx, g(start), zero + 1e-5, ct::astype<std::int32_t>(zero), zero > 1.0)));
}

/// The same, of N numbers.
template <int N, class F, class G> std::array<double, N> argmin_by_hand(const F& f, const G& g, std::array<double, N> x) {
  const auto length = [](const std::array<double, N>& v) {
    double squares = 0;
    for (double e : v) squares += e * e;
    return std::sqrt(squares);
  };
  double fx = f(x), eta = 1e-5;
  std::array<double, N> gx = g(x), next, moved;
  for (int taken = 0; length(gx) > 1e-5;) {
    if (taken == 10) eta *= 2, taken = 0;
    for (int i = 0; i < N; ++i) next[i] = x[i] - eta * gx[i], moved[i] = x[i] - next[i];
    if (length(moved) <= 1e-5) return x;
    if (const double f_next = f(next); f_next < fx) x = next, fx = f_next, gx = g(x), ++taken;
    else eta /= 2, taken = 0;
  }
  return x;
}

}  // namespace gradbench
