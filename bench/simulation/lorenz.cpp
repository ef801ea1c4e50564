/// 65,536 Lorenz systems ("Deterministic nonperiodic flow", J. Atmos. Sci. 20, 1963) through 1,000 classical Runge-Kutta steps, and the
/// derivatives of their mean height at the end by the three parameters.

#include "problems.hpp"

namespace simulation {
namespace {

constexpr ct::extent trajectories = 65536;
constexpr float step_size = 0.01f;

/// The time derivative of a state, for vars and for numbers.
template <class S, class P> constexpr auto field(const S& s, const P& parameters) {
  const auto& [x, y, z] = s;
  const auto& [sigma, rho, beta] = parameters;
  return std::tuple(sigma * (y - x), x * (rho - z) - y, x * y - beta * z);
}
template <class S, class K> constexpr auto moved(const S& s, float h, const K& k) {
  return std::tuple(std::get<0>(s) + h * std::get<0>(k), std::get<1>(s) + h * std::get<1>(k), std::get<2>(s) + h * std::get<2>(k));
}
template <class S, class P> constexpr auto step(const S& s, const P& p) {
  const float h = step_size;
  const auto k1 = field(s, p), k2 = field(moved(s, h / 2, k1), p), k3 = field(moved(s, h / 2, k2), p), k4 = field(moved(s, h, k3), p);
  return moved(moved(moved(moved(s, h / 6, k1), h / 3, k2), h / 3, k3), h / 6, k4);
}

template <int Steps> constexpr auto ends = [](const auto& start, const auto& parameters) {
  return ct::fori_loop<0, Steps>([&](auto, const auto& s) { return step(s, parameters); }, start);
};
template <int Steps> constexpr auto mean_height = ct::value_and_grad([](const auto& parameters, const auto& start) {
  return ct::mean(std::get<2>(ends<Steps>(start, parameters)));
});

/// The same as a function of one state [3].
template <int Steps> constexpr auto end_of_state = [](auto s, auto p) {
  const auto field = [p](auto s) {
    const auto x = s(ct::index<0>), y = s(ct::index<1>), z = s(ct::index<2>);
    return ct::stack<0>(p(ct::index<0>) * (y - x), x * (p(ct::index<1>) - z) - y, x * y - p(ct::index<2>) * z);
  };
  const float h = step_size;
  const auto step = [&](auto, auto s) {
    const auto k1 = field(s), k2 = field(s + h / 2 * k1), k3 = field(s + h / 2 * k2), k4 = field(s + h * k3);
    return s + h / 6 * k1 + h / 3 * k2 + h / 3 * k3 + h / 6 * k4;
  };
  return ct::fori_loop<0, Steps>(step, s);
};
template <int Steps> constexpr auto ends_of_states = ct::vmap(end_of_state<Steps>, ct::in_axes<0, ct::none>);

using numbers = std::tuple<float, float, float>;
constexpr numbers chaotic{10.0f, 28.0f, 8.0f / 3};

/// By hand: blocks of trajectories whose states the compiler keeps in vector registers through all steps.
constexpr int block = 64;
struct block_of_states {
  std::array<float, block> x, y, z;
  numbers state(std::size_t i) const { return {x[i], y[i], z[i]}; }
  auto at(std::size_t i) { return std::tie(x[i], y[i], z[i]); }
};

using axis = ct::array<float, trajectories>;
struct ensemble {
  std::tuple<axis, axis, axis> start;
  ensemble() {
    for (int i = 0; i < trajectories; ++i) std::get<0>(start)(i) = 1 + 1e-5f * float(i), std::get<1>(start)(i) = 1, std::get<2>(start)(i) = 20;
  }
  block_of_states load_block(std::ptrdiff_t first) const {
    block_of_states s;
    for (std::size_t i = 0; i < block; ++i)
      s.at(i) = std::apply([&](const auto&... a) { return numbers(a.data()[first + std::ptrdiff_t(i)]...); }, start);
    return s;
  }
  void ends_by_hand(int steps, std::tuple<axis, axis, axis>& to) const {
    tbb::parallel_for(std::ptrdiff_t(0), trajectories / block, [&](std::ptrdiff_t b) {
      const std::ptrdiff_t first = b * block;
      block_of_states s = load_block(first);
      for (int k = 0; k < steps; ++k)
        for (std::size_t i = 0; i < block; ++i) s.at(i) = step(s.state(i), chaotic);
      for (std::size_t i = 0; i < block; ++i)
        std::apply([&](auto&... a) { std::tie(a.data()[first + std::ptrdiff_t(i)]...) = s.state(i); }, to);
    });
  }
};

template <int Steps> struct forward : ensemble {
  std::tuple<axis, axis, axis> result, expected;
  void ours() { ct::jit(ends<Steps>).into(result)(start, chaotic); }
  [[gnu::noinline]] void by_hand() { ends_by_hand(Steps, expected); }
  double difference() const { return simulation::difference(std::get<2>(result), std::get<2>(expected)); }
};

template <int Steps> struct of_states : ensemble {
  ct::array<float, trajectories, 3> states, result;
  ct::array<float, 3> parameters{10.0f, 28.0f, 8.0f / 3};
  std::tuple<axis, axis, axis> expected;
  of_states() {
    for (int i = 0; i < trajectories; ++i) std::apply([&](const auto&... a) { int k = 0; ((states(i, k++) = a(i)), ...); }, start);
  }
  void ours() { ct::jit(ends_of_states<Steps>).into(result)(states, parameters); }
  [[gnu::noinline]] void by_hand() { ends_by_hand(Steps, expected); }
  double difference() const {
    axis z;
    for (int i = 0; i < trajectories; ++i) z(i) = result(i, 2);
    return simulation::difference(z, std::get<2>(expected));
  }
};

template <int Steps> struct gradient : ensemble {
  std::tuple<float, numbers> result, expected;
  void ours() { result = ct::jit(mean_height<Steps>)(chaotic, start); }
  /// Each block keeps the states before its steps and goes back through them.
  [[gnu::noinline]] void by_hand() {
    std::vector<std::array<double, 4>> sums(trajectories / block);
    tbb::parallel_for(std::ptrdiff_t(0), trajectories / block, [&](std::ptrdiff_t b) {
      const std::ptrdiff_t first = b * block;
      thread_local std::vector<block_of_states> before(Steps);
      block_of_states s = load_block(first), adjoint{}, by_parameters{};
      for (int k = 0; k < Steps; ++k) {
        before[std::size_t(k)] = s;
        for (std::size_t i = 0; i < block; ++i) s.at(i) = step(s.state(i), chaotic);
      }
      adjoint.z.fill(1.0f / trajectories);
      for (int k = Steps; k-- > 0;)
        for (std::size_t i = 0; i < block; ++i) {
          const auto [a, p] = step_back(before[std::size_t(k)].state(i), adjoint.state(i), by_parameters.state(i));
          adjoint.at(i) = a, by_parameters.at(i) = p;
        }
      std::array<double, 4>& sum = sums[std::size_t(b)];
      for (std::size_t i = 0; i < block; ++i)
        sum[0] += double(s.z[i]) / trajectories, sum[1] += double(by_parameters.x[i]), sum[2] += double(by_parameters.y[i]), sum[3] += double(by_parameters.z[i]);
    });
    std::array<double, 4> total{};
    for (const auto& sum : sums)
      for (std::size_t i = 0; i < 4; ++i) total[i] += sum[i];
    expected = {float(total[0]), numbers(float(total[1]), float(total[2]), float(total[3]))};
  }
  double difference() const {
    const auto flat = [](const auto& r) { return std::apply([&](auto... g) { return std::vector<float>{std::get<0>(r), float(g)...}; }, std::get<1>(r)); };
    return simulation::difference(flat(result), flat(expected));
  }

 private:
  /// The adjoints of a state and of the parameters before a step from those after it.
  [[gnu::always_inline]] static std::tuple<numbers, numbers> step_back(numbers s1, numbers a, numbers by_parameters) {
    const float h = step_size;
    const numbers s2 = moved(s1, h / 2, field(s1, chaotic)), s3 = moved(s1, h / 2, field(s2, chaotic)), s4 = moved(s1, h, field(s3, chaotic));
    numbers sum = a;
    // What reaches a stage's slope g; what that gives its state.
    const auto back = [&](const numbers& s, const numbers& g) {
      const auto [sigma, rho, beta] = chaotic;
      const auto [x, y, z] = s;
      const auto [u, v, w] = g;
      const numbers b(-sigma * u + (rho - z) * v + y * w, sigma * u - v + x * w, -x * v - beta * w);
      sum = moved(sum, 1, b);
      std::get<0>(by_parameters) += (y - x) * u, std::get<1>(by_parameters) += x * v, std::get<2>(by_parameters) -= z * w;
      return b;
    };
    const numbers none{};
    const numbers b4 = back(s4, moved(none, h / 6, a)), b3 = back(s3, moved(moved(none, h / 3, a), h, b4));
    const numbers b2 = back(s2, moved(moved(none, h / 3, a), h / 2, b3));
    back(s1, moved(moved(none, h / 6, a), h / 2, b2));
    return {sum, by_parameters};
  }
};

/// The flow is chaotic: a program is compared with that by hand through 100 steps.
template <template <int> class Problem> struct compared : Problem<1000> {
  double difference() const {
    Problem<100> few;
    few.ours(), few.by_hand();
    return few.difference();
  }
};

}  // namespace

template <bool Gradient> void add_lorenz() {
  // A step is four slopes of 8 operations and seven moves of 6; back, each slope takes 19, what reaches it 9, and the sum 12.
  constexpr double steps = 1000.0 * trajectories;
  if constexpr (!Gradient) {
    add<compared<forward>>("65,536 Lorenz systems, 1,000 steps", 1e-4, {.float_operations = steps * 74});
    add<compared<of_states>>("65,536 Lorenz systems, vmap of a state [3]", 1e-4, {.float_operations = steps * 74});
  } else
    add<compared<gradient>>("65,536 Lorenz systems, 1,000 steps: mean height and gradient", 1e-4, {.float_operations = steps * (74 + 4 * 28 + 12)});
}
template void add_lorenz<LORENZ_GRADIENT>();

}  // namespace simulation
