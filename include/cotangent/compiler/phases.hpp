#pragma once
/// Sums of arrays with zeros between their elements, as the cotangents of slices with strides: element s i + r of the sum is made of elements
/// of those arrays alone that lie at places of remainder r, and is stored where it belongs. No zero is added, and none stored to be added to.

#include <algorithm>

#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

class phase_pass {
 public:
  explicit constexpr phase_pass(const graph& g) : g_(g), r_(g, to_), uses_(uses_of(g)) {
    to_.simplifying = true, to_.inlining = false;
    added_.assign(g.nodes.size(), false);
    for (int n = 0; n < g.size(); ++n)
      for (int k = 0; is_sum(n) && k < 2; ++k) added_.items[g.operand(n, k)] = true;
  }
  /// Whether there are such sums.
  constexpr bool changes() const {
    for (int n = 0; n < g_.size(); ++n)
      if (is_spread(n) && added_.items[n]) return true;
    return false;
  }
  constexpr graph run() {
    copy_inputs(r_);
    for (int n = 0; n < g_.size(); ++n) {
      if (g_[n].is_input()) continue;
      r_.copy(n);
      if (is_sum(n) && !is_part(n))
        if (const value v = sum_of_phases(n)) r_.map.items[n] = v;
    }
    return replayed(r_);
  }

 private:
  const graph& g_;
  builder to_;
  replay r_;
  sequence<int> uses_;
  flag_list added_;  // per node: whether a sum has it as an operand

  constexpr bool is_sum(int n) const { return g_[n].op_id == primitive_of<add_p>.id; }
  /// Whether node n is part of a longer sum.
  constexpr bool is_part(int n) const { return uses_.items[n] == 1 && added_.items[n]; }
  /// Whether node n is an array with zeros between its elements.
  constexpr bool is_spread(int n) const {
    constexpr extent most_phases = 16;
    const node& x = g_[n];
    if (x.op_id != primitive_of<pad_p>.id || has_symbol(x.dims) || has_symbol(g_[g_.operand(n, 0)].dims)) return false;
    const node& padding = g_[g_.operand(n, 1)];
    if (padding.op_id != primitive_of<constant_p>.id || padding.bits != 0) return false;
    extent phases = 1;
    for (int i = 0; i < x.dims.rank; ++i) {
      if (attribute(n, 0, i) < 0 || attribute(n, 1, i) < 0) return false;
      phases *= attribute(n, 2, i) + 1;
      if (phases > most_phases) return false;
    }
    return phases > 1;
  }
  /// What pad n has for axis i: low, high, interior.
  constexpr extent attribute(int n, int part, int i) const { return g_.attribute(n, part * g_[n].dims.rank + i); }
  constexpr bool same_steps(int n, int other) const {
    for (int i = 0; i < g_[n].dims.rank; ++i)
      if (attribute(n, 2, i) != attribute(other, 2, i)) return false;
    return true;
  }
  constexpr void collect(int n, int root, sequence<int>& terms) const {
    if (!is_sum(n) || (n != root && !is_part(n))) return terms.push_back(n);
    for (int k = 0; k < 2; ++k) collect(g_.operand(n, k), root, terms);
  }

  /// The sum `root`, if there is more than one such array among its terms; null if not.
  constexpr value sum_of_phases(int root) {
    sequence<int> terms, spread, others;
    collect(root, root, terms);
    for (int t : terms)
      if (is_spread(t) && uses_.items[t] == 1 && (spread.size() == 0 || same_steps(t, spread[0]))) spread.push_back(t);
      else others.push_back(t);
    if (spread.size() < 2 || rank_of_phases(spread[0]) > max_rank) return {};
    value sum;
    for (int t : others) sum = sum ? sum + r_.map.items[t] : r_.map.items[t];
    const value all = in_phases(spread);
    return sum ? sum + all : all;
  }
  constexpr int rank_of_phases(int n) const {
    int rank = g_[n].dims.rank;
    for (int i = 0; i < g_[n].dims.rank; ++i) rank += attribute(n, 2, i) > 0;
    return rank;
  }
  constexpr value in_phases(const sequence<int>& spread) {
    const shape dims = g_[spread[0]].dims;
    shape steps, counts, whole, kept, merged;  // of elements of a phase; axes with, and without, those of the phases
    for (int i = 0; i < dims.rank; ++i) {
      const extent step = attribute(spread[0], 2, i) + 1, count = (dims[i] + step - 1) / step;
      steps.push_back(step), counts.push_back(count), merged.push_back(count * step);
      kept.push_back(whole.rank), whole.push_back(count);
      if (step > 1) whole.push_back(step);
    }
    sequence<value> parts;
    each_element(steps, {}, [&](const shape& phase) {
      value sum;
      for (int t : spread) {
        shape low, high;
        bool fits = true;
        for (int i = 0; i < dims.rank; ++i) {
          const extent before = attribute(t, 0, i) - phase[i];
          fits = fits && before % steps[i] == 0;
          low.push_back(before / steps[i]), high.push_back(counts[i] - low[i] - g_[g_.operand(t, 0)].dims[i]);
        }
        if (!fits) continue;
        const value x = r_.map.items[g_.operand(t, 0)];
        const value part = pad(x, constant(to_, x.type(), {}, 0), low, high, filled(dims.rank, 0));
        sum = sum ? sum + part : part;
      }
      parts.push_back(sum ? sum : constant(to_, g_[spread[0]].type, counts, 0));
    });
    return slice(reshape(assemble(to_, parts, whole, kept), merged), filled(dims.rank, 0), dims, filled(dims.rank, 1));
  }
};

/// The graph with such sums in phases.
constexpr graph with_phases(graph g) {
  const auto is_pad = [](const node& x) { return x.op_id == primitive_of<pad_p>.id; };
  if (!std::any_of(g.nodes.begin(), g.nodes.end(), is_pad)) return g;
  phase_pass pass(g);
  if (pass.changes()) return pass.run();
  return g;
}

}  // namespace cotangent
