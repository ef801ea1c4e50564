#pragma once
/// Instances: which nodes of a graph work instance by instance along an axis of some extent, and in which order they can. Passes that do
/// some instances at a time (packets, chunks) are built on it.

#include <cotangent/graph/replay.hpp>
#include <cotangent/primitives/primitives.hpp>

namespace cotangent {

/// What the parts that these passes make have in common: they come into being when all transforms are done, so their rules are never
/// asked.
struct compiled_part : several_results {
  static constexpr void simplify_all(const call&, sequence<value>&) {}
  static constexpr void jvp_all(const call& c, const value*, sequence<value>&, sequence<value>&) { fail(c); }
  static constexpr void forward(const call& c, const flag_list&, sequence<value>&, saved_state&) { fail(c); }
  static constexpr void backward(const call& c, const saved_state&, const value*, sequence<value>&) { fail(c); }
  static constexpr void needs(const call& c, const flag_list&, flag_list& operands) { operands.assign(std::size_t(c.count), true); }
  static constexpr void prune(const call& c, const flag_list&, sequence<value>&) { fail(c); }
  static constexpr void batch_all(const call& c, const bool*, extent, sequence<value>&, flag_list&) { fail(c); }

 private:
  static constexpr void fail(const call& c) { c.b->fail(message{} << c.op->name << ": made by the compiler, not transformed"); }
};

/// The one axis of this extent, or -1.
constexpr int only_axis(const shape& dims, extent e) {
  int axis = -1;
  for (int i = 0; i < dims.rank; ++i)
    if (dims[i] == e) {
      if (axis >= 0) return -1;
      axis = i;
    }
  return axis;
}

/// Added to the extent of an axis that is to be told from others of the same extent (axis_namer).
inline constexpr extent named_axis = extent(1) << 40;

/// The nodes of a graph that work instance by instance, where the one axis of extent `instances` is that of the instances.
///
/// Nodes are numbered by stages: all that needs whole arrays of stage s, such as a gather from them, is of stage s + 1. The nodes
/// of one stage that work instance by instance are one part, which runs behind the others of its stage.
class by_instance {
 protected:
  static constexpr extent run_time_count = 1 << 14;  // of instances, or rows of a table, where only the run knows
  static constexpr extent most_products = 1 << 15;   // of an instance
  const graph& g_;
  const extent instances_;
  const extent most_elements_;  // of an instance
  builder original_;            // of the nodes of g_, for rules that look at operands
  flag_list inside_;            // per node: whether it works instance by instance
  sequence<int> axes_;          // per node: the axis of its instances, or -1
  sequence<int> stage_;
  int last_stage_ = 0;

  constexpr by_instance(const graph& g, extent instances, extent most) : g_(g), instances_(instances), most_elements_(most) {
    original_.take_symbols(g);
    original_.g = borrowed(g);
    inside_.assign(g_.nodes.size(), false);
    axes_.assign(g_.nodes.size(), -1);
    for (int n = 0; n < g_.size(); ++n) axes_.items[n] = only_axis(g_[n].dims, instances_);
  }

  constexpr extent count() const { return is_symbol(instances_) ? run_time_count : instances_ % named_axis; }
  constexpr int axis_of(int n) const { return axes_.items[n]; }
  /// The extents of node n's array for one instance; of all of it, if all instances share it.
  constexpr shape own_dims(int n) const {
    const int axis = axis_of(n);
    return axis < 0 ? g_[n].dims : erase(g_[n].dims, axis);
  }
  constexpr extent elements_of(int n) const { return own_dims(n).size(); }
  /// The elements of all of node n's array.
  constexpr extent all_elements_of(int n) const {
    extent elements = 1;
    for (extent e : g_[n].dims) elements *= is_symbol(e) ? run_time_count : e;
    return elements;
  }
  /// Whether node n's array is one of instances with few elements each.
  constexpr bool is_of_instances(int n) const {
    if (axis_of(n) < 0) return false;
    const shape own = own_dims(n);
    return !has_symbol(own) && own.size() > 0 && own.size() <= most_elements_;
  }
  /// Whether node n's array has nothing to do with instances.
  constexpr bool is_shared(int n) const { return !g_[n].dims.contains(instances_) && !has_symbol(g_[n].dims); }

