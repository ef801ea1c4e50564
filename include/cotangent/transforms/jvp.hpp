#pragma once
/// Forward-mode differentiation of a graph.

#include <cotangent/graph/replay.hpp>
#include <cotangent/trace/functions.hpp>

namespace cotangent {

/// Whether values of this dtype have tangents.
constexpr bool has_tangent(dtype d) { return is_differentiable(d); }

/// The graph of (outputs, output tangents) from (inputs, tangents of the inputs that `active` names).
/// A tangent that is structurally zero is never computed; as an output it is a constant. One visit per node.
constexpr graph jvp_graph(const graph& g, const flag_list& active) {
  builder b;
  replay r(g, b);
  const bool in_place = !any_has_several_results(g);  // else such an operation becomes another one
  if (in_place) copy_graph(r);
  else copy_inputs(r);
  sequence<value> tangent;
  tangent.assign(g.nodes.size(), value{});
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    const int n = g.inputs[i];
    if (active[i]) tangent[std::size_t(n)] = b.input(g[n].type, g[n].dims);
  }
  sequence<value> operand_tangents;
  sequence<sequence<value>> result_tangents;  // of the operations with several results that have tangents
  sequence<int> with_results;
  for (int n = 0; n < g.size() && !b.failed(); ++n) {
    if (g[n].is_input()) continue;
    operand_tangents.clear();
    bool any = false;
    for (int k = 0; k < g[n].operand_count; ++k) {
      operand_tangents.push_back(tangent[std::size_t(g.operand(n, k))]);
      any = any || operand_tangents.back();
    }
    if (any && g[n].op->has.several) {
      sequence<value> results, tangents;
      g[n].op->all->jvp(r.at(n), operand_tangents.data(), results, tangents);
      r.set_results(n, results);
      with_results.push_back(n), result_tangents.push_back(tangents);
      continue;
    }
    if (!in_place) r.copy(n);
    if (g[n].op->kind == role::element) {
      for (std::size_t i = 0; i < with_results.size(); ++i)
        if (with_results[i] == g.operand(n, 0)) tangent[std::size_t(n)] = result_tangents[i][std::size_t(g.attribute(n, 0))];
      continue;
    }
    if (!any || !has_tangent(g[n].type)) continue;
    if (!g[n].op->has.jvp) {
      b.fail(message{} << g[n].op->name << ": has no forward-mode rule (jvp)");
      break;
    }
    call c = r.at(n);
    c.result = r.map[std::size_t(n)];
    tangent[std::size_t(n)] = g[n].op->jvp(c, operand_tangents.data());
  }
  if (b.failed()) return b.finish();
  for (int o : g.outputs) b.g.outputs.push_back(r.map[std::size_t(o)].id);
  for (int o : g.outputs) {
    const value t = tangent[std::size_t(o)];
    b.g.outputs.push_back(t ? t.id : zeros_like(r.map[std::size_t(o)]).id);
  }
  return b.finish();
}

}  // namespace cotangent
