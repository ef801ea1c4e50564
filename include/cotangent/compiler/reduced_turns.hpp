#pragma once
/// Reductions over the turns of a loop, in the loop. What a loop returns of each turn, a trajectory, may only serve to be summed over all
/// turns, or for its largest or smallest element, as in a misfit to data or a mean over time. Then each turn adds to a carry, and
/// nothing is kept of it.

#include <limits>

#include <cotangent/compiler/axes.hpp>
#include <cotangent/control/scan_primitive.hpp>
#include <cotangent/graph/freeze.hpp>
#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

/// What is made of the ys of one loop of a graph, up to reductions over its turns.
class turn_reducer {
 public:
  constexpr turn_reducer(const graph& g, int loop) : g_(g), loop_(loop), r_(g, to_) {
    original_.take_symbols(g);
    original_.g = borrowed(g);
    const std::size_t count = g.nodes.size();
    axes_.assign(count, -1), depends_.assign(count, false), inside_.assign(count, false), in_turn_.assign(count, value());
    const call_form form(g, loop);
    length_ = form.own[0], carries_ = form.own[1];
    if (!is_symbol(length_) && g.subgraphs[std::size_t(form.bodies[0])].symbols.empty()) find();
  }

  /// Whether there is something to be done in the loop.
  constexpr bool finds() const { return !reductions_.empty(); }

  constexpr graph run() {
    copy_inputs(r_);
    for (int n = 0; n < g_.size(); ++n)
      if (!depends_[std::size_t(n)]) r_.copy(n);
    make_loop();
    for (int n = 0; n < g_.size(); ++n)
      if (depends_[std::size_t(n)] && n != loop_ && !inside_[std::size_t(n)] && !r_.map[std::size_t(n)]) r_.copy(n);
    return replayed(r_);
  }

 private:
  const graph& g_;
  const int loop_;
  extent length_ = 0, carries_ = 0;
  builder original_, to_, body_;
  replay r_;
  sequence<int> axes_;         // per node the axis of the turns, or -1
  flag_list depends_;          // per node, whether it depends on the loop
  flag_list inside_;           // per node, whether the loop makes it
  sequence<int> reductions_;   // over turns, of what is made inside
  sequence<value> in_turn_;    // per node inside, what a turn makes of it
  sequence<int> index_, carried_, elements_, constants_;  // inputs of the body
  scan_call made_;

  constexpr bool is(int n, std::uint64_t op) const { return g_[n].op_id == op; }
  constexpr bool is_y(int n) const { return g_[n].op_id == primitive_of<element_p>.id && g_.operand(n, 0) == loop_ && g_.attribute(n, 0) >= carries_; }

  /// The axis of the turns of node n's array, if it has one and all is done turn by turn; else -1.
  constexpr int axis_of_turns(int n) {
    constexpr extent least = 64;  // numbers of a turn: of fewer, all turns are done faster at once
    const node& x = g_[n];
    if (x.is_input() || has_symbol(x.dims) || x.dims.size() < least * length_) return -1;
    if (is_y(n)) return 0;
    const bool moves = is(n, primitive_of<broadcast_in_dim_p>.id) || is(n, primitive_of<transpose_p>.id) || is(n, primitive_of<reshape_p>.id) || is(n, primitive_of<slice_p>.id);
    if (!(x.op->kind == role::pointwise || x.op->kind == role::reduction || moves)) return -1;
    sequence<value> operands;
    const call c = call_at(g_, original_, n, operands);
    int axis = -1;
    bool fits = true;
    each_axis_of(c, [&](int k, int i, int j) {
      if (i != axes_[std::size_t(c[k].id)]) return;
      fits = fits && (axis < 0 || axis == j) && x.dims[j] == length_;
      axis = j;
    });
    for (int k = 0; k < c.count; ++k) fits = fits && (axes_[std::size_t(c[k].id)] >= 0) == bool(depends_[std::size_t(c[k].id)]);
    if (is(n, primitive_of<slice_p>.id) && axis >= 0) fits = fits && slice_p::part(c, 0)[axis] == 0 && slice_p::part(c, 2)[axis] == 1;
    return fits ? axis : -1;
  }
  /// Whether node n reduces over turns in a way that can be done turn by turn.
  constexpr bool reduces_turns(int n) const {
    const node& x = g_[n];
    if (!is(n, primitive_of<reduce_sum_p>.id) && !(is_floating(x.type) && (is(n, primitive_of<reduce_max_p>.id) || is(n, primitive_of<reduce_min_p>.id)))) return false;
    const int axis = axes_[std::size_t(g_.operand(n, 0))];
    bool over_turns = false;
    for (int k = 0; k < x.attribute_count; ++k) over_turns = over_turns || (axis >= 0 && g_.attribute(n, k) == axis);
    return over_turns && x.type != dtype::float16 && x.type != dtype::bfloat16;
  }
  /// Finds the nodes that are made of ys turn by turn and are used by one another and by reductions over turns alone.
  constexpr void find() {
    depends_[std::size_t(loop_)] = true;
    for (int n = loop_ + 1; n < g_.size(); ++n) {
      for (int k = 0; k < g_[n].operand_count; ++k)
        if (depends_[std::size_t(g_.operand(n, k))]) depends_[std::size_t(n)] = true;
      if (depends_[std::size_t(n)]) axes_[std::size_t(n)] = axis_of_turns(n);
    }
    for (int n = loop_; n < g_.size(); ++n) inside_[std::size_t(n)] = axes_[std::size_t(n)] >= 0;
    for (int o : g_.outputs) inside_[std::size_t(o)] = false;
    for (bool changed = true; changed;) {
      changed = false;
      const auto leave_out = [&](int n) {
        if (inside_[std::size_t(n)]) inside_[std::size_t(n)] = false, changed = true;
      };
      for (int n = loop_ + 1; n < g_.size(); ++n) {
        const bool inside = inside_[std::size_t(n)];
        for (int k = 0; k < g_[n].operand_count; ++k) {
          const int o = g_.operand(n, k);
          if (!inside && !reduces_turns(n)) leave_out(o);
          if (inside && !is_y(n) && depends_[std::size_t(o)] && !inside_[std::size_t(o)]) leave_out(n);
        }
      }
    }
    for (int n = loop_ + 1; n < g_.size(); ++n)
      if (reduces_turns(n) && inside_[std::size_t(g_.operand(n, 0))]) reductions_.push_back(n);
  }

