#pragma once
/// Two axes of instances around a loop, as a vmap in a vmap makes them, become one: then all that is known of loops over many
/// instances, such as carries in registers, is done over all of them and not row by row.

#include <cotangent/compiler/axes.hpp>
#include <cotangent/compiler/sums_after_loops.hpp>
#include <cotangent/control/while_primitive.hpp>
#include <cotangent/graph/freeze.hpp>

namespace cotangent {

/// The extents of the two axes.
struct axis_pair {
  extent first = 0, second = 0;
  constexpr extent both() const { return first * second; }

  /// The leading two axes of an array, if they may be those of instances; else they have extent 0.
  static constexpr axis_pair of(const shape& dims) {
    constexpr extent least_second = 8, least = 256;
    if (dims.rank < 2 || is_symbol(dims[0]) || is_symbol(dims[1]) || dims[0] < 2 || dims[1] < least_second || dims[0] * dims[1] < least) return {};
    return {dims[0], dims[1]};
  }
};
/// Where an array has the two axes; -1: it has not.
struct pair_places {
  int first = -1, second = -1;

  constexpr bool any() const { return first >= 0 || second >= 0; }
  constexpr bool both() const { return first >= 0 && second >= 0; }
  constexpr bool has(int axis) const { return axis >= 0 && (axis == first || axis == second); }
  /// The axis of all instances, when they are merged: the first, of which there are as many as of both, while the second has extent 1.
  constexpr int merged() const { return first >= 0 ? first : second; }
  constexpr pair_places moved(int by) const { return {first < 0 ? -1 : first + by, second < 0 ? -1 : second + by}; }
  constexpr bool operator==(const pair_places&) const = default;
};
/// The shape of an array with the axes merged. One that has a single one of them is repeated along the other.
constexpr shape merged(shape dims, const pair_places& places, const axis_pair& pair) {
  if (places.both()) dims[places.second] = 1;
  if (places.any()) dims[places.merged()] = pair.both();
  return dims;
}

/// The body of a loop whose arrays have the two axes.
class merged_body {
 public:
  constexpr merged_body(const graph& g, const axis_pair& pair) : g_(g), pair_(pair) {
    original_.take_symbols(g);
    original_.g = borrowed(g);
    places_.assign(g.nodes.size(), pair_places());
  }

  constexpr pair_places of_input(std::size_t i) const { return places_[std::size_t(g_.inputs[i])]; }
  constexpr pair_places of_output(std::size_t o) const { return places_[std::size_t(g_.outputs[o])]; }
  constexpr void set_input(std::size_t i, const pair_places& p) { set(g_.inputs[i], p); }
  /// Of the carries, which begin at input `first`, number `largest` has the axes in front.
  constexpr void set_carries(std::size_t first, std::size_t count, std::size_t largest) {
    first_carry_ = first, carries_ = count;
    set_input(first + largest, {0, 1});
  }

  /// Finds where the other arrays have the axes.
  constexpr void find() {
    while (changed_ && fits_) {
      changed_ = false;
      for (std::size_t k = 0; k < carries_; ++k) same(g_.inputs[first_carry_ + k], g_.outputs[k]);
      for (int n = 0; n < g_.size() && fits_; ++n) link(n);
      for (int n = g_.size(); n-- > 0 && fits_;) link(n);
    }
  }
  /// Whether all that is done to them is done instance by instance.
  constexpr bool fits() {
    find();
    for (int n = 0; n < g_.size() && fits_; ++n) fits_ = works_by_instance(n);
    for (std::size_t k = 0; k < carries_; ++k) fits_ = fits_ && of_input(first_carry_ + k) == of_output(k);
    for (std::size_t o = 0; o < g_.outputs.size(); ++o) fits_ = fits_ && (!of_output(o).both() || of_output(o).second == of_output(o).first + 1);
    return fits_ = fits_ && repeats_little();
  }

