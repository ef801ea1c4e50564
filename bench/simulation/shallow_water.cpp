/// The shallow water equations on a torus: a step by the method of Lax and Friedrichs ("Systems of conservation laws", Lax, Comm. Pure
/// Appl. Math. 7, 1954), its adjoint, and the gradient of what 10 steps lead to. bench/meson.build compiles this file once for one step
/// and once for 10.

#include "problems.hpp"

namespace simulation {
namespace {

constexpr float gravity = 9.81f, ratio = 0.05f;  // the latter: time step / (2 cell)

/// Depth and the momenta along the columns and along the rows, each [n, n].
constexpr auto water_step = [](auto state) {
  const auto [h, m, n] = state;
  const auto u = m / h, v = n / h, pressure = 0.5f * gravity * h * h;
  const auto moved = [](auto x, auto along, auto across) {
    const auto right = [](auto a) { return ct::roll<1>(a, -1); };
    const auto left = [](auto a) { return ct::roll<1>(a, 1); };
    const auto below = [](auto a) { return ct::roll<0>(a, -1); };
    const auto above = [](auto a) { return ct::roll<0>(a, 1); };
    return 0.25f * (right(x) + left(x) + below(x) + above(x)) - ratio * (right(along) - left(along) + below(across) - above(across));
  };
  return std::tuple(moved(h, m, n), moved(m, m * u + pressure, m * v), moved(n, m * v, n * v + pressure));
};
constexpr auto water_adjoint = [](auto state, auto cotangent) {
  const auto [next, pullback] = ct::vjp(water_step, state);
  return std::get<0>(pullback(cotangent));
};
template <int Steps> constexpr auto water_loss = [](auto state) {
  const auto step = [](auto s, auto) { return std::tuple(water_step(s), ct::none); };
  const auto [end, unused] = ct::scan(step, state, ct::none, ct::length<Steps>);
  return 0.5f * ct::sum(ct::square(std::get<0>(end)));
};

constexpr int side = 1024;
using field = ct::array<float, side, side>;
using water = std::tuple<field, field, field>;

/// By hand, on blocks of rows.
using pointers = std::array<const float*, 3>;
using places = std::array<float*, 3>;
inline pointers of(const water& w) { return {std::get<0>(w).data(), std::get<1>(w).data(), std::get<2>(w).data()}; }
inline places of(water& w) { return {std::get<0>(w).data(), std::get<1>(w).data(), std::get<2>(w).data()}; }

/// A row with the one number before and the one after it.
struct alignas(64) halo_row {
  float numbers[16 + side + 16];
  float* begin() { return numbers + 16; }
  const float* begin() const { return numbers + 16; }
  void close() { numbers[15] = begin()[side - 1], begin()[side] = begin()[0]; }
};

/// Fluxes across rows are computed once a row and kept for the next two, those along a row for itself.
void step_by_hand(const pointers& from, const places& to) {
  in_blocks(side, 64, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
    halo_row along[3] = {}, centre[3];
    alignas(64) float across[3][3][side];  // of the rows before, here and after, in turn
    const auto fluxes = [&](std::ptrdiff_t row) {
      auto& rows = across[(row + 3) % 3];
      const std::ptrdiff_t at = (row + side) % side * side;
      for (int j = 0; j < side; j += 16) {
        const floats h = load<floats>(from[0] + at + j), m = load<floats>(from[1] + at + j), n = load<floats>(from[2] + at + j), v = n / h;
        store(rows[0] + j, n), store(rows[1] + j, m * v), store(rows[2] + j, n * v + (0.5f * gravity) * h * h);
      }
    };
    const auto row_along = [&](std::ptrdiff_t row) {
      for (int j = 0; j < side; j += 16) {
        const floats h = load<floats>(from[0] + row * side + j), m = load<floats>(from[1] + row * side + j), n = load<floats>(from[2] + row * side + j);
        const floats u = m / h;
        store(centre[0].begin() + j, h), store(centre[1].begin() + j, m), store(centre[2].begin() + j, n);
        store(along[1].begin() + j, m * u + (0.5f * gravity) * h * h), store(along[2].begin() + j, n * u);
      }
      for (int k = 0; k < 3; ++k) centre[k].close(), along[k].close();
    };
    fluxes(first - 1), fluxes(first);
    for (std::ptrdiff_t row = first; row < last; ++row) {
      fluxes(row + 1);
      row_along(row);
      const auto &above = across[(row + 2) % 3], &below = across[(row + 1) % 3];
      const std::ptrdiff_t up = (row + side - 1) % side * side, down = (row + 1) % side * side;
      for (int k = 0; k < 3; ++k) {
        const float *c = centre[k].begin(), *f = k == 0 ? centre[1].begin() : along[k].begin();
        for (int j = 0; j < side; j += 16) {
          const floats mean = load<floats>(c + j + 1) + load<floats>(c + j - 1) + load<floats>(from[std::size_t(k)] + down + j) + load<floats>(from[std::size_t(k)] + up + j);
          const floats change = load<floats>(f + j + 1) - load<floats>(f + j - 1) + load<floats>(below[k] + j) - load<floats>(above[k] + j);
          store(to[std::size_t(k)] + row * side + j, 0.25f * mean - ratio * change);
        }
      }
    }
  });
}
/// The cotangents c of a step's result to those of the state it began with.
void adjoint_by_hand(const pointers& state, const pointers& c, const places& to) {
  in_blocks(side, 64, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
    halo_row centre[3];
    for (std::ptrdiff_t row = first; row < last; ++row) {
      const std::ptrdiff_t up = (row + side - 1) % side * side, down = (row + 1) % side * side;
      for (std::size_t k = 0; k < 3; ++k) std::copy_n(c[k] + row * side, side, centre[k].begin()), centre[k].close();
      for (int j = 0; j < side; j += 16) {
        const floats h = load<floats>(state[0] + row * side + j), m = load<floats>(state[1] + row * side + j), n = load<floats>(state[2] + row * side + j);
        floats mean[3], p[3], q[3];
        for (std::size_t k = 0; k < 3; ++k) {
          const floats right = load<floats>(centre[k].begin() + j + 1), left = load<floats>(centre[k].begin() + j - 1);
          const floats below = load<floats>(c[k] + down + j), above = load<floats>(c[k] + up + j);
          mean[k] = 0.25f * (right + left + below + above), p[k] = ratio * (right - left), q[k] = ratio * (below - above);
        }
        const floats inverse = 1.0f / h, u = m * inverse, v = n * inverse;
        store(to[0] + row * side + j, mean[0] + gravity * h * (p[1] + q[2]) - u * u * p[1] - u * v * (p[2] + q[1]) - v * v * q[2]);
        store(to[1] + row * side + j, mean[1] + p[0] + 2.0f * u * p[1] + v * (p[2] + q[1]));
        store(to[2] + row * side + j, mean[2] + q[0] + 2.0f * v * q[2] + u * (p[2] + q[1]));
      }
    }
  });
}