  /// The loop, whose further carries are what the reductions make.
  constexpr void make_loop() {
    const scan_call s = scan_p::read(r_.at(loop_));
    made_.length = s.length, made_.reverse = s.reverse, made_.indexed = s.indexed;
    made_.carries = s.carries, made_.xs = s.xs, made_.constants = s.constants;
    sequence<value> inputs;
    for (std::size_t i = 0; i < s.inputs(); ++i) {
      const node& x = s.body[s.body.inputs[i]];
      inputs.push_back(body_.input(x.type, x.dims));
      (i < s.carry(0) ? index_ : i < s.element(0) ? carried_ : i < s.constant(0) ? elements_ : constants_).push_back(inputs.back().id);
    }
    const sequence<value> outputs = inline_graph(body_, s.body, inputs);
    for (int n = loop_; n < g_.size(); ++n)
      if (inside_[std::size_t(n)]) in_turn_[std::size_t(n)] = is_y(n) ? outputs[std::size_t(g_.attribute(n, 0))] : of_turn(n);
    for (std::size_t o = 0; o < s.carries.size(); ++o) body_.g.outputs.push_back(outputs[o].id);
    for (int n : reductions_) {
      const value x = in_turn_[std::size_t(g_.operand(n, 0))], before = body_.input(x.type(), x.dims());
      carried_.push_back(before.id), made_.carries.push_back(constant(to_, x.type(), x.dims(), identity(n)));
      body_.g.outputs.push_back(combined(n, before, x).id);
    }
    for (std::size_t o = s.carries.size(); o < outputs.size(); ++o) body_.g.outputs.push_back(outputs[o].id);
    body_.g.inputs = concat(concat(concat(index_, carried_), elements_), constants_);
    made_.body = body_.finish();
    const sequence<value> results = scan_p::write(to_, std::move(made_));
    if (to_.failed()) return;
    sequence<value> own = part(results, 0, s.carries.size());
    for (std::size_t o = s.carries.size() + reductions_.size(); o < results.size(); ++o) own.push_back(results[o]);
    r_.set_results(loop_, own);
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
      const int n = reductions_[i];
      shape rest;
      for (int k = 0; k < g_[n].attribute_count; ++k) rest.push_back(g_.attribute(n, k));
      r_.map[std::size_t(n)] = reduced(n, results[s.carries.size() + i], without(rest, axes_[std::size_t(g_.operand(n, 0))]));
    }
  }
  constexpr double identity(int n) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return is(n, primitive_of<reduce_sum_p>.id) ? 0 : is(n, primitive_of<reduce_max_p>.id) ? -infinity : infinity;
  }
  constexpr value combined(int n, value a, value b) const {
    return is(n, primitive_of<reduce_sum_p>.id) ? a + b : is(n, primitive_of<reduce_max_p>.id) ? maximum(a, b) : minimum(a, b);
  }
  /// A value reduced as node n does, along other axes.
  constexpr value reduced(int n, value x, const shape& axes) const {
    if (axes.rank == 0) return x;
    call c = call_at(g_, n);
    c.b = x.b, c.operands = &x, c.count = 1, c.attributes = axes.dims, c.attribute_count = axes.rank, c.dims = {};
    return x.b->emit(c);
  }
  /// Axes by number, where one is gone.
  static constexpr shape without(const shape& axes, int gone) {
    shape r;
    for (extent a : axes)
      if (a != gone) r.push_back(a > gone ? a - 1 : a);
    return r;
  }

  /// What a turn makes of node n.
  constexpr value of_turn(int n) {
    const node& x = g_[n];
    const call c = call_at(g_, n);
    const int axis = axes_[std::size_t(n)], o = g_.operand(n, 0), from = axes_[std::size_t(o)];
    const value first = in_turn_[std::size_t(o)];
    if (x.op->kind == role::reduction) return reduced(n, first, without(c.list(0, c.attribute_count), from));
    if (is(n, primitive_of<broadcast_in_dim_p>.id)) return broadcast_in_dim(first, erase(x.dims, axis), without(broadcast_in_dim_p::axes(c), axis));
    if (is(n, primitive_of<transpose_p>.id)) return transpose(first, without(c.list(0, x.dims.rank), from));
    if (is(n, primitive_of<reshape_p>.id)) return reshape(first, erase(x.dims, axis));
    if (is(n, primitive_of<slice_p>.id)) return slice(first, erase(c.list(0, x.dims.rank), axis), erase(x.dims, axis), erase(c.list(2 * x.dims.rank, x.dims.rank), axis));
    sequence<value> operands;
    for (int k = 0; k < x.operand_count; ++k) operands.push_back(operand(g_.operand(n, k), axis));
    call d = c;
    d.b = &body_, d.operands = operands.data(), d.dims = erase(x.dims, axis);
    return body_.emit_inferred(d);
  }
  /// Node o as an operand of what a turn makes, without its axis of the turns.
  constexpr value operand(int o, int axis) {
    const node& x = g_[o];
    value& v = in_turn_[std::size_t(o)];
    if (v && (depends_[std::size_t(o)] || axes_[std::size_t(o)] == axis)) return v;
    axes_[std::size_t(o)] = axis;
    const shape dims = erase(x.dims, axis);
    if (is(o, primitive_of<constant_p>.id)) return v = constant_from_bits(body_, x.type, dims, x.bits);
    if (is(o, primitive_of<broadcast_in_dim_p>.id)) {
      const int source = g_.operand(o, 0);
      const shape map = broadcast_in_dim_p::axes(call_at(g_, o));
      int at = -1;
      for (int i = 0; i < map.rank; ++i)
        if (map[i] == axis) at = i;
      const value all = r_.map[std::size_t(source)];
      if (at < 0) return v = broadcast_in_dim(input(made_.constants, constants_, all, all.dims()), dims, without(map, axis));
      if (all.dims()[at] == length_) return v = broadcast_in_dim(element(all, at), dims, without(map, axis));
    }
    return v = element(r_.map[std::size_t(o)], axis);
  }
  /// That of each turn of an array with an axis of turns.
  constexpr value element(value all, int axis) { return input(made_.xs, elements_, move_axis(all, axis, 0), erase(all.dims(), axis)); }
  constexpr value input(sequence<value>& operands, sequence<int>& inputs, value all, const shape& dims) {
    const value v = body_.input(all.type(), dims);
    operands.push_back(all), inputs.push_back(v.id);
    return v;
  }
};

/// Whether a graph has loops that return something of each turn.
constexpr bool may_reduce_turns(const graph& g) {
  for (const node& x : g.nodes)
    if (x.op_id == primitive_of<element_p>.id && x.dims.rank > 1) {
      for (int n = 0; n < g.size(); ++n)
        if (!g[n].is_input() && g[n].op->kind == role::reduction) return true;
      return false;
    }
  return false;
}

template <class Make> struct make_reduced_turns {
  constexpr graph operator()() const {
    graph g = Make{}();
    bool changes = false;
    for (int n = 0; n < g.size(); ++n) {
      if (g[n].op_id != primitive_of<scan_p>.id) continue;
      turn_reducer reducer(g, n);
      if (!reducer.finds()) continue;
      graph next = reducer.run();
      own(next);  // before g goes
      g = std::move(next), changes = true, n = -1;
    }
    if (!changes) return {};
    return prune_results(std::move(g));
  }
};
template <class Make> inline constexpr bool may_reduce_turns_of = may_reduce_turns(Make{}());
/// The maker of the graph whose loops reduce over turns, where there are some.
template <class Make> using with_turns_reduced = with_changes<make_reduced_turns<Make>, Make, may_reduce_turns_of<Make>>;

}  // namespace cotangent
