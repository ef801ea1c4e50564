#pragma once
/// jacfwd, jacrev, hessian.

#include <cotangent/transforms/custom.hpp>
#include <cotangent/transforms/simplify.hpp>
#include <cotangent/transforms/vmap.hpp>

namespace cotangent {

/// Leaf `Out` of the function's result against the tree `In`: the tree In with leaves of shape out + in.
template <class Out, class In> struct jacobian_leaf {
  static constexpr shape dims = join(Out::type_shape(), In::type_shape());
  using type = typename with_shape<var, typename Out::value_type, dims>::type;
};
template <class Out, class... In> struct jacobian_leaf<Out, std::tuple<In...>> {
  using type = std::tuple<typename jacobian_leaf<Out, In>::type...>;
};
template <class Out, class In>
  requires is_struct_node<In>
struct jacobian_leaf<Out, In> {
  static_assert(!is_struct_node<In>, "jacobian: a struct's extents are fixed in its type; differentiate with respect to arrays or tuples of arrays");
};
template <class Out, class In> struct jacobian_tree {
  using type = typename jacobian_leaf<Out, In>::type;
};
template <class... Out, class In> struct jacobian_tree<std::tuple<Out...>, In> {
  using type = std::tuple<typename jacobian_tree<Out, In>::type...>;
};
template <class Out, std::size_t N, class In> struct jacobian_tree<std::array<Out, N>, In> {
  using type = std::array<typename jacobian_tree<Out, In>::type, N>;
};
template <class Out, class In>
  requires is_struct_node<Out>
struct jacobian_tree<Out, In> {
  static_assert(!is_struct_node<Out>, "jacobian: a struct's extents are fixed in its type; return arrays or tuples of arrays");
};

/// Whether a graph has derivatives of the user's, which need not be those of the function.
constexpr bool has_custom_rules(const graph& g) {
  for (const node& x : g.nodes)
    if (x.op_id == primitive_of<custom_jvp_p>.id || x.op_id == primitive_of<custom_vjp_p>.id) return true;
  for (const graph& body : g.subgraphs)
    if (has_custom_rules(body)) return true;
  return false;
}

/// A vector that a function uses in parts, each by slices of its own, such as parameters of several kinds in one array: what depends on some
/// of them alone has no tangents along the others. Tangents are joined where all parts have met.
class parts_of_input {
 public:
  struct part {
    extent first, size;
  };
  sequence<part> parts;

  /// Of input number `i` of a graph.
  constexpr parts_of_input(const graph& g, std::size_t i) : g_(g), input_(g.inputs[i]) {
    if (g[input_].dims.rank != 1 || g.subgraphs.size() > 0 || g.symbols.size() > 0) return;
    find_parts();
    if (found()) find_meetings();
  }
  constexpr bool found() const { return parts.size() > 1; }

  /// The graph up to where parts meet, with an input per part behind its own.
  constexpr graph upstream() const {
    builder b;
    replay r(g_, b);
    copy_inputs(r);
    sequence<value> inputs;
    for (const part& p : parts) inputs.push_back(b.input(g_[input_].type, {p.size}));
    for (int n = 0; n < g_.size(); ++n) {
      if (!is_slice(n)) {
        r.copy(n);
        continue;
      }
      const int p = part_of(first(n));
      r.map[std::size_t(n)] = slice(inputs[std::size_t(p)], {first(n) - parts[std::size_t(p)].first}, g_[n].dims, {1});
    }
    for (int n : meetings_) b.g.outputs.push_back(r.map[std::size_t(n)].id);
    return b.finish();
  }
  /// The graph from there on, with what has met as inputs behind its own.
  constexpr graph downstream() const {
    builder b;
    replay r(g_, b);
    copy_inputs(r);
    for (int n : meetings_) r.map[std::size_t(n)] = b.input(g_[n].type, g_[n].dims);
    for (int n = 0; n < g_.size(); ++n)
      if (!r.map[std::size_t(n)]) r.copy(n);
    return replayed(r);
  }
  constexpr std::size_t meetings() const { return meetings_.size(); }

 private:
  const graph& g_;
  const int input_;
  sequence<int> meetings_;  // nodes

