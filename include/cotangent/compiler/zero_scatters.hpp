#pragma once
/// Scatters into zeros, which are the cotangents of reads at computed places, without the zeros.

#include <cotangent/graph/replay.hpp>
#include <cotangent/primitives/primitives.hpp>

namespace cotangent {

/// Sums of such scatters and of what lies in memory of its own, as a loop's sum of cotangents does: the scatters can add to that.
class zero_scatters {
 public:
  /// `uses`: of each node.
  constexpr zero_scatters(const graph& g, const sequence<int>& uses) : g_(g), uses_(uses) {
    bool any = false;
    for (int n = 0; n < g.size() && !any; ++n) any = adds_to_zeros(n);
    if (!any) return;
    kinds_.assign(g.nodes.size(), other), operand_.assign(g.nodes.size(), -1);
    for (int n = 0; n < g.size(); ++n) {
      if (g[n].is_input() || g[n].op->kind == role::element) kinds_[std::size_t(n)] = kept;
      else if (adds_to_zeros(n)) kinds_[std::size_t(n)] = scattered;
      else if (is_sum(n)) kinds_[std::size_t(n)] = sum_of(kind_of(g.operand(n, 0)), kind_of(g.operand(n, 1)));
    }
    for (int n = g.size(); n-- > 0;)
      for (int k = 2; k-- > 0 && is_sum(n) && kinds_[std::size_t(n)] != absorbed && operand_[std::size_t(n)] < 0;)
        if (kind_of(g.operand(n, k)) == scattered && kind_of(g.operand(n, 1 - k)) != other) {
          operand_[std::size_t(n)] = k;
          absorb(g.operand(n, k));
        }
  }

  /// Whether the scatter n is added to something else.
  constexpr bool is_added(int n) const { return !kinds_.empty() && kinds_[std::size_t(n)] == absorbed; }
  /// The number of the operand of the sum n that consists of such scatters, or -1.
  constexpr int operand_in(int n) const { return operand_.empty() ? -1 : operand_[std::size_t(n)]; }
  /// visit(s) for each scatter s that the sum n consists of, itself if it is one.
  template <class Visit> constexpr void each(int n, const Visit& visit) const {
    if (!is_sum(n)) return visit(n);
    for (int k = 0; k < 2; ++k) each(g_.operand(n, k), visit);
  }

 private:
  enum kind { other, kept, scattered, absorbed };
  const graph& g_;
  const sequence<int>& uses_;
  sequence<kind> kinds_;
  sequence<int> operand_;

  constexpr bool is_sum(int n) const { return g_[n].op_id == primitive_of<add_p>.id; }
  constexpr bool adds_to_zeros(int n) const {
    if (g_[n].op_id != primitive_of<scatter_add_p>.id) return false;
    const node& to = g_[g_.operand(n, 0)];
    return to.op_id == primitive_of<constant_p>.id && to.bits == 0;
  }
  static constexpr kind sum_of(kind a, kind b) { return a == scattered && b == scattered ? scattered : (a == scattered && b == kept) || (a == kept && b == scattered) ? kept : other; }
  /// Of an operand.
  constexpr kind kind_of(int n) const { return uses_[std::size_t(n)] == 1 || g_[n].is_input() ? kinds_[std::size_t(n)] : other; }
  constexpr void absorb(int n) {
    kinds_[std::size_t(n)] = absorbed;
    for (int k = 0; k < 2 && is_sum(n); ++k) absorb(g_.operand(n, k));
  }
};

/// The scatter `s`, into zeros, into x instead.
constexpr value scatter_into(value s, value x) {
  copied_call c(s);
  c.own_operands[0] = x;
  return s.b->emit_inferred(c);
}

/// A scatter of at most one update to each element of zeros as a choice between the update and zero, which kernels compute where it is
/// used: the cotangent of one element of each row. Null for another.
constexpr value chosen_updates(const call& c) {
  if ((c.op->id != primitive_of<scatter_add_p>.id && c.op->id != primitive_of<scatter_p>.id) || !is_constant(c[0]) || c[0].get().bits != 0) return {};
  const addressing a = address_from(c, 1);
  const shape updates = c[1].dims();
  shape dims, to;  // of the updates, those of more than one element; and the operand's axes along which they lie
  for (int d = 0; d < updates.rank; ++d) {
    int axis = -1;
    for (int i = 0; i < a.rank; ++i)
      if (a.axes[i].dimension == d && a.axes[i].index < 0 && updates[d] == c.dims[i]) axis = i;
    if (axis < 0 && updates[d] == 1) continue;
    if (axis < 0 || (to.rank > 0 && to[to.rank - 1] >= axis)) return {};
    dims.push_back(updates[d]), to.push_back(axis);
  }
  const auto spread = [&](value x) { return broadcast_in_dim(reshape(x, dims), c.dims, to); };
  value here;
  for (int i = 0; i < a.rank; ++i) {
    if (to.contains(i)) continue;
    if (a.axes[i].index < 0) {
      if (c.dims[i] != 1) return {};
      continue;
    }
    const value index = c[2 + a.axes[i].index], same = eq(iota(*c.b, index.type(), c.dims, i), spread(index));
    here = both_hold(here, same);
  }
  return here.b ? select(here, spread(c[1]), zeros_like(c[0])) : value();
}

}  // namespace cotangent
