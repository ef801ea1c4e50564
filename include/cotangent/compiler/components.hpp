#pragma once
/// Arrays that are put together of parts, as components that are stacked, and of which then parts are taken again, through views, rolls
/// and pointwise operations: each part goes its own way, and the whole is never made. Sums of parts that zeros are padded to, as the cotangent
/// of an array of which parts were taken, are put together of them.

#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

/// Along each axis `sizes` elements from `starts` on, `strides` apart.
struct part_of_array {
  shape starts, sizes, strides;

  constexpr bool operator==(const part_of_array&) const = default;
  constexpr bool is_whole(int axis, const shape& dims) const { return starts[axis] == 0 && strides[axis] == 1 && sizes[axis] == dims[axis]; }
  constexpr bool is_whole(const shape& dims) const {
    for (int i = 0; i < dims.rank; ++i)
      if (!is_whole(i, dims)) return false;
    return true;
  }
  /// Behind the last element along an axis.
  constexpr extent end(int axis) const { return sizes[axis] == 0 ? starts[axis] : starts[axis] + (sizes[axis] - 1) * strides[axis] + 1; }
};

/// Arrays side by side along an axis, that zeros are padded to.
struct zero_pad {
  sequence<value> parts;
  int axis = -1;  // of several parts
  shape low, high;

  constexpr extent end(int i, const shape& dims) const { return dims[i] - high[i]; }
};
constexpr bool is_zero_pad(value v, zero_pad& p) {
  if (v.get().op_id != primitive_of<pad_p>.id || has_symbol(v.dims()) || !is_constant({v.b, v.b->g.operand(v.id, 1)}, 0)) return false;
  const auto attribute = [&](int part, int axis) { return v.b->g.attribute(v.id, part * v.rank() + axis); };
  p.parts = {value{v.b, v.b->g.operand(v.id, 0)}};
  for (int i = 0; i < v.rank(); ++i) {
    p.low.push_back(attribute(0, i)), p.high.push_back(attribute(1, i));
    if (attribute(2, i) != 0 || p.low[i] < 0 || p.high[i] < 0) return false;
  }
  return true;
}
/// Puts b behind a if that is where it begins, and they differ in nothing else.
constexpr bool append(zero_pad& a, const zero_pad& b, const shape& dims) {
  int axis = -1;
  for (int i = 0; i < dims.rank; ++i) {
    if (a.low[i] == b.low[i] && a.high[i] == b.high[i]) continue;
    if (axis >= 0 || b.low[i] != a.end(i, dims)) return false;
    axis = i;
  }
  if (axis < 0 || (a.axis >= 0 && a.axis != axis) || (b.axis >= 0 && b.axis != axis)) return false;
  for (value v : b.parts) a.parts.push_back(v);
  a.axis = axis, a.high[axis] = b.high[axis];
  return true;
}
/// The sum of terms of which several are arrays that zeros are padded to, as the cotangents of an array's parts: those of the same
/// part added, those of neighbouring parts side by side. Null if there are no such terms.
constexpr value sum_of_parts(const sequence<value>& terms) {
  sequence<zero_pad> pads;
  value sum;
  const auto add = [&](value v) { sum = sum ? sum + v : v; };
  std::size_t found = 0;
  for (value v : terms) {
    zero_pad p;
    if (!is_zero_pad(v, p)) {
      add(v);
      continue;
    }
    ++found;
    bool same = false;
    for (zero_pad& q : pads)
      if (q.low == p.low && q.high == p.high) q.parts[0] = q.parts[0] + p.parts[0], same = true;
    if (!same) pads.push_back(p);
  }
  if (found < 2) return {};
  const shape dims = terms[0].dims(), none = filled(dims.rank, 0);
  for (std::size_t i = 0; i < pads.size(); ++i)
    for (std::size_t k = 0; k < pads.size(); ++k)
      if (i != k && append(pads[i], pads[k], dims)) {
        pads[k] = pads.back();
        pads.count -= 1;
        i = 0, k = std::size_t(-1);  // from the begin
      }
  for (const zero_pad& p : pads) {
    const value whole = p.axis < 0 ? p.parts[0] : concatenate(p.parts, p.axis);
    add(p.low == none && p.high == none ? whole : pad(whole, constant(*whole.b, whole.type(), {}, 0), p.low, p.high, none));
  }
  return sum;
}

