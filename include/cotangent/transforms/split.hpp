#pragma once
/// Splitting a graph into what can be computed early and what must wait for later inputs: the two halves of reverse mode.

#include <cotangent/graph/part.hpp>
#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

/// The identity on a value that a checkpoint's policy lets the backward pass keep.
struct saveable_p : differentiable<saveable_p> {
  static constexpr std::string_view name = "saveable";
  static constexpr double flops = 0;
  static constexpr value simplify(const call& c) { return c.b->inlining ? c[0] : value(); }
  static constexpr value derivative(const call&, int, value g) { return g; }
  static constexpr bool linear(const call&, int) { return true; }
};

/// What an early input costs the late half.
enum class availability : char {
  late,       // not an early input
  stored,     // it must be kept, like a computed value
  there,      // the late half has it anyway
  invariant   // so is everything that is computed from it
};

/// What the late half keeps of the early one.
enum class residuals {
  cheapest,  // what is cheap is computed again, if that does not keep more bytes
  saveable   // only values that saveable_p marks; all others are computed again
};

struct halves {
  graph early;             // the inputs of the whole; its first outputs, then the residuals
  graph late;              // the residuals, then the late inputs, then the early inputs `more`; the other outputs
  sequence<int> more;
  std::size_t kept = 0;    // the number of residuals
};

/// Chooses residuals of a graph that runs `turns` times: marks the nodes of `g` that are kept.
class residual_choice {
 public:
  constexpr residual_choice(const graph& g, const sequence<availability>& inputs, residuals policy, extent turns) : g_(g), policy_(policy), turns_(turns) {
    kept.assign(g.nodes.size(), false);
    known.assign(g.nodes.size(), true);
    invariant_.assign(g.nodes.size(), true);
    there_.assign(g.nodes.size(), false);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::size_t n = std::size_t(g.inputs[i]);
      known[n] = inputs[i] != availability::late;
      there_[n] = inputs[i] == availability::there || inputs[i] == availability::invariant;
      invariant_[n] = inputs[i] == availability::invariant;
    }
    for (int n = 0; n < g.size(); ++n)
      for (int k = 0; k < g[n].operand_count; ++k) {
        const std::size_t o = std::size_t(g.operand(n, k));
        if (!known[o]) known[std::size_t(n)] = false;
        if (!invariant_[o]) invariant_[std::size_t(n)] = false;
      }
  }

  /// Keeps what the late half needs to use the nodes `wanted`, which are known.
  constexpr void keep_for(const sequence<int>& wanted) {
    for (int n : wanted)
      if (policy_ == residuals::saveable) keep_marked(n);
      else if (!is_free(n) && !is_cheap(n)) kept[std::size_t(n)] = true;
    if (policy_ == residuals::saveable) return;
    // A value that several others are cheaply computed from is kept instead of them, if it is smaller than they are
    // together; then the others one by one.
    sequence<sequence<int>> leaves;
    sequence<int> nodes, candidates;
    for (int n : wanted) {
      if (is_free(n) || kept[std::size_t(n)]) continue;
      sequence<int> of_n;
      find_leaves(n, of_n);
      nodes.push_back(n), leaves.push_back(of_n);
      for (int l : of_n)
        if (!contains(candidates, l)) candidates.push_back(l);
    }
    const auto missing = [&](std::size_t i) {
      int count = 0;
      for (int l : leaves[i]) count += !kept[std::size_t(l)];
      return count;
    };
    for (int l : candidates) {
      double served = 0;
      for (std::size_t i = 0; i < nodes.size(); ++i)
        if (!kept[std::size_t(l)] && missing(i) == 1 && contains(leaves[i], l)) served += size(nodes[i]);
      if (served > 0 && size(l) <= served) kept[std::size_t(l)] = true;
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      double bytes = 0;
      for (int l : leaves[i])
        if (!kept[std::size_t(l)]) bytes += size(l);
      if (bytes > size(nodes[i])) kept[std::size_t(nodes[i])] = true;
      else
        for (int l : leaves[i]) kept[std::size_t(l)] = true;
    }
    give_up_what_is_near(wanted);
  }

  flag_list kept, known;

 private:
  static constexpr std::size_t most_leaves = 8, most_operations = 8, most_visits = 64;
  const graph& g_;
  residuals policy_;
  extent turns_;
  flag_list invariant_, there_;

  static constexpr double extent_or_many(extent e) { return is_symbol(e) ? 1024.0 : double(e); }
  constexpr double size(int n) const {
    double bytes = double(size_of(g_[n].type));
    for (extent e : g_[n].dims) bytes *= extent_or_many(e);
    return bytes;
  }
  constexpr bool is_free(int n) const { return there_[std::size_t(n)] || (invariant_[std::size_t(n)] && !g_[n].is_input()); }
  /// Whether it takes less to compute n again than to write and read it. What moves elements may store them on the way: that takes less if
  /// those of all turns would lie behind the caches.
  constexpr bool is_cheap(int n) const {
    constexpr double near_bytes = 1 << 20;
    if (g_[n].is_input()) return false;
    const role k = g_[n].op->kind;
    if (moves_elements(n)) return size(n) * extent_or_many(turns_) >= near_bytes;
    return k == role::view || (k == role::pointwise && g_[n].op->flops <= 2) || g_[n].op_id == primitive_of<reshape_p>.id;
  }
  constexpr bool moves_elements(int n) const {
    const std::uint64_t op = g_[n].op_id;
    if (op == primitive_of<roll_p>.id) return g_[g_.operand(n, 1)].op_id == primitive_of<constant_p>.id;
    return op == primitive_of<pad_p>.id || op == primitive_of<concatenate_p>.id;
  }
  static constexpr bool contains(const sequence<int>& list, int n) {
    for (int x : list)
      if (x == n) return true;
    return false;
  }
  /// What n is cheaply computed from; n itself if that is too much.
  constexpr void find_leaves(int n, sequence<int>& leaves) const {
    sequence<int> visited;
    add_leaves(n, leaves, visited);
    if (leaves.size() <= most_leaves && visited.size() <= most_visits) return;
    leaves.clear();
    leaves.push_back(n);
  }
  constexpr void add_leaves(int n, sequence<int>& leaves, sequence<int>& visited) const {
    if (visited.size() > most_visits || is_free(n) || contains(visited, n)) return;
    visited.push_back(n);
    if (!is_cheap(n)) leaves.push_back(n);
    else
      for (int k = 0; k < g_[n].operand_count; ++k) add_leaves(g_.operand(n, k), leaves, visited);
  }
  /// Gives up values that a few operations compute from what is kept besides and from what is computed again anyway.
  constexpr void give_up_what_is_near(const sequence<int>& wanted) {
    flag_list again;
    again.assign(g_.nodes.size(), false);
    sequence<int> more;
    const auto take = [&] {
      for (int m : more) again[std::size_t(m)] = true;
      more.clear();
    };
    for (int n : wanted) {
      if (!is_there(n, again) && !find_operations(n, again, more, g_.nodes.size())) more.clear();
      take();
    }
    for (int n = g_.size(); n-- > 0;) {
      if (!kept[std::size_t(n)]) continue;
      kept[std::size_t(n)] = false;
      if (!find_operations(n, again, more, most_operations)) kept[std::size_t(n)] = true, more.clear();
      take();
    }
  }
  constexpr bool is_there(int n, const flag_list& again) const { return is_free(n) || kept[std::size_t(n)] || again[std::size_t(n)]; }
  /// Adds to `more` what computes n of what is there; false if it is not cheap, or more than so many operations.
  constexpr bool find_operations(int n, const flag_list& again, sequence<int>& more, std::size_t most) const {
    if (!is_cheap(n) || more.size() == most) return false;
    more.push_back(n);
    for (int k = 0; k < g_[n].operand_count; ++k)
      if (const int o = g_.operand(n, k); !is_there(o, again) && !contains(more, o) && !find_operations(o, again, more, most)) return false;
    return true;
  }
  constexpr void keep_marked(int n) {
    flag_list seen;
    seen.assign(g_.nodes.size(), false);
    seen[std::size_t(n)] = true;
    for (int m = n; m >= 0; --m) {
      if (!seen[std::size_t(m)] || there_[std::size_t(m)]) continue;
      if (g_[m].is_input() || g_[m].op_id == primitive_of<saveable_p>.id) kept[std::size_t(m)] = true;
      else
        for (int k = 0; k < g_[m].operand_count; ++k) seen[std::size_t(g_.operand(m, k))] = true;
    }
  }
};