  /// Whether node n reduces one of the axes of an array that has both.
  constexpr bool sums_along_one(int n) const {
    const pair_places &from = places_[std::size_t(g_.operand(n, 0))], &to = places_[std::size_t(n)];
    return fits_ && from.both() && to.any() && !to.both();
  }

  /// The body with the axes merged; it has an error if something does not go along.
  constexpr graph run() {
    builder b;
    replay r(g_, b);
    for (int i : g_.inputs) r.map[std::size_t(i)] = b.input(g_[i].type, merged(g_[i].dims, places_[std::size_t(i)], pair_));
    for (int n = 0; n < g_.size() && !b.failed(); ++n) {
      if (g_[n].is_input()) continue;
      sequence<extent> attributes = merged_attributes(n);
      call c = r.at(n);
      c.attributes = attributes.data(), c.dims = merged(g_[n].dims, places_[std::size_t(n)], pair_);
      const shape dims = c.dims;
      r.map[std::size_t(n)] = b.emit_inferred(c);
      if (g_[n].op->kind != role::source) check(b, c, dims);
    }
    for (int o : g_.outputs) b.g.outputs.push_back(r.map[std::size_t(o)].id);
    return b.finish();
  }

 private:
  const graph& g_;
  const axis_pair pair_;
  builder original_;
  sequence<pair_places> places_;  // per node
  std::size_t first_carry_ = 0, carries_ = 0;
  bool changed_ = true, fits_ = true;

  constexpr bool is(int n, std::uint64_t op) const { return g_[n].op_id == op; }
  static constexpr void check(builder& b, call c, const shape& dims) {
    c.dims = {};
    c.op->infer(c);
    if (!b.failed() && c.dims != dims) b.fail(message{} << c.op->name << ": its axes of instances cannot be merged");
  }

  /// Whether what is computed along one of the axes alone, which would be repeated along the other, is a small part of all. Where a vmap of
  /// tangents is in one of states, it is not: what the states need is computed once for all tangents.
  constexpr bool repeats_little() const {
    constexpr double most = 0.25;
    double one = 0, all = 0;
    for (int n = 0; n < g_.size(); ++n) {
      const pair_places& p = places_[std::size_t(n)];
      if (g_[n].is_input() || !p.any() || has_symbol(g_[n].dims)) continue;
      const double operations = g_[n].op->flops * double(merged(g_[n].dims, p, pair_).size());
      all += operations;
      if (!p.both()) one += operations;
    }
    return one <= most * all;
  }

  constexpr void set(int n, const pair_places& p) {
    pair_places& q = places_[std::size_t(n)];
    const auto take = [&](int& axis, int from, extent e) {
      if (from < 0 || from == axis) return;
      fits_ = fits_ && axis < 0 && g_[n].dims[from] == e;
      axis = from, changed_ = true;
    };
    take(q.first, p.first, pair_.first), take(q.second, p.second, pair_.second);
    fits_ = fits_ && (!q.both() || q.first != q.second);
  }
  constexpr void same(int a, int b) { set(a, places_[std::size_t(b)]), set(b, places_[std::size_t(a)]); }
  /// Axis i of operand o is axis j of node n.
  constexpr void link(int o, int i, int n, int j) {
    if (i < 0 || j < 0 || g_[o].dims[i] != g_[n].dims[j]) return;
    const pair_places a = places_[std::size_t(o)], b = places_[std::size_t(n)];
    if (a.has(i)) set(n, i == a.first ? pair_places{j, -1} : pair_places{-1, j});
    else if (b.has(j)) set(o, j == b.first ? pair_places{i, -1} : pair_places{-1, i});
  }
  /// f(k, i, j) for each axis i of operand k of node n that goes along axis j of the result.
  template <class F> constexpr void each_axis(int n, const F& f) {
    sequence<value> operands;
    if (!g_[n].is_input()) each_axis_of(call_at(g_, original_, n, operands), f);
  }
  constexpr void link(int n) {
    each_axis(n, [&](int k, int i, int j) { link(g_.operand(n, k), i, n, j); });
    fits_ = fits_ && leaves_alone(n);
  }
  /// Whether node n neither cuts nor turns nor counts along the axes that its result has.
  constexpr bool leaves_alone(int n) const {
    const pair_places& to = places_[std::size_t(n)];
    if (!to.any()) return true;
    const node& x = g_[n];
    bool fits = true;
    if (is(n, primitive_of<iota_p>.id)) return !to.has(int(g_.attribute(n, x.dims.rank)));
    if (is(n, primitive_of<concatenate_p>.id) || is(n, primitive_of<roll_p>.id)) return !to.has(int(g_.attribute(n, 0)));
    if (is(n, primitive_of<reverse_p>.id))
      for (int k = 0; k < x.attribute_count; ++k) fits = fits && !to.has(int(g_.attribute(n, k)));
    if (is(n, primitive_of<slice_p>.id) || is(n, primitive_of<pad_p>.id))
      for (int i : {to.first, to.second})
        for (int k = 0; k < 3 && i >= 0; ++k)
          fits = fits && g_.attribute(n, k * x.dims.rank + i) == (is(n, primitive_of<pad_p>.id) || k == 0 ? 0 : k == 1 ? x.dims[i] : 1);
    return fits;
  }

