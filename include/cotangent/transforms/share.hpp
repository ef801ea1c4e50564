#pragma once
/// Calls whose results another call computes along with its own run once: the loop of a function beside that of its derivative.

#include <cotangent/graph/replay.hpp>

namespace cotangent {

/// The nodes of `whole` that equal the outputs of `part`, or -1. `inputs`: per input of `part` the number of the input of `whole`
/// that it is, or -1.
constexpr sequence<int> found_within(const graph& whole, const graph& part, const sequence<int>& inputs) {
  builder b;
  b.start_from(whole);
  replay r(part, b);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const int n = part.inputs[i];
    if (inputs[i] < 0) r.map[std::size_t(n)] = b.input(part[n].type, part[n].dims);
    else r.map[std::size_t(n)] = {&b, whole.inputs[std::size_t(inputs[i])]};
  }
  for (int n = 0; n < part.size(); ++n) r.copy(n);
  sequence<int> found;
  for (int o : part.outputs) found.push_back(r.map[std::size_t(o)].id < whole.size() ? r.map[std::size_t(o)].id : -1);
  return found;
}

/// Rewrites a graph so that calls found in others are these others.
class sharing {
 public:
  constexpr explicit sharing(const graph& g) : g_(g) {
    whole_.assign(g.nodes.size(), -1);
    number_.assign(g.nodes.size(), -1);
    for (int n = 0; n < g.size(); ++n)
      if (has_several_results(g[n]) && g[n].op->has.found_in) calls_.push_back(n);
  }

  constexpr graph run() {
    bool any = false;
    for (int part : calls_)
      for (int whole : calls_) any = (whole_[std::size_t(part)] < 0 && whole_[std::size_t(whole)] < 0 && part != whole && share(part, whole)) || any;
    if (any) return in_new_order();
    return g_;
  }

 private:
  const graph& g_;
  sequence<int> calls_;
  sequence<int> whole_;   // per node: of a call, the one that it is found in; of a result of such a call, also
  sequence<int> number_;  // of a result of such a call: its number there

  /// Whether the results of `part` are from now on those of `whole`.
  constexpr bool share(int part, int whole) {
    if (g_[part].op_id != g_[whole].op_id) return false;
    builder b;
    b.g = borrowed(g_);
    sequence<value> part_operands, whole_operands;
    call p = call_at(g_, b, part, part_operands), w = call_at(g_, b, whole, whole_operands);
    p.bodies = w.bodies = &g_.subgraphs;
    const sequence<int> found = g_[part].op->all->found_in(p, w);
    if (found.empty() || needs(whole, part)) return false;
    for (int n = 0; n < g_.size(); ++n) {
      int& number = number_[std::size_t(n)];
      if (whole_[std::size_t(n)] == part) number = number < 0 ? -1 : found[std::size_t(number)];  // found in `part` before
      else if (is_result(n) && g_.operand(n, 0) == part) number = found[std::size_t(g_.attribute(n, 0))];
      else if (n != part) continue;
      whole_[std::size_t(n)] = whole;
    }
    return true;
  }
  constexpr bool is_result(int n) const { return !g_[n].is_input() && g_[n].op->kind == role::element; }

  /// visit(m) of each node that n is computed from.
  template <class Visit> constexpr void each_operand(int n, const Visit& visit) const {
    if (whole_[std::size_t(n)] >= 0) return visit(whole_[std::size_t(n)]);
    for (int k = 0; k < g_[n].operand_count; ++k) visit(g_.operand(n, k));
  }
  /// Whether `n` needs a result of call `part`.
  constexpr bool needs(int n, int part) const {
    flag_list seen;
    seen.assign(g_.nodes.size(), false);
    sequence<int> todo{n};
    while (!todo.empty()) {
      const int at = todo.back();
      todo.pop_back();
      if (at == part) return true;
      each_operand(at, [&](int m) {
        if (!seen[std::size_t(m)]) seen[std::size_t(m)] = true, todo.push_back(m);
      });
    }
    return false;
  }

  /// The graph, each node behind what it needs now.
  constexpr graph in_new_order() const {
    builder b;
    replay r(g_, b);
    copy_inputs(r);
    flag_list done;
    done.assign(g_.nodes.size(), false);
    for (int i : g_.inputs) done[std::size_t(i)] = true;
    sequence<int> todo;
    for (int n : g_.outputs) {
      todo.push_back(n);
      while (!todo.empty()) {
        const int at = todo.back();
        bool ready = true;
        if (!done[std::size_t(at)]) each_operand(at, [&](int m) {
            if (!done[std::size_t(m)]) ready = false, todo.push_back(m);
          });
        if (!ready) continue;
        todo.pop_back();
        if (done[std::size_t(at)]) continue;
        done[std::size_t(at)] = true;
        if (number_[std::size_t(at)] >= 0) r.map[std::size_t(at)] = r.result(whole_[std::size_t(at)], number_[std::size_t(at)]);
        else r.copy(at);
      }
    }
    for (int o : g_.outputs) b.g.outputs.push_back(r.map[std::size_t(o)].id);
    graph made = b.finish();
    own(made);  // its bodies are borrowed
    return made;
  }
};

/// The graph in which calls that others compute along with their own results are not made, nor in its bodies.
constexpr graph share_calls(graph g) {
  if (!g.error.empty() || g.subgraphs.empty()) return g;
  own(g);
  for (graph& body : g.subgraphs) body = share_calls(std::move(body));
  return sharing(g).run();
}

}  // namespace cotangent