struct water_problem {
  water state, other, result, expected;
  water_problem() {
    source random;
    random.uniform(0.8, 1.2, std::get<0>(state)), random.uniform(-0.2, 0.2, std::get<1>(state), std::get<2>(state));
    random.normal(std::get<0>(other), std::get<1>(other), std::get<2>(other));
  }
  double difference() const {
    double most = 0;
    ct::tree_map([&](const auto& a, const auto& b) { return most = std::max(most, simulation::difference(a, b)); }, result, expected);
    return most;
  }
};
struct one_step : water_problem {
  void ours() { ct::jit(water_step).into(result)(state); }
  [[gnu::noinline]] void by_hand() { step_by_hand(of(std::as_const(state)), of(expected)); }
};
struct one_adjoint : water_problem {
  void ours() { ct::jit(water_adjoint).into(result)(state, other); }
  [[gnu::noinline]] void by_hand() { adjoint_by_hand(of(std::as_const(state)), of(std::as_const(other)), of(expected)); }
};
/// By hand all states are kept, and the cotangents alternate between two places.
template <int Steps> struct some_steps : water_problem {
  std::vector<water> states = std::vector<water>(Steps);
  void ours() { ct::jit(ct::grad(water_loss<Steps>)).into(result)(state); }
  [[gnu::noinline]] void by_hand() {
    for (std::size_t s = 0; s < Steps; ++s) step_by_hand(of(std::as_const(s == 0 ? state : states[s - 1])), of(states[s]));
    std::array<places, 2> c{of(expected), of(other)};  // an even number of steps ends in the first
    const float* h = std::get<0>(states[Steps - 1]).data();
    in_blocks(side, 64, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
      const std::ptrdiff_t from = first * side, count = (last - first) * side;
      std::copy_n(h + from, count, c[0][0] + from), std::fill_n(c[0][1] + from, count, 0.0f), std::fill_n(c[0][2] + from, count, 0.0f);
    });
    for (std::size_t s = Steps; s-- > 0; std::swap(c[0], c[1]))
      adjoint_by_hand(of(std::as_const(s == 0 ? state : states[s - 1])), {c[0][0], c[0][1], c[0][2]}, c[1]);
  }
};

}  // namespace

template <int Steps> void add_shallow_water() {
  constexpr double bytes = 4.0 * side * side;
  if constexpr (Steps == 1) {
    add<one_step>("shallow water, 1024 x 1024, a step", 1e-5, {.bytes = 6 * bytes});
    add<one_adjoint>("shallow water, 1024 x 1024, the adjoint of a step", 1e-5, {.bytes = 9 * bytes});
  } else {
    // The gradients by the momenta are small differences of numbers near 1.
    add<some_steps<Steps>>("shallow water, 1024 x 1024, gradient through 10 steps", 5e-5, {.bytes = 15 * Steps * bytes});
  }
}
template void add_shallow_water<WATER_STEPS>();

}  // namespace simulation