  constexpr bool is_result(int n) const { return g_[n].op_id == primitive_of<element_p>.id; }
  /// Whether operand k of node n is used instance by instance; otherwise all instances use all of it. What a loop of instances makes besides
  /// is made with some of them as well.
  constexpr bool is_aligned(int n, int k) const {
    const node& x = g_[n];
    const int o = g_.operand(n, k), axis = axis_of(o), to = axis_of(n);
    if (is_result(n) || (has_several_results(x) && is_result(o))) return true;
    if (axis < 0) return false;
    if (x.op->kind == role::gather && k == 0) {
      const axis_address address = addresses(n).axes[axis];
      return address.dimension == to && address.index < 0;
    }
    return true;
  }
  constexpr addressing addresses(int n) const { return gather_p::addresses(call_at(g_, n)); }

  /// Whether node n makes an array of instances, and names their number at most once.
  constexpr bool is_small(int n) const {
    const node& x = g_[n];
    if (x.is_input() || !is_of_instances(n)) return false;
    int named = 0;
    for (int k = 0; k < x.attribute_count; ++k) {
      const extent a = g_.attribute(n, k);
      named += a == instances_;
      if (is_symbol(a) && a != instances_) return false;
    }
    return named <= 1;
  }
  /// Whether node n works instance by instance.
  constexpr bool works_by_instance(int n) {
    const node& x = g_[n];
    if (!is_small(n)) return false;
    if (x.op_id == primitive_of<dot_general_p>.id) return multiplies(n);
    const int axis = axis_of(n);
    const auto all_aligned = [&] {
      for (int k = 0; k < x.operand_count; ++k)
        if (!is_of_instances(g_.operand(n, k)) || !is_aligned(n, k)) return false;
      return true;
    };
    switch (x.op->kind) {
      case role::source: return x.op_id == primitive_of<constant_p>.id;
      case role::pointwise: return all_aligned();
      case role::view: return x.op_id == primitive_of<broadcast_in_dim_p>.id ? broadcasts(n) : all_aligned() && views(n);
      case role::reduction: {
        shape axes;
        for (int k = 0; k < x.attribute_count; ++k) axes.push_back(g_.attribute(n, k));
        const int o = g_.operand(n, 0);
        return all_aligned() && complement(axes, g_[o].dims.rank)[axis] == axis_of(o);
      }
      case role::gather:
        for (int k = 1; k < x.operand_count; ++k)
          if (!is_of_instances(g_.operand(n, k))) return false;
        if (!is_aligned(n, 0)) {  // all of it is there, of which an instance would need its own part
          const addressing all = addresses(n);
          for (int i = 0; i < all.rank; ++i)
            if (all.axes[i].dimension == axis) return false;
        }
        return true;
      default: break;
    }
    if (x.op_id == primitive_of<reshape_p>.id) {
      const shape &from = g_[g_.operand(n, 0)].dims, &to = x.dims;
      const auto before = [](const shape& dims, int a) {
        extent e = 1;
        for (int i = 0; i < a; ++i) e *= dims[i];
        return e;
      };
      return all_aligned() && before(from, axis_of(g_.operand(n, 0))) == before(to, axis);
    }
    if (x.op_id == primitive_of<concatenate_p>.id) return all_aligned() && g_.attribute(n, 0) != axis && same_axis(n);
    if (x.op_id == primitive_of<assemble_p>.id) return all_aligned() && g_.attribute(n, x.dims.rank + axis) != 0;
    if (x.op_id == primitive_of<pad_p>.id) return pads(n);
    if (x.op_id == primitive_of<roll_p>.id) return is_of_instances(g_.operand(n, 0)) && is_number(g_.operand(n, 1)) && g_.attribute(n, 0) != axis;
    return false;
  }
  /// Whether the instances are a batch of a product's, or free in one operand, with a small matrix as the other.
  constexpr bool multiplies(int n) {
    sequence<value> operands;
    const call c = call_of(n, operands);
    const dot_dimensions d = dot_general_p::dimensions(c);
    const int axis = axis_of(n), batch = d.lhs_batch.rank, left = axis_of(g_.operand(n, 0)), right = axis_of(g_.operand(n, 1));
    const extent terms = d.terms(c[0].dims());
    if (is_symbol(terms) || terms < 1 || terms * elements_of(n) > most_products || c.dims.rank + d.lhs_contracted.rank > max_rank) return false;
    const bool left_fits = is_of_instances(g_.operand(n, 0)), right_fits = is_of_instances(g_.operand(n, 1));
    if (axis < batch) return left_fits && right_fits && d.lhs_batch[axis] == left && d.rhs_batch[axis] == right;
    const shape of_left = d.lhs_free(c[0].rank()), of_right = d.rhs_free(c[1].rank());
    if (axis < batch + of_left.rank) return left_fits && of_left[axis - batch] == left && is_shared(g_.operand(n, 1));
    return right_fits && of_right[axis - batch - of_left.rank] == right && is_shared(g_.operand(n, 0));
  }
  constexpr bool pads(int n) {
    sequence<value> operands;
    const call c = call_of(n, operands);
    const int axis = axis_of(n);
    bool outside = axis == axis_of(g_.operand(n, 0)) && is_of_instances(g_.operand(n, 0));
    for (int k = 0; k < 3; ++k) outside = outside && pad_p::part(c, k)[axis] == 0;
    return outside;
  }
  constexpr bool same_axis(int n) const {
    for (int k = 0; k < g_[n].operand_count; ++k)
      if (axis_of(g_.operand(n, k)) != axis_of(n)) return false;
    return true;
  }
  constexpr call call_of(int n, sequence<value>& operands) { return call_at(g_, original_, n, operands); }
  /// Whether a view leaves the axis of the instances as it is.
  constexpr bool views(int n) {
    constexpr extent marker = extent(1) << 40;
    sequence<value> operands;
    const call c = call_of(n, operands);
    const int from = axis_of(g_.operand(n, 0)), to = axis_of(n);
    shape strides = filled(c[0].rank(), 1);
    strides[from] = marker;
    const buffer_access a = c.op->view(c, {0, strides});
    if (is_symbol(a.offset) || a.offset >= marker / 2 || a.offset <= -marker / 2) return false;
    for (int i = 0; i < c.dims.rank; ++i)
      if ((a.strides[i] == marker) != (i == to) || is_symbol(a.strides[i])) return false;
    return true;
  }
  /// A broadcast to instances, or of instances.
  constexpr bool broadcasts(int n) {
    const int o = g_.operand(n, 0);
    if (axis_of(o) >= 0) return is_of_instances(o) && views(n);
    return is_shared(o) && g_[o].dims.size() <= most_elements_;
  }

