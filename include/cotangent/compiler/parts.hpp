#pragma once
/// Operations on concatenations become concatenations of operations on the parts, where nothing else reads the whole: each part is computed
/// to the end where it is made, instead of being stored and read again.

#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

class part_pass {
 public:
  explicit constexpr part_pass(const graph& g) : g_(g), r_(g, to_), uses_(uses_of(g)) {
    to_.simplifying = true, to_.inlining = false;
  }
  /// Whether there are such operations.
  constexpr bool changes() const {
    for (int n = 0; n < g_.size(); ++n) {
      if (g_[n].is_input() || g_[n].op->kind != role::pointwise) continue;
      for (int k = 0; k < g_[n].operand_count; ++k)
        if (const int o = g_.operand(n, k); g_[o].op_id == primitive_of<concatenate_p>.id && uses_[std::size_t(o)] == 1) return true;
    }
    return false;
  }
  constexpr graph run() {
    copy_inputs(r_);
    for (int n = 0; n < g_.size(); ++n) {
      if (g_[n].is_input()) continue;
      const int k = g_[n].op->kind == role::pointwise ? concatenation_among(n) : -1;
      if (k >= 0) r_.map.items[n] = by_parts(r_.at(n), k);
      else r_.copy(n);
    }
    return replayed(r_);
  }

 private:
  const graph& g_;
  builder to_;
  replay r_;
  sequence<int> uses_;

  /// The first operand of node n that is now a concatenation for this node alone, or -1.
  constexpr int concatenation_among(int n) const {
    for (int k = 0; k < g_[n].operand_count; ++k) {
      const value v = r_.map.items[g_.operand(n, k)];
      if (v.get().op_id == primitive_of<concatenate_p>.id && uses_.items[g_.operand(n, k)] == 1) return k;
    }
    return -1;
  }
  /// An operation whose operand k is a concatenation.
  constexpr value by_parts(const call& c, int k) {
    const int whole = c[k].id, axis = int(to_.g.attribute(whole, 0)), count = to_.g[whole].operand_count;
    sequence<value> parts, operands;
    shape starts = filled(c.dims.rank, 0);
    const shape steps = filled(c.dims.rank, 1);
    for (int p = 0; p < count; ++p) {
      const value part{&to_, to_.g.operand(whole, p)};
      const shape dims = part.dims();
      operands.clear();
      for (int j = 0; j < c.count; ++j) operands.push_back(j == k ? part : slice(c[j], starts, dims, steps));
      call d = c;
      d.operands = operands.data(), d.dims = dims, d.result = {};
      parts.push_back(to_.emit_inferred(d));
      starts[axis] += dims[axis];
    }
    return concatenate(parts, axis);
  }
};

/// The graph with operations on parts in place of operations on concatenations of them. Linear in the nodes and their parts.
constexpr graph with_parts_apart(const graph& g) {
  part_pass pass(g);
  if (pass.changes()) return pass.run();
  return g;
}

}  // namespace cotangent
