#pragma once
/// Batching of a graph: the pass behind vmap.

#include <cotangent/graph/axes.hpp>
#include <cotangent/transforms/vjp.hpp>

namespace cotangent {

inline constexpr int not_mapped = -1000;

/// v with axis `from` moved to `to`.
constexpr value move_axis(value v, int from, int to) {
  if (from == to) return v;
  const shape rest = erase(axes_from(0, v.rank()), from);
  return transpose(v, insert(rest, to, from));
}

/// The graph that maps `g` over an axis of some inputs. Per input, the axis (of the batched array) or not_mapped; per
/// output, where the batch axis goes, or not_mapped for one that must not depend on it. `size` is the extent of the
/// axis if no input has it (else dyn), `axis` its name, packed, by which collectives in `g` refer to it. Inside, batch axes are at
/// the front.
constexpr graph batch_graph(const graph& g, const sequence<int>& in_axes, const sequence<int>& out_axes, extent size, const shape& axis = {}) {
  builder b;
  b.axis = axis;
  replay r(g, b);
  // A symbol that names an axis of a mapped input names the axis behind the batch axis.
  graph shifted_symbols;
  shifted_symbols.symbols = g.symbols, shifted_symbols.equalities = g.equalities;
  for (symbol& s : shifted_symbols.symbols)
    if (s.what == symbol::input && in_axes[std::size_t(s.a)] != not_mapped && s.b >= in_axes[std::size_t(s.a)]) ++s.b;
  b.take_symbols(shifted_symbols);

  flag_list batched;
  batched.assign(g.nodes.size(), false);
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    const std::size_t n = std::size_t(g.inputs[i]);
    const int axis = in_axes[i];
    if (axis == not_mapped) r.map[n] = b.input(g[int(n)].type, g[int(n)].dims);
    else {
      const extent own = size == dyn ? b.input_extent(axis) : size;
      r.map[n] = move_axis(b.input(g[int(n)].type, insert(g[int(n)].dims, axis, own)), axis, 0);
      if (size == dyn) size = own;
      batched[n] = true;
    }
  }
  constexpr int max_operands = 256;
  bool flags[max_operands] = {};
  sequence<flag_list> result_batched;  // of the operations with several results that are batched
  sequence<int> with_results;
  for (int n = 0; n < g.size() && !b.failed(); ++n) {
    if (g[n].is_input()) continue;
    bool any = false;
    for (int k = 0; k < g[n].operand_count && k < max_operands; ++k) {
      flags[k] = batched[std::size_t(g.operand(n, k))];
      any = any || flags[k];
    }
    if (works_along(g, n, axis)) {
      call c = r.at(n);
      if (size == dyn) b.fail(message{} << c.op->name << " along " << unpacked_name(axis).view() << ": no mapped value beside it has the run-time extent of this axis");
      else r.map[std::size_t(n)] = c.op->along(c, flags, size);
      batched[std::size_t(n)] = c.op->varies;
      continue;
    }
    any = any || body_works_along(g, n, axis);
    if (!any || g[n].op->kind == role::element) {
      r.copy(n);
      if (any)
        for (std::size_t i = 0; i < with_results.size(); ++i)
          if (with_results[i] == g.operand(n, 0)) batched[std::size_t(n)] = result_batched[i][std::size_t(g.attribute(n, 0))];
      continue;
    }
    if (g[n].op->has.several && g[n].operand_count <= max_operands) {
      sequence<value> results;
      flag_list of_results;
      g[n].op->all->batch(r.at(n), flags, size, results, of_results);
      r.set_results(n, results);
      with_results.push_back(n), result_batched.push_back(of_results);
      batched[std::size_t(n)] = true;
      continue;
    }
    if (!g[n].op->has.batch || g[n].operand_count > max_operands) {
      b.fail(message{} << g[n].op->name << ": has no batching rule");
      break;
    }
    call c = r.at(n);
    r.map[std::size_t(n)] = g[n].op->batch(c, flags, size);
    batched[std::size_t(n)] = true;
  }
  for (std::size_t i = 0; i < g.outputs.size() && !b.failed(); ++i) {
    const std::size_t o = std::size_t(g.outputs[i]);
    value v = r.map[o];
    if (out_axes[i] == not_mapped) {
      if (batched[o]) b.fail(message{} << "vmap: out_axes says none, but the output depends on a mapped input: " << v.type() << v.dims() << " is batched");
    } else {
      v = batched_operand(v, batched[o], size);
      v = move_axis(v, 0, out_axes[i]);
    }
    b.g.outputs.push_back(v.id);
  }
  return b.finish();
}

}  // namespace cotangent