  /// Whether node n repeats a number: it is there inside and outside.
  constexpr bool is_number(int n) const { return g_[n].op_id == primitive_of<constant_p>.id; }
  constexpr bool is_outside(int n, int stage) const { return stage_[std::size_t(n)] == stage && (!inside_[std::size_t(n)] || is_number(n)); }
  constexpr bool is_in(int n, int stage) const { return inside_[std::size_t(n)] && stage_[std::size_t(n)] == stage; }
  constexpr void number_stages() {
    stage_.assign(g_.nodes.size(), 0), last_stage_ = 0;
    flag_list used;  // by nodes inside; a broadcast that is not stays outside, as a view of a result
    used.assign(g_.nodes.size(), false);
    for (int n = g_.size(); n-- > 0;) {
      char& inside = inside_[std::size_t(n)];
      inside = inside && (used[std::size_t(n)] || g_[n].op_id != primitive_of<broadcast_in_dim_p>.id);
      for (int k = 0; inside && k < g_[n].operand_count; ++k) used[std::size_t(g_.operand(n, k))] = true;
    }
    for (int n = 0; n < g_.size(); ++n) {
      int& stage = stage_[std::size_t(n)];
      for (int k = 0; k < g_[n].operand_count; ++k) {
        const std::size_t o = std::size_t(g_.operand(n, k));
        const bool waits = inside_[o] && !is_number(int(o)) && !(inside_[std::size_t(n)] && is_aligned(n, k));
        if (stage_[o] + waits > stage) stage = stage_[o] + waits;
      }
      if (stage > last_stage_) last_stage_ = stage;
    }
  }
  constexpr bool is_empty(int stage) const {
    for (int n = 0; n < g_.size(); ++n)
      if (is_in(n, stage)) return false;
    return true;
  }
  /// Per node, whether it is of a stage's part and used outside of it.
  constexpr flag_list leaves_of(int stage) const {
    flag_list leaves;
    leaves.assign(g_.nodes.size(), false);
    for (int n = 0; n < g_.size(); ++n)
      for (int k = 0; k < g_[n].operand_count; ++k)
        if (const int o = g_.operand(n, k); is_in(o, stage) && !is_in(n, stage)) leaves[std::size_t(o)] = !is_number(o);
    for (int o : g_.outputs) leaves[std::size_t(o)] = leaves[std::size_t(o)] || (is_in(o, stage) && !is_number(o));
    return leaves;
  }
};

/// The body of a part of a graph: its nodes, with some instances in place of all.
class part_body {
 public:
  builder body;
  sequence<value> operands;  // what the body's inputs are, or are instances of
  sequence<extent> axes;     // per operand the axis of its instances, or -1 if all of it is an input

