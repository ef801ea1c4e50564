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

/// The graph with chunks of instances that go through loops forward and back; no nodes if nothing gains.
constexpr graph in_chunks_of_trajectories(const graph& g) {
  constexpr extent least = 256;
  graph best;
  extent most = 0;
  shape seen;
  for (const node& x : g.nodes) {
    if (x.op_id != primitive_of<element_p>.id) continue;
    for (int i = 1; i < x.dims.rank; ++i) {
      const extent instances = x.dims[i];
      if (is_symbol(instances) || instances < least || seen.contains(instances) || seen.rank == max_rank) continue;
      seen.push_back(instances);
      const graph apart = sums_after_loops(g, [&](const scan_call&) { return sums_along{instances}; }).run();
      chunk_program chunks(apart, instances, {.trajectories = true});
      if (chunks.passes() != 1 || chunks.gain() <= most) continue;
      most = chunks.gain(), best = chunks.run();
      own(best);  // before `apart` goes
    }
  }
  return best;
}

template <class Made, bool Cpu> inline constexpr bool may_have_trajectories_graph = false;
template <class Made> inline constexpr bool may_have_trajectories_graph<Made, true> = may_have_trajectories(Made{}());

}  // namespace cotangent