  /// Whether node n has nothing to do with the axes, or does all along them that it does.
  constexpr bool works_by_instance(int n) {
    const node& x = g_[n];
    const pair_places& to = places_[std::size_t(n)];
    if (x.is_input()) return true;
    sequence<value> operands;
    const call c = call_at(g_, original_, n, operands);
    flag_list kept_first, kept_second;  // per operand, whether its first and its second axis go along those of the result
    kept_first.assign(std::size_t(c.count), false), kept_second.assign(std::size_t(c.count), false);
    bool fits = true;
    each_axis(n, [&](int k, int i, int j) {
      const pair_places from = places_[std::size_t(c[k].id)];
      if (i == from.first && j == to.first) kept_first[std::size_t(k)] = true;
      else if (i == from.second && j == to.second) kept_second[std::size_t(k)] = true;
      else if (from.has(i) || to.has(j)) fits = false;
    });
    int of_instances = 0;
    for (int k = 0; k < c.count; ++k) {
      const pair_places from = places_[std::size_t(c[k].id)];
      of_instances += from.any();
      if (from.both() && !to.any() && x.op->kind == role::reduction) continue;  // of all instances
      fits = fits && (from.first < 0 || kept_first[std::size_t(k)]) && (from.second < 0 || kept_second[std::size_t(k)]);
    }
    if (!fits || (!to.any() && of_instances == 0)) return fits;
    if (is(n, primitive_of<dot_general_p>.id) && of_instances == 2) {  // along a batch
      const dot_dimensions d = dot_general_p::dimensions(c);
      for (int k = 0; k < 2; ++k) fits = fits && (k == 0 ? d.lhs_batch : d.rhs_batch).contains(places_[std::size_t(c[k].id)].merged());
      return fits && places_[std::size_t(c[0].id)].merged() >= 0;
    }
    if (!leaves_alone(n)) return false;
    for (std::uint64_t id : {primitive_of<constant_p>.id, primitive_of<iota_p>.id, primitive_of<reverse_p>.id, primitive_of<concatenate_p>.id, primitive_of<roll_p>.id, primitive_of<slice_p>.id, primitive_of<pad_p>.id})
      if (x.op_id == id) return true;
    return x.op->kind == role::pointwise || x.op->kind == role::reduction || x.op->kind == role::gather ||
           is(n, primitive_of<broadcast_in_dim_p>.id) || is(n, primitive_of<transpose_p>.id) || is(n, primitive_of<reshape_p>.id) || is(n, primitive_of<dot_general_p>.id);
  }