class component_pass {
 public:
  explicit constexpr component_pass(const graph& g) : g_(g), r_(g, to_) {
    find_parts();
    find_sums();
    if (any_) uses_ = uses_of(g_);
  }

  /// Whether parts are taken of arrays that are put together of parts, in the graph or in one of its bodies.
  static constexpr bool concerns(const graph& g) {
    if (component_pass(g).any_) return true;
    for (const graph& body : g.subgraphs)
      if (concerns(body)) return true;
    return false;
  }
  constexpr graph run() {
    graph result;
    if (any_) result = rewritten();
    else result = borrowed(g_);
    own(result);
    for (graph& body : result.subgraphs) body = component_pass(borrowed(body)).run();
    return result;
  }

 private:
  const graph& g_;
  builder to_;
  replay r_;
  bool any_ = false;
  flag_list apart_;       // per node: it is of parts, and what uses it takes parts
  flag_list made_apart_;  // the same of the values in the making
  sequence<int> uses_;
  flag_list is_added_;  // per node, if there are sums of pads: it is a term of a sum alone
  struct made_part {
    part_of_array p;
    value v;
    int before;  // the part of the same value that was made before, or -1
  };
  sequence<made_part> made_parts_;
  sequence<int> last_part_;  // per value in the making, or -1

  constexpr bool is(int n, std::uint64_t op) const { return g_.nodes.items[n].op_id == op; }
  /// Whether it is known of which elements of its operands a part of node n is made.
  constexpr bool passes_parts(int n) const {
    const node& x = g_.nodes.items[n];
    if (x.is_input()) return false;
    return x.op->kind == role::pointwise || is(n, primitive_of<slice_p>.id) || is(n, primitive_of<roll_p>.id) || (is(n, primitive_of<reshape_p>.id) && differs_in_ones(g_[g_.operand(n, 0)].dims, x.dims));
  }
  constexpr void find_parts() {
    constexpr double most = 4, large = 0.5;  // that is computed of a pointwise operation, and that a slice takes, in parts of all
    flag_list of_parts;
    bool some = false, slices = false;
    for (int n = 0; n < g_.size(); ++n) {
      some = some || is(n, primitive_of<concatenate_p>.id) || is(n, primitive_of<pad_p>.id) || is(n, primitive_of<roll_p>.id);
      slices = slices || (some && is(n, primitive_of<slice_p>.id));
    }
    if (!slices) return;
    of_parts.assign(g_.nodes.size(), false);
    for (int n = 0; n < g_.size(); ++n) {
      char& made = of_parts.items[n];
      made = is(n, primitive_of<concatenate_p>.id) || is(n, primitive_of<pad_p>.id);
      for (int k = 0; !made && k < g_[n].operand_count && passes_parts(n); ++k) made = of_parts.items[g_.operand(n, k)];
    }
    // Of each node, what is taken, in parts of all; -1: other uses need all of it.
    sequence<double> taken;
    taken.assign(g_.nodes.size(), 0);
    for (int o : g_.outputs) taken.items[o] = -1;
    apart_.assign(g_.nodes.size(), false);
    for (int n = g_.size(); n-- > 0;) {
      const node& x = g_.nodes.items[n];
      const bool slice = is(n, primitive_of<slice_p>.id);
      const double own = taken.items[n];
      const bool computes = !x.is_input() && x.op->kind == role::pointwise;
      apart_.items[n] = (of_parts.items[n] || is(n, primitive_of<roll_p>.id)) && own > 0 && (!computes || own <= most);
      for (int k = 0; k < x.operand_count; ++k) {
        double& of = taken.items[g_.operand(n, k)];
        if (of < 0) continue;
        if (slice && share(n) <= large) of += (own > 0 && apart_.items[n] ? own : 1) * share(n);
        else if (!slice && apart_.items[n] && passes_parts(n)) of += own;
        else of = -1;
      }
    }
    for (int n = 0; n < g_.size(); ++n) any_ = any_ || (is(n, primitive_of<slice_p>.id) && apart_.items[g_.operand(n, 0)]);
  }
  constexpr void find_sums() {
    bool some = false;
    for (int n = 0; n < g_.size() && !some; ++n) some = is(n, primitive_of<add_p>.id) && is(g_.operand(n, 0), primitive_of<pad_p>.id) && is(g_.operand(n, 1), primitive_of<pad_p>.id);
    if (!some) return;
    any_ = true;
    const sequence<int> uses = uses_of(g_);
    is_added_.assign(g_.nodes.size(), false);
    for (int n = 0; n < g_.size(); ++n)
      for (int k = 0; is(n, primitive_of<add_p>.id) && k < 2; ++k) is_added_.items[g_.operand(n, k)] = uses.items[g_.operand(n, k)] == 1;
  }
  /// The sum n, if it puts an array together of parts. Null if it does not.
  constexpr value sum_of_all_parts(int n) {
    if (is_added_.empty() || !is(n, primitive_of<add_p>.id) || is_added_.items[n]) return {};
    sequence<value> terms;
    const auto collect = [&](int term, const auto& self) -> void {
      if (!is(term, primitive_of<add_p>.id) || (term != n && !is_added_.items[term])) return terms.push_back(r_.map.items[term]);
      for (int k = 0; k < 2; ++k) self(g_.operand(term, k), self);
    };
    collect(n, collect);
    sequence<value> pads;
    for (value v : terms) {
      if (zero_pad p; is_zero_pad(v, p)) pads.push_back(v);
      else if (v.get().op_id == primitive_of<concatenate_p>.id && !has_symbol(v.dims())) append_as_pads(v, pads);
      else return {};
    }
    const value sum = sum_of_parts(pads);
    return sum && sum.get().op_id == primitive_of<concatenate_p>.id ? sum : value();
  }
  /// Parts that are side by side, each with zeros in place of the others.
  constexpr void append_as_pads(value whole, sequence<value>& pads) const {
    const int axis = int(to_.g.attribute(whole.id, 0)), count = whole.get().operand_count;
    const shape none = filled(whole.rank(), 0);
    const value zero = constant(*whole.b, whole.type(), {}, 0);
    shape low = none, high = none;
    for (int k = 0; k < count; ++k) {
      const value part = operand(whole, k);
      high[axis] = whole.dims()[axis] - low[axis] - part.dims()[axis];
      pads.push_back(pad(part, zero, low, high, none));
      low[axis] += part.dims()[axis];
    }
  }
  /// What a slice takes of its operand, in parts of all.
  constexpr double share(int n) const {
    const shape &all = g_[g_.operand(n, 0)].dims, &own = g_[n].dims;
    double r = 1;
    for (int i = 0; i < own.rank; ++i)
      if (all[i] != own[i] && !is_symbol(all[i]) && !is_symbol(own[i]) && all[i] > 0) r *= double(own[i]) / double(all[i]);
    return r;
  }

