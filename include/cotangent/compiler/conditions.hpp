#pragma once
/// What computations need not choose because what uses them chooses by the same condition.

#include <cotangent/primitives/primitives.hpp>

namespace cotangent {

/// Per node, the condition without which none of its elements matters: every way from it to an output goes through the first
/// alternative of a select by this condition, element by element. -1 if there is none. Empty for graphs without selects.
constexpr sequence<int> needed_conditions(const graph& g) {
  constexpr int none = -1, unused = -2;
  sequence<int> needed;
  bool any = false;
  for (int n = 0; n < g.size() && !any; ++n) any = g.nodes.items[n].op_id == primitive_of<select_p>.id;
  if (!any) return needed;
  needed.assign(g.nodes.size(), unused);
  for (int o : g.outputs) needed.items[o] = none;
  for (int n = g.size(); n-- > 0;) {
    const node& x = g[n];
    if (x.is_input()) continue;
    const bool pointwise = x.op->kind == role::pointwise;
    for (int k = 0; k < x.operand_count; ++k) {
      const int condition = pointwise && k == 1 && x.op_id == primitive_of<select_p>.id ? g.operand(n, 0) : pointwise ? needed.items[n] : none;
      int& of_operand = needed.items[g.operand(n, k)];
      if (of_operand == unused) of_operand = condition;
      else if (of_operand != condition) of_operand = none;
    }
  }
  return needed;
}

}  // namespace cotangent