  constexpr sequence<extent> merged_attributes(int n) const {
    const node& x = g_[n];
    const pair_places& to = places_[std::size_t(n)];
    sequence<extent> r;
    for (int k = 0; k < x.attribute_count; ++k) r.push_back(g_.attribute(n, k));
    if (!to.any()) return r;
    const shape dims = merged(x.dims, to, pair_);
    const int rank = dims.rank, at = x.op->kind == role::gather ? 1 : is(n, primitive_of<slice_p>.id) ? rank : 0;
    const bool names_extents = x.op->kind == role::gather || is(n, primitive_of<slice_p>.id) || is(n, primitive_of<iota_p>.id) ||
                               is(n, primitive_of<broadcast_in_dim_p>.id) || is(n, primitive_of<reshape_p>.id);
    for (int i = 0; names_extents && i < rank; ++i) r[std::size_t(at + i)] = dims[i];
    if (is(n, primitive_of<broadcast_in_dim_p>.id) && to.both())  // what has the second axis alone is repeated along all instances
      if (const pair_places from = places_[std::size_t(g_.operand(n, 0))]; from.first < 0 && from.second >= 0) r[std::size_t(rank + from.second)] = to.first;
    return r;
  }
};

/// The largest of the carries of a loop, whose leading two axes may be those.
struct paired_carry {
  axis_pair pair;  // of extent 0, if they are not
  std::size_t number = 0;

  constexpr explicit paired_carry(const sequence<value>& carries) {
    extent most = 0;
    for (std::size_t k = 0; k < carries.size(); ++k) {
      const shape& dims = carries[k].dims();
      if (has_symbol(dims) || dims.size() <= most || axis_pair::of(dims).first == 0) continue;
      most = dims.size(), pair = axis_pair::of(dims), number = k;
    }
  }
};

/// Merges the axes of the loops of a graph.
class axis_merger {
 public:
  constexpr explicit axis_merger(const graph& g) : g_(g), r_(g, to_) { to_.simplifying = true, to_.inlining = false; }
  /// The graph with merged axes.
  constexpr graph run() {
    copy_inputs(r_);
    for (int n = 0; n < g_.size(); ++n) {
      const bool is_scan = g_[n].op_id == primitive_of<scan_p>.id, is_while = g_[n].op_id == primitive_of<while_p>.id;
      sequence<value> results;
      if (is_scan) results = of_scan(n);
      if (is_while) results = of_while(n);
      if (!results.empty()) r_.set_results(n, results), changes_ = true;
      else if (const value sum = sum_of_all(n)) r_.map[std::size_t(n)] = sum;
      else r_.copy(n);
    }
    return replayed(r_);
  }
  /// Whether it has any.
  constexpr bool changes() const { return changes_; }

 private:
  const graph& g_;
  builder to_;
  replay r_;
  bool changes_ = false;