  constexpr graph rewritten() {
    to_.simplifying = true, to_.inlining = false;
    copy_inputs(r_);
    for (int n = 0; n < g_.size(); ++n) {
      if (g_[n].is_input()) continue;
      if (is(n, primitive_of<slice_p>.id)) {
        const call c = r_.at(n);
        r_.map.items[n] = part(c[0], {slice_p::part(c, 0), slice_p::part(c, 1), slice_p::part(c, 2)});
      } else if (const value sum = sum_of_all_parts(n)) r_.map.items[n] = sum;
      else if (const value parts = by_parts(n)) r_.map.items[n] = parts;
      else r_.copy(n);
      if (apart_.empty() || !apart_.items[n]) continue;
      const std::size_t made = std::size_t(r_.map.items[n].id);
      while (made_apart_.size() <= made) made_apart_.push_back(false);
      made_apart_.items[made] = true;
    }
    return replayed(r_);
  }
  /// The pointwise operation or roll n of arrays that are put together alike, for it alone, put together of its own parts. Null if it is none.
  constexpr value by_parts(int n) {
    const bool rolls = is(n, primitive_of<roll_p>.id);
    if (!rolls && g_[n].op->kind != role::pointwise) return {};
    value first;
    for (int k = 0; k < (rolls ? 1 : g_[n].operand_count); ++k) {
      const int o = g_.operand(n, k);
      const value v = r_.map.items[o];
      if (v.get().op_id == primitive_of<broadcast_in_dim_p>.id || is_constant(v)) continue;
      if (v.get().op_id != primitive_of<concatenate_p>.id || uses_.items[o] != 1 || (first && !are_alike(first, v))) return {};
      first = v;
    }
    if (!first || has_symbol(first.dims())) return {};
    const int axis = int(to_.g.attribute(first.id, 0)), count = first.get().operand_count;
    if (rolls && g_.attribute(n, 0) == axis) return {};
    const call whole = r_.at(n);
    sequence<value> operands, parts;
    for (int k = 0; k < whole.count; ++k) operands.push_back(whole[k]);
    part_of_array p{filled(first.rank(), 0), first.dims(), filled(first.rank(), 1)};
    for (int i = 0; i < count; ++i) {
      p.sizes[axis] = operand(first, i).dims()[axis];
      sequence<value> own = operands;
      for (int k = 0; k < (rolls ? 1 : whole.count); ++k) own[std::size_t(k)] = part(operands[std::size_t(k)], p);
      call c = whole;
      c.operands = own.data(), c.dims = p.sizes;
      parts.push_back(rolls ? without_ones(own[0], own[1], int(c.attribute(0)), c.attribute(1) != 0) : to_.emit_inferred(c));
      p.starts[axis] += p.sizes[axis];
    }
    return concatenate(parts, axis);
  }
  constexpr bool are_alike(value a, value b) const {
    bool alike = to_.g.attribute(a.id, 0) == to_.g.attribute(b.id, 0) && a.get().operand_count == b.get().operand_count;
    for (int k = 0; alike && k < a.get().operand_count; ++k) alike = operand(a, k).dims() == operand(b, k).dims();
    return alike;
  }
  /// A part of x, of its own parts where that is known.
  constexpr value part(value x, const part_of_array& p) {
    if (p.is_whole(x.dims())) return x;
    while (int(last_part_.size()) <= x.id) last_part_.push_back(-1);
    for (int i = last_part_[std::size_t(x.id)]; i >= 0; i = made_parts_[std::size_t(i)].before)
      if (made_parts_[std::size_t(i)].p == p) return made_parts_[std::size_t(i)].v;
    value v = of_own_parts(x, p);
    if (!v) v = slice(x, p.starts, p.sizes, p.strides);
    made_parts_.push_back({p, v, last_part_[std::size_t(x.id)]});
    last_part_[std::size_t(x.id)] = int(made_parts_.size()) - 1;
    return v;
  }
  constexpr value of_own_parts(value x, const part_of_array& p) {
    const std::uint64_t op = x.get().op_id;
    if (op == primitive_of<broadcast_in_dim_p>.id) return part_of_broadcast(x, p);
    if (op == primitive_of<concatenate_p>.id) return part_of_concatenation(x, p);
    if (std::size_t(x.id) >= made_apart_.size() || !made_apart_.items[x.id]) return {};
    if (op == primitive_of<pad_p>.id) return part_of_pad(x, p);
    if (op == primitive_of<slice_p>.id) return part_of_slice(x, p);
    if (op == primitive_of<roll_p>.id) return part_of_roll(x, p);
    if (op == primitive_of<reshape_p>.id) return part_of_reshape(x, p);
    return !x.get().is_input() && x.get().op->kind == role::pointwise ? part_of_pointwise(x, p) : value();
  }
  constexpr value operand(value x, int k) const { return {x.b, x.b->g.operand(x.id, k)}; }
  constexpr value part_of_broadcast(value x, const part_of_array& p) {
    const shape axes = broadcast_in_dim_p::axes(call_at(to_.g, x.id));
    const value from = operand(x, 0);
    part_of_array of;
    for (int i = 0; i < axes.rank; ++i) {
      const int axis = int(axes[i]);
      const bool repeats = from.dims()[i] == 1;
      of.starts.push_back(repeats ? 0 : p.starts[axis]), of.sizes.push_back(repeats ? 1 : p.sizes[axis]), of.strides.push_back(repeats ? 1 : p.strides[axis]);
    }
    return broadcast_in_dim(part(from, of), p.sizes, axes);
  }
  constexpr value part_of_concatenation(value x, const part_of_array& p) {
    const int axis = int(to_.g.attribute(x.id, 0));
    extent before = 0;
    for (int k = 0; k < x.get().operand_count; ++k) {
      const extent n = operand(x, k).dims()[axis];
      if (is_symbol(n) || is_symbol(p.sizes[axis]) || p.starts[axis] < before) return {};
      if (p.end(axis) <= before + n) {
        part_of_array of = p;
        of.starts[axis] -= before;
        return part(operand(x, k), of);
      }
      before += n;
    }
    return {};
  }
  /// Of axes of which a part is taken, either all of that lies inside, or nothing.
  constexpr value part_of_pad(value x, const part_of_array& p) {
    const value from = operand(x, 0), padding = operand(x, 1);
    const int rank = x.rank();
    shape low, high, interior;
    part_of_array of;
    for (int i = 0; i < rank; ++i) {
      const extent n = from.dims()[i];
      low.push_back(to_.g.attribute(x.id, i)), high.push_back(to_.g.attribute(x.id, rank + i)), interior.push_back(to_.g.attribute(x.id, 2 * rank + i));
      of.starts.push_back(0), of.sizes.push_back(n), of.strides.push_back(1);
      if (p.is_whole(i, x.dims())) continue;
      if (is_symbol(n) || is_symbol(p.sizes[i]) || interior[i] != 0) return {};
      if (p.end(i) <= low[i] || p.starts[i] >= low[i] + n) return broadcast_in_dim(padding, p.sizes, {});
      if (p.starts[i] < low[i] || p.end(i) > low[i] + n) return {};
      of.starts[i] = p.starts[i] - low[i], of.sizes[i] = p.sizes[i], of.strides[i] = p.strides[i];
      low[i] = high[i] = 0;
    }
    return pad(part(from, of), padding, low, high, interior);
  }
  constexpr value part_of_slice(value x, const part_of_array& p) {
    const auto attribute = [&](int k, int i) { return to_.g.attribute(x.id, k * x.rank() + i); };
    part_of_array of = p;
    for (int i = 0; i < x.rank(); ++i) {
      if (is_symbol(attribute(0, i))) return {};
      of.starts[i] = attribute(0, i) + p.starts[i] * attribute(2, i), of.strides[i] = p.strides[i] * attribute(2, i);
    }
    return part(operand(x, 0), of);
  }
  constexpr value part_of_roll(value x, const part_of_array& p) {
    const int axis = int(to_.g.attribute(x.id, 0));
    const bool back = to_.g.attribute(x.id, 1) != 0;
    const value shift = operand(x, 1);
    return p.is_whole(axis, x.dims()) ? without_ones(part(operand(x, 0), p), shift, axis, back) : value();
  }
  /// A roll without the other axes of one element, which windows would look along.
  constexpr value without_ones(value x, value shift, int axis, bool back) {
    const shape dims = x.dims();
    shape others;
    int along = 0;
    for (int i = 0; i < dims.rank; ++i) {
      if (i == axis) along = others.rank;
      if (i == axis || dims[i] != 1) others.push_back(dims[i]);
    }
    return reshape(roll(reshape(x, others), shift, along, back), dims);
  }
  constexpr value part_of_reshape(value x, const part_of_array& p) {
    const value from = operand(x, 0);
    const shape dims = from.dims(), to = x.dims();
    if (!differs_in_ones(dims, to)) return {};
    part_of_array of;
    for (int i = 0, j = 0; i < dims.rank; ++i) {
      while (dims[i] != 1 && to[j] == 1) ++j;
      const bool own = dims[i] != 1;
      of.starts.push_back(own ? p.starts[j] : 0), of.sizes.push_back(own ? p.sizes[j] : 1), of.strides.push_back(own ? p.strides[j] : 1);
      j += own;
    }
    for (int j = 0; j < to.rank; ++j)
      if (to[j] == 1 && p.sizes[j] != 1) return {};
    return reshape(part(from, of), p.sizes);
  }
  constexpr value part_of_pointwise(value x, const part_of_array& p) {
    copied_call c(x);
    for (value& o : c.own_operands) o = part(o, p);
    c.dims = p.sizes, c.result = {};
    return to_.emit_inferred(c);
  }
  /// Whether the shapes differ in axes of one element at most.
  static constexpr bool differs_in_ones(const shape& a, const shape& b) {
    shape of_a, of_b;
    for (extent e : a)
      if (e != 1) of_a.push_back(e);
    for (extent e : b)
      if (e != 1) of_b.push_back(e);
    return of_a == of_b;
  }
};

}  // namespace cotangent
