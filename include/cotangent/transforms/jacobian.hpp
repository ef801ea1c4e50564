#pragma once
/// jacfwd, jacrev, hessian.

#include <cotangent/transforms/custom.hpp>
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
    flag_list only;
    for (std::size_t k = 0; k < inputs.size(); ++k) only.push_back(k == i);
    const shape in = inputs[i].dims();
    sequence<int> in_axes, out_axes;
    for (std::size_t k = 0; k < inputs.size(); ++k) in_axes.push_back(not_mapped);
    in_axes.push_back(0);
    for (int o : g.outputs) out_axes.push_back(g[o].dims.rank);
    sequence<value> arguments = inputs;
    arguments.push_back(standard_basis(b, inputs[i].type(), in));
    const shape basis = arguments.back().dims();
    graph pushforward = jvp_graph(g, only);
    pushforward.outputs.drop_front(g.outputs.size());  // of the tangents alone
    const graph pushed = batch_graph(pushforward, in_axes, out_axes, is_symbol(basis[0]) ? dyn : basis[0]);
    sequence<value> r;
    for (value v : inline_graph(b, pushed, arguments)) {
      if (b.failed()) break;
      r.push_back(reshape(v, join(erase(v.dims(), v.rank() - 1), in)));
    }
    return r;
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