  /// A slice of the vector.
  constexpr bool is_slice(int n) const {
    const node& x = g_[n];
    return x.op_id == primitive_of<slice_p>.id && g_.operand(n, 0) == input_ && g_.attribute(n, 2) == 1 && x.dims[0] > 0;
  }
  constexpr extent first(int n) const { return g_.attribute(n, 0); }
  constexpr int part_of(extent element) const {
    int p = 0;
    while (element >= parts[std::size_t(p)].first + parts[std::size_t(p)].size) ++p;
    return p;
  }
  /// Slices that overlap are of one part. There are none if the vector is used otherwise, or if some are small: each costs operations of its own.
  constexpr void find_parts() {
    constexpr extent least = 3;
    constexpr std::size_t most = 16;
    const extent all = g_[input_].dims[0];
    flag_list ends;  // per element: whether it may be the last of a part
    ends.assign(std::size_t(all), true);
    for (int o : g_.outputs)
      if (o == input_) return;
    for (int n = 0; n < g_.size(); ++n)
      for (int k = 0; k < g_[n].operand_count; ++k) {
        if (g_.operand(n, k) != input_) continue;
        if (!is_slice(n)) return;
        for (extent e = first(n); e + 1 < first(n) + g_[n].dims[0]; ++e) ends[std::size_t(e)] = false;
      }
    for (extent e = 0, begin = 0; e < all; ++e) {
      if (!ends[std::size_t(e)] && e + 1 < all) continue;
      parts.push_back({begin, e + 1 - begin}), begin = e + 1;
      if (parts[parts.size() - 1].size >= least && parts.size() <= most) continue;
      parts.clear();
      return;
    }
  }
  /// Where tangents are joined: what depends on all parts and on nothing else that does, and what is used together with such, or is a result.
  constexpr void find_meetings() {
    const unsigned long all = (1ul << parts.size()) - 1;
    sequence<unsigned long> depends;  // per node: on which parts, a bit for each
    depends.assign(g_.nodes.size(), 0);
    flag_list meets;
    meets.assign(g_.nodes.size(), false);
    for (int n = 0; n < g_.size(); ++n) {
      const node& x = g_[n];
      unsigned long& own = depends[std::size_t(n)];
      bool behind = false;
      for (int k = 0; k < x.operand_count; ++k) own |= depends[std::size_t(g_.operand(n, k))], behind = behind || depends[std::size_t(g_.operand(n, k))] == all;
      if (is_slice(n)) own = 1ul << part_of(first(n));
      if (!has_tangent(x.type)) own = 0;
      if (own != 0 && (x.op->has.several || x.op->kind == role::element)) {
        parts.clear();
        return;
      }
      if (own != all) continue;
      if (!behind) meets[std::size_t(n)] = true;
      for (int k = 0; k < x.operand_count && behind; ++k)
        if (const std::size_t o = std::size_t(g_.operand(n, k)); depends[o] != 0 && depends[o] != all) meets[o] = true;
    }
    for (int o : g_.outputs)
      if (depends[std::size_t(o)] != 0 && depends[std::size_t(o)] != all) meets[std::size_t(o)] = true;
    for (int n = 0; n < g_.size(); ++n)
      if (meets[std::size_t(n)]) meetings_.push_back(n);
  }
};

/// `OfGradient`: the Jacobian of a gradient, which is symmetric.
template <class F, class Wrt, bool Forward, bool OfGradient = false> struct jacobian : transform_base<jacobian<F, Wrt, Forward, OfGradient>> {
  [[no_unique_address]] F f;
  constexpr jacobian() = default;
  constexpr explicit jacobian(const F& function) : f(function) {}
  template <class G> using with = jacobian<G, Wrt, Forward>;
  template <class... V> using inner_arguments = std::tuple<V...>;

  template <class... V> using result = typename jacobian_tree<traced_result<F, V...>, typename gradient_tree<Wrt, V...>::type>::type;

  template <class... V> constexpr closure transformed(nesting level) const {
    constexpr std::string_view who = Forward ? "jacfwd" : "jacrev";
    closure c = trace_for_transform<V...>(f, level);
    graph& g = c.body;
    if (!g.error.empty()) return c;
    const flag_list active = with_captured(leaves_of_arguments<V...>(Wrt::list), g.inputs.size());
    check(g, active, who, int(sizeof...(V)));
    if (!g.error.empty()) return c;

    builder b;
    replay r(g, b);
    copy_inputs(r);
    sequence<value> inputs;
    for (int i : g.inputs) inputs.push_back(r.map[std::size_t(i)]);
    const std::size_t outputs = g.outputs.size();
    sequence<sequence<value>> blocks;  // per active input leaf, per output leaf
    if constexpr (Forward) {
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (active[i]) blocks.push_back(columns(b, g, inputs, i));
    } else {
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (active[i]) blocks.push_back({});
      for (std::size_t o = 0; o < outputs; ++o) {
        const sequence<value> rows = this->rows(b, g, inputs, active, o);
        for (std::size_t i = 0; i < rows.size(); ++i) blocks[i].push_back(rows[i]);
      }
    }
    if (b.failed()) {
      g.error = b.g.error;
      return c;
    }
    if constexpr (OfGradient)
      for (std::size_t i = 0; i < inputs.size() && outputs == 1 && blocks.size() == 1; ++i)
        if (const int rank = inputs[i].rank(); active[i] && rank > 0 && !has_custom_rules(trace_for_transform<V...>(f.f, level).body))
          blocks[0][0] = emit<symmetric_p>({blocks[0][0]}, {extent(blocks[0][0].rank() - 2 * rank), extent(rank)});
    // Blocks are in the order of the leaves; results in the order of the wrt list.
    graph order;
    for (std::size_t i = 0; i < blocks.size(); ++i) order.outputs.push_back(int(i));
    reorder_gradients<V...>(order, 0, Wrt::list);
    for (std::size_t o = 0; o < outputs; ++o)
      for (int i : order.outputs) b.g.outputs.push_back(blocks[std::size_t(i)][o].id);
    g = b.finish();
    return c;
  }

 private:
  static constexpr void check(graph& g, const flag_list& active, std::string_view who, int arguments) {
    for (extent a : Wrt::list)
      if (a >= arguments || a < -arguments)
        g.error = message{} << who << ": wrt " << a << " is out of range: the function is called with " << arguments << " arguments";
    for (std::size_t i = 0; i < g.inputs.size(); ++i)
      if (g.error.empty() && active[i] && !has_tangent(g[g.inputs[i]].type))
        g.error = message{} << who << ": cannot differentiate with respect to an input of dtype " << g[g.inputs[i]].type << g[g.inputs[i]].dims << "; it must be floating-point";
    for (std::size_t i = 0; i < g.inputs.size(); ++i)
      if (const node& x = g[g.inputs[i]]; g.error.empty() && active[i] && Forward && is_complex(x.type))
        g.error = message{} << who << ": an input is " << x.type << x.dims << "; differentiate with respect to its real and imaginary parts, or use ct::jvp";
    for (int o : g.outputs)
      if (g.error.empty() && !Forward && is_complex(g[o].type))
        g.error = message{} << who << ": an output is " << g[o].type << g[o].dims << "; differentiate its real and imaginary parts, or use ct::vjp";
    for (int o : g.outputs)
      if (g.error.empty() && !has_tangent(g[o].type))
        g.error = message{} << who << ": cannot differentiate an output of dtype " << g[o].type << g[o].dims << "; it must be floating-point";
  }

  /// The derivative of every output with respect to input leaf i: pushforwards of the unit arrays.
  static constexpr sequence<value> columns(builder& b, const graph& g, const sequence<value>& inputs, std::size_t i) {
    const shape in = inputs[i].dims();
    sequence<value> tangents, r;
    if (const parts_of_input of(g, i); of.found()) {
      const graph upstream = of.upstream();
      sequence<value> arguments = inputs;
      for (const parts_of_input::part& p : of.parts) arguments.push_back(slice(inputs[i], {p.first}, {p.size}, {1}));
      sequence<sequence<value>> along;  // per part, per meeting
      for (std::size_t p = 0; p < of.parts.size() && !b.failed(); ++p)
        along.push_back(pushed(b, upstream, arguments, inputs.size() + p, {standard_basis(b, inputs[i].type(), {of.parts[p].size})}, false));
      for (std::size_t m = 0; m < of.meetings() && !b.failed(); ++m) {
        sequence<value> joined;
        for (const sequence<value>& x : along) joined.push_back(x[m]);
        tangents.push_back(concatenate(joined, 0));
      }
      sequence<value> met = inputs;
      for (value v : inline_graph(b, upstream, arguments)) met.push_back(v);
      if (!b.failed()) r = pushed(b, of.downstream(), met, inputs.size(), tangents, true);
    } else r = pushed(b, g, inputs, i, {standard_basis(b, inputs[i].type(), in)}, true);
    for (value& v : r)
      if (!b.failed()) v = reshape(v, join(erase(v.dims(), v.rank() - 1), in));
    return r;
  }
  /// Tangents of every output, from those of inputs from leaf `first` on, which are along axis 0; along the last axis, or 0 as well.
  static constexpr sequence<value> pushed(builder& b, const graph& g, const sequence<value>& inputs, std::size_t first, const sequence<value>& tangents, bool last) {
    flag_list active;
    sequence<int> in_axes, out_axes;
    for (std::size_t k = 0; k < inputs.size(); ++k) active.push_back(k >= first && k < first + tangents.size()), in_axes.push_back(not_mapped);
    sequence<value> arguments = inputs;
    for (value t : tangents) arguments.push_back(t), in_axes.push_back(0);
    for (int o : g.outputs) out_axes.push_back(last ? g[o].dims.rank : 0);
    graph pushforward = jvp_graph(g, active);
    pushforward.outputs.drop_front(g.outputs.size());  // of the tangents alone
    const extent directions = tangents[0].dims()[0];
    return inline_graph(b, batch_graph(pushforward, in_axes, out_axes, is_symbol(directions) ? dyn : directions), arguments);
  }

  /// The derivative of output o with respect to every active input leaf: pullbacks of the unit arrays.
  static constexpr sequence<value> rows(builder& b, const graph& g, const sequence<value>& inputs, const flag_list& active, std::size_t o) {
    graph one = g;
    one.outputs.clear();
    one.outputs.push_back(g.outputs[o]);
    sequence<int> in_axes, out_axes{not_mapped};
    for (std::size_t k = 0; k < inputs.size(); ++k) in_axes.push_back(not_mapped);
    in_axes.push_back(0);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (active[k]) out_axes.push_back(0);
    const node& out = g[g.outputs[o]];
    sequence<value> arguments = inputs;
    arguments.push_back(standard_basis(b, out.type, out.dims));
    const shape basis = arguments.back().dims();
    const graph pulled = batch_graph(vjp_graph(one, active, false), in_axes, out_axes, is_symbol(basis[0]) ? dyn : basis[0]);
    const sequence<value> all = inline_graph(b, pulled, arguments);
    sequence<value> r;
    for (std::size_t k = 0, at = 1; k < inputs.size() && !b.failed(); ++k)
      if (active[k]) r.push_back(reshape(all[at++], join(out.dims, inputs[k].dims())));
    return r;
  }
};

/// The Jacobian by forward mode, one pushforward per element of the input, batched. Its shape is out.shape + in.shape;
/// tuples give tuples, the function's result outside. Best for few inputs. JAX: jax.jacfwd.
template <class F> constexpr auto jacfwd(const F& f) { return jacobian<F, wrt_tag<0>, true>(f); }
template <class F, int... I> constexpr auto jacfwd(const F& f, wrt_tag<I...>) { return jacobian<F, wrt_tag<I...>, true>(f); }
/// The Jacobian by reverse mode, one pullback per element of the output, batched. Best for few outputs. JAX: jax.jacrev.
template <class F> constexpr auto jacrev(const F& f) { return jacobian<F, wrt_tag<0>, false>(f); }
template <class F, int... I> constexpr auto jacrev(const F& f, wrt_tag<I...>) { return jacobian<F, wrt_tag<I...>, false>(f); }
/// Second derivatives: forward over reverse. The shape is out.shape + in.shape + in.shape. Where it is computed element by element, as under
/// vmap, and no rule of the user's is involved, elements that are equal by symmetry are computed once. JAX: jax.hessian.
template <class F, int... I> constexpr auto hessian(const F& f, wrt_tag<I...>) {
  using gradient = jacobian<F, wrt_tag<I...>, false>;
  return jacobian<gradient, wrt_tag<I...>, true, true>(gradient(f));
}
template <class F> constexpr auto hessian(const F& f) { return hessian(f, wrt_tag<0>{}); }

}  // namespace cotangent
