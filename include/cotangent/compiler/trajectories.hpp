#pragma once
/// Trajectories: the way back of a loop over the states of many instances needs what the way forward kept of each turn. Both are done for some
/// instances at a time, in chunks, so that what is kept lies in a core's cache.

#include <cotangent/compiler/chunks.hpp>
#include <cotangent/compiler/sums_after_loops.hpp>

namespace cotangent {

/// Sums along the one axis of so many instances (see sums_after_loops).
struct sums_along {
  extent instances;

  constexpr extent count() const { return instances; }
  constexpr bool operator()(const graph& turn, int n) const {
    const int axis = only_axis(turn[turn.operand(n, 0)].dims, instances);
    for (int k = 0; k < turn[n].attribute_count; ++k)
      if (axis >= 0 && turn.attribute(n, k) == axis) return true;
    return false;
  }
};

/// Whether some loop goes through what another one kept of each turn.
constexpr bool may_have_trajectories(const graph& g) {
  for (int n = 0; n < g.size(); ++n) {
    if (g[n].op_id != primitive_of<scan_p>.id) continue;
    const call_form form(g, n);
    for (extent k = form.own[1]; k < form.own[1] + form.own[2]; ++k)
      if (const int o = g.operand(n, int(k)); g[o].op_id == primitive_of<element_p>.id && g[g.operand(o, 0)].op_id == primitive_of<scan_p>.id) return true;
  }
  return false;
}

/// The extents that axes of instances may have whose states loops return turn by turn.
constexpr shape extents_of_trajectories(const graph& g) {
  constexpr extent least = 256;
  shape seen;
  for (const node& x : g.nodes) {
    if (x.op_id != primitive_of<element_p>.id) continue;
    for (int i = 1; i < x.dims.rank; ++i)
      if (!is_symbol(x.dims[i]) && x.dims[i] >= least && !seen.contains(x.dims[i]) && seen.rank < max_rank) seen.push_back(x.dims[i]);
  }
  return seen;
}

/// What chunks of so many instances are made of. (Each step is an evaluation of its own: compilers limit those.)
template <class Whole, extent Instances> struct make_sums_apart {
  constexpr graph operator()() const {
    const auto sums_of = [](const scan_call&) { return sums_along{Instances}; };
    return sums_after_loops(thaw(unchunked_graph<Whole>), sums_of).run();
  }
};
template <class Whole, extent Instances> inline constexpr auto sums_apart_graph = freeze<make_sums_apart<Whole, Instances>{}>();
/// The bytes that such chunks keep in caches; 0 if they gain nothing.
constexpr extent gain_of_trajectories(const graph& g, extent instances) {
  const chunk_program chunks(g, instances, {.trajectories = true});
  return chunks.passes() == 1 ? chunks.gain() : 0;
}
template <class Whole> inline constexpr shape trajectory_extents = extents_of_trajectories(thaw(unchunked_graph<Whole>));
/// The instances whose trajectories are best done in chunks, or 0.
template <class Whole> constexpr extent best_trajectories() {
  return []<int... I>(std::integer_sequence<int, I...>) {
    extent best = 0, most = 0;
    [[maybe_unused]] const auto consider = [&](extent instances, extent gain) {
      if (gain > most) most = gain, best = instances;
    };
    (consider(trajectory_extents<Whole>[I], std::integral_constant<extent, gain_of_trajectories(thaw(sums_apart_graph<Whole, trajectory_extents<Whole>[I]>), trajectory_extents<Whole>[I])>::value), ...);
    return best;
  }(std::make_integer_sequence<int, trajectory_extents<Whole>.rank>());
}
template <class Whole, bool MayHave> inline constexpr extent trajectories_of = 0;
template <class Whole> inline constexpr extent trajectories_of<Whole, true> = best_trajectories<Whole>();

template <class Made, bool Cpu> inline constexpr bool may_have_trajectories_graph = false;
template <class Made> inline constexpr bool may_have_trajectories_graph<Made, true> = may_have_trajectories(Made{}());

}  // namespace cotangent
