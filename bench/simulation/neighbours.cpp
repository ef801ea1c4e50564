/// Energy and forces of pairs of particles in lists of neighbours, 48 a particle, which are symmetric and filled up with the
/// particle itself. bench/meson.build compiles this file once for the gradient of all energy and once for each particle's own.

#include "lennard_jones.hpp"

namespace simulation {
namespace {

constexpr auto particle_energy = [](auto x, auto others) { return ct::sum(ct::vmap(pair_energy, ct::in_axes<ct::none, 0>)(x, others)); };
constexpr auto energy_of_lists = [](auto x, auto lists) { return 0.5f * ct::sum(ct::vmap(particle_energy)(x, ct::take<0>(x, lists))); };

constexpr auto forces_of_all = [](auto x, auto lists) {
  const auto [energy, slope] = ct::value_and_grad(energy_of_lists)(x, lists);
  return std::tuple(energy, -slope);
};
/// The same if lists are symmetric: what a particle's own energy changes by.
constexpr auto forces_of_own = [](auto x, auto lists) {
  const auto [energies, slopes] = ct::vmap(ct::value_and_grad(particle_energy))(x, ct::take<0>(x, lists));
  return std::tuple(0.5f * ct::sum(energies), -slopes);
};

template <auto& Forces> struct neighbour_lists {
  static constexpr int n = 100000, most = 48, side = 47;
  static constexpr double cutoff = 2.5, spacing = 1.15;
  points<n> x;
  ct::array<std::int32_t, n, most> lists;
  std::tuple<ct::array<float>, points<n>> result, expected;

  neighbour_lists() {
    place(x, side, spacing);
    for (int i = 0; i < n; ++i) {
      int found = 0;
      const int a = i % side, b = i / side % side, c = i / side / side, r = 3;
      for (int h = std::max(0, c - r); h <= std::min(side - 1, c + r); ++h)
        for (int g = std::max(0, b - r); g <= std::min(side - 1, b + r); ++g)
          for (int f = std::max(0, a - r); f <= std::min(side - 1, a + r); ++f) {
            const int j = f + side * (g + side * h);
            if (j == i || j >= n) continue;
            double squares = 0;
            for (int k = 0; k < 3; ++k) squares += (double(x(i, k)) - x(j, k)) * (double(x(i, k)) - x(j, k));
            if (squares > cutoff * cutoff) continue;
            if (found == most) std::fprintf(stderr, "simulation: more than %d neighbours\n", most), std::exit(1);
            lists(i, found++) = j;
          }
      while (found < most) lists(i, found++) = i;
    }
  }
  void ours() { ct::jit(Forces).into(result)(x, lists); }
  double difference() const {
    return std::max(simulation::difference(std::get<0>(result), std::get<0>(expected)), simulation::difference(std::get<1>(result), std::get<1>(expected)));
  }

  /// A particle with 16 neighbours at a time, whose coordinates are read as 4 numbers and transposed in registers. Lists are asked for early:
  /// among reads from everywhere the processor does not see that they are read one after the other.
  [[gnu::noinline]] void by_hand() {
    static std::vector<double> energies(n / 500);
    static std::vector<quad> wide(n);
    in_blocks(n, 5000, [&, this](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (std::ptrdiff_t i = first; i < last; ++i) wide[std::size_t(i)] = quad{x(i, 0), x(i, 1), x(i, 2)};
    });
    auto& [energy, forces] = expected;
    in_blocks(n, 500, [&, this](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (std::ptrdiff_t block = first; block < last; block += 500) {
        floats e{};
        for (std::ptrdiff_t i = block; i < block + 500; ++i) {
          floats f[3] = {};
          for (int k = 0; k < most; k += 16) {
            floats at[3];
            __builtin_prefetch(&lists(i, k) + 512);
            gather(wide.data(), &lists(i, k), at);
            const floats dx = x(i, 0) - at[0], dy = x(i, 1) - at[1], dz = x(i, 2) - at[2];
            const floats pulled = pull(dx * dx + dy * dy + dz * dz, e);
            f[0] += pulled * dx, f[1] += pulled * dy, f[2] += pulled * dz;
          }
          for (int k = 0; k < 3; ++k) forces(i, k) = 24 * total(f[k]);
        }
        energies[std::size_t(block / 500)] = total(e);
      }
    });
    double sum = 0;
    for (double e : energies) sum += e;
    energy() = float(2 * sum);
  }

 private:
  typedef float quad __attribute__((vector_size(16)));
  typedef float octet __attribute__((vector_size(32)));
  /// Particles j, j + 4, j + 8 and j + 12 of a list.
  [[gnu::always_inline]] static floats rows(const quad* wide, const std::int32_t* j) {
    const octet low = __builtin_shufflevector(wide[j[0]], wide[j[4]], 0, 1, 2, 3, 4, 5, 6, 7);
    const octet high = __builtin_shufflevector(wide[j[8]], wide[j[12]], 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  [[gnu::always_inline]] static void gather(const quad* wide, const std::int32_t* list, floats (&at)[3]) {
    const floats a = rows(wide, list), b = rows(wide, list + 1), c = rows(wide, list + 2), d = rows(wide, list + 3);
    const floats ab = __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    const floats cd = __builtin_shufflevector(c, d, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    const floats ab_high = __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    const floats cd_high = __builtin_shufflevector(c, d, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    at[0] = __builtin_shufflevector(ab, cd, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
    at[1] = __builtin_shufflevector(ab, cd, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    at[2] = __builtin_shufflevector(ab_high, cd_high, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
  }
};

}  // namespace

template <bool Own> void add_neighbours() {
  const bound least{.bytes = 4.0 * 100000 * (48 + 6)};
  if constexpr (Own) add<neighbour_lists<forces_of_own>>("Lennard-Jones: neighbours, by each particle's own energy", 1e-5, least);
  else add<neighbour_lists<forces_of_all>>("Lennard-Jones: energy and forces, 100,000 with 48 neighbours", 1e-5, least);
}
template void add_neighbours<NEIGHBOURS_OWN>();

}  // namespace simulation