/// Splits `g`, which runs `turns` times: its first `outputs` outputs do not depend on late inputs; the others are computed by the late half.
constexpr halves split(const graph& g, const sequence<availability>& inputs, std::size_t outputs, residuals policy, extent turns = 1) {
  residual_choice choice(g, inputs, policy, turns);
  flag_list needed;
  needed.assign(g.nodes.size(), false);
  sequence<int> late_outputs, wanted;
  for (std::size_t o = outputs; o < g.outputs.size(); ++o) late_outputs.push_back(g.outputs[o]), needed[std::size_t(g.outputs[o])] = true;
  for (int n = g.size(); n-- > 0;)
    if (needed[std::size_t(n)] && !choice.known[std::size_t(n)])
      for (int k = 0; k < g[n].operand_count; ++k) needed[std::size_t(g.operand(n, k))] = true;
  for (int n = 0; n < g.size(); ++n)
    if (needed[std::size_t(n)] && choice.known[std::size_t(n)]) wanted.push_back(n);
  choice.keep_for(wanted);
  halves h;
  sequence<int> late_inputs;
  h.early = g;
  h.early.outputs.clear();
  for (std::size_t o = 0; o < outputs; ++o) h.early.outputs.push_back(g.outputs[o]);
  for (int n = 0; n < g.size(); ++n)
    if (choice.kept[std::size_t(n)]) late_inputs.push_back(n), h.early.outputs.push_back(n);
  h.kept = late_inputs.size();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] == availability::late) late_inputs.push_back(g.inputs[i]);
  h.late = part_of(g, late_inputs, late_outputs, h.more);
  sequence<int> early_inputs, early_outputs = h.early.outputs, none;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] != availability::late) early_inputs.push_back(g.inputs[i]);
  h.early = part_of(g, early_inputs, early_outputs, none);
  return h;
}

}  // namespace cotangent