  constexpr sequence<value> of_scan(int n) {
    scan_call s = scan_p::read(r_.at(n));
    const paired_carry largest(s.carries);
    const axis_pair pair = largest.pair;
    if (pair.first == 0 || !s.body.subgraphs.empty() || !s.body.symbols.empty()) return {};
    merged_body body(s.body, pair);
    body.set_carries(s.carry(0), s.carries.size(), largest.number);
    if (!body.fits()) return {};
    graph turn = body.run();
    if (!turn.error.empty()) return {};
    scan_call t = s;
    t.body = std::move(turn);
    for (std::size_t k = 0; k < s.carries.size(); ++k) t.carries[k] = merged_value(s.carries[k], body.of_input(s.carry(k)), pair);
    for (std::size_t k = 0; k < s.xs.size(); ++k) t.xs[k] = merged_value(s.xs[k], body.of_input(s.element(k)).moved(1), pair);
    for (std::size_t k = 0; k < s.constants.size(); ++k) t.constants[k] = merged_value(s.constants[k], body.of_input(s.constant(k)), pair);
    sequence<value> results = scan_p::write(to_, std::move(t));
    const call_form form(g_, n);
    for (std::size_t o = 0; o < results.size(); ++o) results[o] = unmerged(results[o], body.of_output(o).moved(o >= s.carries.size()), form.results[o].dims, pair);
    return results;
  }
  constexpr sequence<value> of_while(int n) {
    while_call w = while_p::read(r_.at(n));
    const paired_carry largest(w.carries);
    const axis_pair pair = largest.pair;
    if (pair.first == 0) return {};
    for (const graph* g : {&w.body, &w.condition})
      if (!g->subgraphs.empty() || !g->symbols.empty()) return {};
    merged_body body(w.body, pair), condition(w.condition, pair);
    body.set_carries(0, w.carries.size(), largest.number);
    if (!body.fits()) return {};
    for (std::size_t k = 0; k < w.tested; ++k) condition.set_input(k, body.of_input(k));
    if (!condition.fits() || condition.of_output(0).any()) return {};
    for (std::size_t k = 0; k < w.tested; ++k)
      if (condition.of_input(k) != body.of_input(k)) return {};
    while_call t = w;
    t.body = body.run(), t.condition = condition.run();
    if (!t.body.error.empty() || !t.condition.error.empty()) return {};
    for (std::size_t k = 0; k < w.carries.size(); ++k) t.carries[k] = merged_value(w.carries[k], body.of_input(k), pair);
    for (std::size_t k = 0; k < w.condition_constants.size(); ++k) t.condition_constants[k] = merged_value(w.condition_constants[k], condition.of_input(w.tested + k), pair);
    for (std::size_t k = 0; k < w.body_constants.size(); ++k) t.body_constants[k] = merged_value(w.body_constants[k], body.of_input(w.carries.size() + k), pair);
    sequence<value> results = while_p::write(to_, std::move(t));
    for (std::size_t k = 0; k < results.size(); ++k) results[k] = unmerged(results[k], body.of_output(k), w.carries[k].dims(), pair);
    return results;
  }