  /// `some`: how many instances; 0 for as many as the first operand brings, at least one of which has an axis of them.
  constexpr part_body(const graph& g, extent instances, extent some) : g_(g), instances_(instances), some_(some) {
    own_.assign(g.nodes.size(), value()), shared_.assign(g.nodes.size(), value());
  }

  constexpr value input(value x, int axis) {
    shape dims = x.dims();
    if (axis >= 0 && some_ == 0) some_ = body.input_extent(axis);
    for (int i = 0; i < dims.rank; ++i) dims[i] = i == axis ? some_ : is_symbol(dims[i]) ? body.input_extent(i) : dims[i];
    operands.push_back(x), axes.push_back(axis);
    return body.input(x.type(), dims);
  }
  /// What stands for node n's array, of which `whole` is all: its instances along an axis, or all of it (-1).
  constexpr value operand(int n, value whole, int axis) {
    value& v = (axis >= 0 ? own_ : shared_)[std::size_t(n)];
    if (v) return v;
    if (g_[n].op_id == primitive_of<constant_p>.id) return v = constant_from_bits(body, g_[n].type, axis >= 0 ? of_some(g_[n].dims) : g_[n].dims, g_[n].bits);
    return v = input(whole, axis);
  }
  /// Node n, which is known when the program is compiled.
  constexpr value known(int n) {
    if (shared_[std::size_t(n)]) return shared_[std::size_t(n)];
    sequence<value> mapped;
    for (int k = 0; k < g_[n].operand_count; ++k) mapped.push_back(known(g_.operand(n, k)));
    return shared_[std::size_t(n)] = again(n, mapped);
  }
  constexpr value& operator[](int n) { return own_[std::size_t(n)]; }

  /// Node n, of these operands.
  constexpr value again(int n, const sequence<value>& mapped) {
    attributes_.clear();
    call c = call_at(g_, n);
    for (int k = 0; k < c.attribute_count; ++k) attributes_.push_back(c.attribute(k));
    c.dims = of_some(c.dims), c.bits = g_[n].bits;
    c.b = &body, c.bodies = nullptr, c.operands = mapped.data(), c.attributes = attributes_.data();
    if (!makes_as_it_is(c))
      for (extent& a : attributes_) a = of_some(a);
    return body.emit_inferred(c);
  }
  /// The results of the loop n, of these operands.
  constexpr sequence<value> loop_again(int n, const sequence<value>& mapped) {
    call_form form(g_, n);
    for (call_form::result& r : form.results) r.dims = of_some(r.dims);
    const graph& turn = g_.subgraphs[std::size_t(form.bodies[0])];
    part_body part(turn, instances_, some_);
    for (int i : turn.inputs) part[i] = part.body.input(turn[i].type, of_some(turn[i].dims));
    sequence<value> operands_of_node;
    for (int m = 0; m < turn.size(); ++m) {
      if (turn[m].is_input()) continue;
      operands_of_node.clear();
      for (int k = 0; k < turn[m].operand_count; ++k) operands_of_node.push_back(part[turn.operand(m, k)]);
      part[m] = part.again(m, operands_of_node);
    }
    for (int o : turn.outputs) part.body.g.outputs.push_back(part[o].id);
    form.bodies[0] = body.add_subgraph(part.body.finish());
    const sequence<extent> attributes = form.attributes();
    call c = call_at(g_, n);
    c.b = &body, c.bodies = nullptr, c.operands = mapped.data();
    c.attributes = attributes.data(), c.attribute_count = int(attributes.size());
    return results_of(body.emit(c));
  }
  constexpr extent of_some(extent e) const { return e == instances_ ? some_ : e; }
  constexpr shape of_some(shape dims) const {
    for (int i = 0; i < dims.rank; ++i) dims[i] = of_some(dims[i]);
    return dims;
  }

 private:
  const graph& g_;
  const extent instances_;
  extent some_;
  sequence<value> own_, shared_;  // per node: some instances, all of it
  sequence<extent> attributes_;

  /// Whether an operation makes an array of its extents with its attributes as they are: then one that is equal to the number of instances is
  /// another number, such as an exponent.
  constexpr bool makes_as_it_is(call c) {
    if (is_symbol(instances_)) return false;
    const shape dims = c.dims;
    c.dims = {};
    c.op->infer(c);
    const bool fails = body.failed();
    body.g.error = {};
    return !fails && c.dims == dims;
  }
};

}  // namespace cotangent
