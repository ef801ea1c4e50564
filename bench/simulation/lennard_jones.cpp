/// Energy and forces of all pairs of particles: the energy's gradient, and the one of each particle's energy with all others.

#include "lennard_jones.hpp"

namespace simulation {
namespace {

constexpr auto energy_with = [](auto x, auto others) { return ct::sum(ct::vmap(pair_energy, ct::in_axes<ct::none, 0>)(x, others)); };
constexpr auto energy_of_all = [](auto x) { return 0.5f * ct::sum(ct::vmap(energy_with, ct::in_axes<0, ct::none>)(x, x)); };
constexpr auto forces_of_all = [](auto x) {
  const auto [energy, slope] = ct::value_and_grad(energy_of_all)(x);
  return std::tuple(energy, -slope);
};
constexpr auto forces_of_own = [](auto x) {
  const auto [energies, slopes] = ct::vmap(ct::value_and_grad(energy_with), ct::in_axes<0, ct::none>)(x, x);
  return std::tuple(0.5f * ct::sum(energies), -slopes);
};

template <auto& Forces> struct all_pairs {
  static constexpr int n = 4096;
  points<n> x;
  std::tuple<ct::array<float>, points<n>> result, expected;

  all_pairs() { place(x, 16, 1.2); }
  void ours() { ct::jit(Forces).into(result)(x); }
  double difference() const {
    return std::max(simulation::difference(std::get<0>(result), std::get<0>(expected)), simulation::difference(std::get<1>(result), std::get<1>(expected)));
  }

  /// Coordinates and forces of a thread, one after the other.
  struct columns { alignas(64) float at[3][n], force[3][n]; };

  /// Each pair once: 4 particles with 16 others at a time. Each of two threads has forces of its own.
  [[gnu::noinline]] void by_hand() {
    static columns of[2];
    double energies[2];
    tbb::parallel_for(0, 2, [&](int thread) {
      columns& c = of[thread];
      for (int i = 0; i < n; ++i)
        for (int k = 0; k < 3; ++k) c.at[k][i] = x(i, k), c.force[k][i] = 0;
      energies[thread] = 0;
      for (int block = thread; block < n / 16; block += 2) {
        floats energy{};
        for (int i = 16 * block; i < 16 * block + 16; ++i) own_block(c, i, 16 * block, energy);
        for (int i = 16 * block; i < 16 * block + 16; i += 4) four(c, i, 16 * block + 16, energy);
        energies[thread] += total(energy);
      }
    }, tbb::static_partitioner{});
    auto& [energy, forces] = expected;
    energy() = float(4 * (energies[0] + energies[1]));
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < 3; ++k) forces(i, k) = 24 * (of[0].force[k][i] + of[1].force[k][i]);
  }
  static void own_block(columns& c, int i, int first, floats& energy) {
    const floats dx = c.at[0][i] - load<floats>(c.at[0] + first), dy = c.at[1][i] - load<floats>(c.at[1] + first), dz = c.at[2][i] - load<floats>(c.at[2] + first);
    floats twice{};
    const floats f = pull(dx * dx + dy * dy + dz * dz, twice);
    energy += 0.5f * twice;
    c.force[0][i] += total(f * dx), c.force[1][i] += total(f * dy), c.force[2][i] += total(f * dz);
  }
  static void four(columns& c, int i, int first, floats& energy) {
    floats sums[4][3] = {};
    for (int j = first; j < n; j += 16) {
      const floats x = load<floats>(c.at[0] + j), y = load<floats>(c.at[1] + j), z = load<floats>(c.at[2] + j);
      floats fx = load<floats>(c.force[0] + j), fy = load<floats>(c.force[1] + j), fz = load<floats>(c.force[2] + j);
      for (int k = 0; k < 4; ++k) {
        const floats dx = c.at[0][i + k] - x, dy = c.at[1][i + k] - y, dz = c.at[2][i + k] - z;
        const floats inverse = reciprocal(dx * dx + dy * dy + dz * dz), sixth = inverse * inverse * inverse;
        energy += sixth * sixth - sixth;
        const floats f = inverse * (2.0f * sixth * sixth - sixth);
        sums[k][0] += f * dx, sums[k][1] += f * dy, sums[k][2] += f * dz;
        fx -= f * dx, fy -= f * dy, fz -= f * dz;
      }
      store(c.force[0] + j, fx), store(c.force[1] + j, fy), store(c.force[2] + j, fz);
    }
    for (int k = 0; k < 4; ++k)
      for (int d = 0; d < 3; ++d) c.force[d][i + k] += total(sums[k][d]);
  }
};

}  // namespace

void add_lennard_jones() {
  const bound least{.float_operations = 27.0 * 4096 * 4095 / 2};
  add<all_pairs<forces_of_all>>("Lennard-Jones: energy and forces, all pairs of 4,096", 1e-5, least);
  add<all_pairs<forces_of_own>>("Lennard-Jones: all pairs, by each particle's own energy", 1e-5, least);
}

}  // namespace simulation