  /// An array with its axes merged. What follows from merged ones element by element is made of those.
  constexpr value merged_value(value v, const pair_places& places, const axis_pair& pair) {
    if (!places.any()) return v;
    const shape dims = v.dims(), to = merged(dims, places, pair);
    if (!places.both()) {  // repeated along the other axis
      const int at = places.merged() + (places.first >= 0);
      shape axes;
      for (int i = 0; i < dims.rank; ++i) axes.push_back(i + (i >= at));
      return reshape(broadcast_in_dim(v, insert(dims, at, places.first >= 0 ? pair.second : pair.first), axes), to);
    }
    if (places.second != places.first + 1) {
      shape order, back = filled(dims.rank, 0);
      for (int i = 0; i < dims.rank; ++i)
        if (i != places.second) order.push_back(i);
      for (int i = 0; i < order.rank; ++i)
        if (order[i] == places.first) order = insert(order, i + 1, places.second);
      for (int i = 0; i < order.rank; ++i) back[int(order[i])] = i;
      shape together = dims;
      for (int i = 0; i < order.rank; ++i) together[i] = dims[int(order[i])];
      together[back[places.first]] = pair.both(), together[back[places.second]] = 1;
      return transpose(reshape(transpose(v, order), together), back);
    }
    if (!follows(v, to)) return reshape(v, to);
    return remade(v, places, to);
  }
  /// And back: the array of extents `dims` that `v` has merged.
  static constexpr value unmerged(value v, const pair_places& places, const shape& dims, const axis_pair& pair) {
    if (!places.any() || places.both()) return reshape(v, dims);
    const bool is_first = places.first >= 0;
    const int other = places.merged() + is_first;  // along which it is repeated
    const shape all = insert(dims, other, is_first ? pair.second : pair.first);
    shape one = all;
    one[other] = 1;
    return reshape(slice(reshape(v, all), filled(all.rank, 0), one, filled(all.rank, 1)), dims);
  }
  static constexpr int most_deep = 8;
  /// Whether v is made of merged arrays, element by element.
  constexpr bool follows(value v, const shape& to, int depth = most_deep) const {
    const node& x = v.get();
    if (x.is_input() || depth == 0) return false;
    if (x.op_id == primitive_of<reshape_p>.id) return to_.g[to_.g.operand(v.id, 0)].dims == to;
    if (x.op->kind != role::pointwise) return false;
    for (int k = 0; k < x.operand_count; ++k)
      if (follows({v.b, to_.g.operand(v.id, k)}, to, depth - 1)) return true;
    return false;
  }
  constexpr value remade(value v, const pair_places& places, const shape& to, int depth = most_deep) {
    const node x = v.get();
    if (!x.is_input() && x.op_id == primitive_of<constant_p>.id) return constant_from_bits(to_, x.type, to, x.bits);
    if (!x.is_input() && x.op_id == primitive_of<broadcast_in_dim_p>.id) {
      const shape axes = broadcast_in_dim_p::axes(call_at(to_.g, v.id));
      if (!axes.contains(places.first) && !axes.contains(places.second)) return broadcast_in_dim({v.b, to_.g.operand(v.id, 0)}, to, axes);
    }
    if (x.is_input() || x.op->kind != role::pointwise || depth == 0) return reshape(v, to);
    copied_call c(v);
    for (value& o : c.own_operands) o = remade(o, places, to, depth - 1);
    c.operands = c.own_operands.data(), c.dims = to, c.result = {};
    return to_.emit_inferred(c);
  }
  /// The reduction n over both axes of merged arrays, of them as they are; null if it is none.
  constexpr value sum_of_all(int n) {
    const node& x = g_[n];
    if (!changes_ || x.is_input() || x.op->kind != role::reduction) return {};
    const call c = r_.at(n);
    const shape axes = c.list(0, c.attribute_count), dims = c[0].dims();
    for (int i = 0; i + 1 < dims.rank; ++i) {
      if (!axes.contains(i) || !axes.contains(i + 1) || has_symbol(dims)) continue;
      const pair_places places{i, i + 1};
      const shape to = merged(dims, places, {dims[i], dims[i + 1]});
      if (!follows(c[0], to)) continue;
      const value all = remade(c[0], places, to);
      call d = r_.at(n);
      d.operands = &all;
      return to_.emit_inferred(d);
    }
    return {};
  }
};

/// Whether a graph has loops whose carries may have two axes of instances.
constexpr bool may_merge_axes(const graph& g) {
  for (int n = 0; n < g.size(); ++n) {
    const bool is_scan = g[n].op_id == primitive_of<scan_p>.id;
    if (!is_scan && g[n].op_id != primitive_of<while_p>.id) continue;
    const call_form form(g, n);
    for (extent k = 0; k < form.own[std::size_t(is_scan)]; ++k)
      if (axis_pair::of(form.results[std::size_t(k)].dims).first > 0) return true;
  }
  return false;
}

/// The sums of a loop's body over one of its two axes of instances.
class sums_along_pair {
 public:
  constexpr explicit sums_along_pair(const scan_call& s) : carry_(s.carries), body_(s.body, carry_.pair) {
    if (carry_.pair.first == 0) return;
    body_.set_carries(s.carry(0), s.carries.size(), carry_.number);
    body_.find();
  }
  constexpr extent count() const { return carry_.pair.both(); }
  constexpr bool operator()(const graph&, int n) const { return carry_.pair.first > 0 && body_.sums_along_one(n); }

 private:
  paired_carry carry_;
  merged_body body_;
};

template <class Make> struct make_merged {
  constexpr graph operator()() const {
    const graph whole = Make{}();
    const auto sums_of = [](const scan_call& s) { return sums_along_pair(s); };
    const graph g = sums_after_loops(whole, sums_of).run();
    axis_merger merger(g);
    graph r = merger.run();
    if (!merger.changes()) return {};
    own(r);  // before g goes
    return r;
  }
};
template <class Make> inline constexpr bool may_merge_axes_of = may_merge_axes(Make{}());
/// The maker of the graph with merged axes, where there are some.
template <class Make> using with_axes_merged = with_changes<make_merged<Make>, Make, may_merge_axes_of<Make>>;

}  // namespace cotangent
