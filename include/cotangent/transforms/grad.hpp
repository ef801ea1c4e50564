#pragma once
/// grad, value_and_grad, jvp, vjp, linearize, linear_transpose.

#include <cotangent/transforms/function.hpp>

namespace cotangent {

/// Which arguments are differentiated; negative ones count from the end.
template <int... Arguments> struct wrt_tag {
  static constexpr shape list{Arguments...};
};
template <int... Arguments> inline constexpr wrt_tag<Arguments...> wrt{};
/// f returns (value, aux); aux is passed through, not differentiated.
struct has_aux_tag {};
inline constexpr has_aux_tag has_aux{};

/// Per leaf of the arguments V, whether it belongs to an argument in `which`.
template <class... V> constexpr flag_list leaves_of_arguments(const shape& which) {
  flag_list flags;
  const int counts[] = {leaf_count<V>...};
  for (int a = 0; a < int(sizeof...(V)); ++a)
    for (int i = 0; i < counts[a]; ++i) flags.push_back(which.contains(a) || which.contains(a - int(sizeof...(V))));
  return flags;
}

constexpr void describe(message& m, const graph& g, int n) { m << g[n].type << g[n].dims; }

/// Checks what grad asks of a function, and says what is wrong as a graph with an error.
template <class... V> constexpr bool check_grad(graph& g, std::string_view who, const shape& which) {
  if (!g.error.empty()) return false;
  for (extent a : which)
    if (a >= int(sizeof...(V)) || a < -int(sizeof...(V))) {
      g.error = message{} << who << ": wrt " << a << " is out of range: the function is called with " << int(sizeof...(V)) << (sizeof...(V) == 1 ? " argument" : " arguments");
      return false;
    }
  const node& out = g[g.outputs[0]];
  if (out.dims.rank != 0) {
    g.error = message{} << who << ": the function must return a scalar, but its output is " << out.type << out.dims
                        << "; reduce it (ct::sum), or use ct::jacrev";
    return false;
  }
  if (!is_floating(out.type)) {
    g.error = message{} << who << ": the function must return a floating-point scalar, but its output is " << out.type;
    if (is_complex(out.type)) g.error << "; differentiate its real or imaginary part, or use ct::vjp";
    return false;
  }
  const flag_list flags = leaves_of_arguments<V...>(which);
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const node& in = g[g.inputs[i]];
    if (flags[i] && !has_tangent(in.type)) {
      g.error = message{} << who << ": cannot differentiate with respect to an input of dtype " << in.type << in.dims << "; it must be floating-point";
      return false;
    }
  }
  return true;
}

/// The flags with `false` for captured values.
constexpr flag_list with_captured(flag_list flags, std::size_t inputs) {
  while (flags.size() < inputs) flags.push_back(false);
  return flags;
}

template <class Wrt, class... V> struct gradient_tree;
template <int I, class... V> struct gradient_tree<wrt_tag<I>, V...> {
  static constexpr int at = I < 0 ? I + int(sizeof...(V)) : I;
  using type = std::tuple_element_t<(at >= 0 && at < int(sizeof...(V)) ? at : 0), std::tuple<V...>>;
};
template <int I, int J, int... K, class... V> struct gradient_tree<wrt_tag<I, J, K...>, V...> {
  using type = std::tuple<typename gradient_tree<wrt_tag<I>, V...>::type, typename gradient_tree<wrt_tag<J>, V...>::type,
                          typename gradient_tree<wrt_tag<K>, V...>::type...>;
};

/// The outputs of a vjp graph in the order of the `wrt` list. (The graph has them in argument order.)
template <class... V> constexpr void reorder_gradients(graph& g, std::size_t first, const shape& which) {
  const int counts[] = {leaf_count<V>...};
  sequence<int> sorted, result;
  for (std::size_t i = 0; i < first; ++i) result.push_back(g.outputs[i]);
  sequence<int> start;
  int at = int(first);
  for (int a = 0; a < int(sizeof...(V)); ++a) {
    start.push_back(at);
    if (which.contains(a) || which.contains(a - int(sizeof...(V)))) at += counts[a];
  }
  for (extent w : which) {
    const int a = int(w < 0 ? w + extent(sizeof...(V)) : w);
    for (int i = 0; i < counts[a]; ++i) result.push_back(g.outputs[std::size_t(start[std::size_t(a)] + i)]);
  }
  g.outputs = result;
}

template <class F, class Wrt, bool WithValue, bool HasAux> struct gradient : transform_base<gradient<F, Wrt, WithValue, HasAux>> {
  [[no_unique_address]] F f;
  constexpr gradient() = default;
  constexpr explicit gradient(const F& function) : f(function) {}
  template <class G> using with = gradient<G, Wrt, WithValue, HasAux>;
  template <class... V> using inner_arguments = std::tuple<V...>;

  template <class... V> struct result_of {
    using out = traced_result<F, V...>;
    using grads = typename gradient_tree<Wrt, V...>::type;
    static auto make() {
      if constexpr (WithValue) return std::type_identity<std::tuple<out, grads>>{};
      else if constexpr (HasAux) return std::type_identity<std::tuple<grads, std::tuple_element_t<1, out>>>{};
      else return std::type_identity<grads>{};
    }
    using type = typename decltype(make())::type;
  };
  template <class... V> using result = typename result_of<V...>::type;

  template <class... V> constexpr closure transformed(nesting level) const {
    constexpr std::string_view who = WithValue ? "value_and_grad" : "grad";
    if constexpr (HasAux)
      static_assert(requires { typename std::tuple_element_t<1, traced_result<F, V...>>; },
                    "grad with has_aux: the function must return a pair (value, aux)");
    closure c = trace_for_transform<V...>(f, level);
    if (!HasAux && leaf_count<traced_result<F, V...>> != 1 && c.body.error.empty())
      c.body.error = message{} << who << ": the function must return one scalar, but it returns " << int(leaf_count<traced_result<F, V...>>) << " arrays; return (value, aux) and pass ct::has_aux";
    if (!check_grad<V...>(c.body, who, Wrt::list)) return c;
    const std::size_t outputs = c.body.outputs.size();
    c.body = vjp_graph(c.body, with_captured(leaves_of_arguments<V...>(Wrt::list), c.body.inputs.size()), true);
    if (!c.body.error.empty()) return c;
    reorder_gradients<V...>(c.body, outputs, Wrt::list);
    if constexpr (!WithValue) {  // drop the value, and put the gradient before aux
      sequence<int> order;
      for (std::size_t i = outputs; i < c.body.outputs.size(); ++i) order.push_back(c.body.outputs[i]);
      for (std::size_t i = 1; i < outputs; ++i) order.push_back(c.body.outputs[i]);
      c.body.outputs = order;
    }
    return c;
  }
};

/// The gradient of a function that returns a floating-point scalar, by reverse mode. With respect to argument 0, or
/// the arguments of `wrt<...>` (several: a std::tuple). The gradient has the structure, shapes and dtypes of the
/// argument. With `has_aux`, f returns (value, aux) and the result is (gradient, aux). JAX: jax.grad.
template <class F> constexpr auto grad(const F& f) { return gradient<F, wrt_tag<0>, false, false>(f); }
template <class F, int... I> constexpr auto grad(const F& f, wrt_tag<I...>) { return gradient<F, wrt_tag<I...>, false, false>(f); }
template <class F> constexpr auto grad(const F& f, has_aux_tag) { return gradient<F, wrt_tag<0>, false, true>(f); }
template <class F, int... I> constexpr auto grad(const F& f, wrt_tag<I...>, has_aux_tag) { return gradient<F, wrt_tag<I...>, false, true>(f); }

/// (value, gradient) from one evaluation; with `has_aux` ((value, aux), gradient). JAX: jax.value_and_grad.
template <class F> constexpr auto value_and_grad(const F& f) { return gradient<F, wrt_tag<0>, true, false>(f); }
template <class F, int... I> constexpr auto value_and_grad(const F& f, wrt_tag<I...>) { return gradient<F, wrt_tag<I...>, true, false>(f); }
template <class F> constexpr auto value_and_grad(const F& f, has_aux_tag) { return gradient<F, wrt_tag<0>, true, true>(f); }
template <class F, int... I> constexpr auto value_and_grad(const F& f, wrt_tag<I...>, has_aux_tag) { return gradient<F, wrt_tag<I...>, true, true>(f); }

/// f as a function of (primals tuple, tangents tuple) that returns (out, out_tangent).
template <class F> struct pushforward : transform_base<pushforward<F>> {
  [[no_unique_address]] F f;
  constexpr pushforward() = default;
  constexpr explicit pushforward(const F& function) : f(function) {}
  template <class G> using with = pushforward<G>;
  template <class P, class> using inner_arguments = P;
  template <class P> struct of;
  template <class... V> struct of<std::tuple<V...>> {
    using out = traced_result<F, V...>;
    static constexpr closure trace(const F& f, nesting level) { return trace_for_transform<V...>(f, level); }
  };
  template <class P, class T> using result = std::tuple<typename of<P>::out, typename of<P>::out>;
  template <class P, class T> constexpr closure transformed(nesting level) const {
    closure c = of<P>::trace(f, level);
    if (c.body.error.empty()) c.body.error = difference<T, P>("jvp: the tangents must have the structure, shapes and dtypes of the primals");
    if (!c.body.error.empty()) return c;
    flag_list active;
    for (int i = 0; i < leaf_count<P>; ++i) active.push_back(true);
    for (int i = 0; i < leaf_count<P>; ++i)
      if (!has_tangent(c.body[c.body.inputs[std::size_t(i)]].type))
        c.body.error = message{} << "jvp: a primal has dtype " << c.body[c.body.inputs[std::size_t(i)]].type << ", which has no tangents";
    if (!c.body.error.empty()) return c;
    const std::size_t captured = c.captured.size();
    c.body = jvp_graph(c.body, with_captured(active, c.body.inputs.size()));
    // Inputs came as primals, captured, tangents; callers give primals, tangents, captured.
    sequence<int> inputs;
    const std::size_t n = std::size_t(leaf_count<P>);
    for (std::size_t i = 0; i < n; ++i) inputs.push_back(c.body.inputs[i]);
    for (std::size_t i = 0; i < n; ++i) inputs.push_back(c.body.inputs[n + captured + i]);
    for (std::size_t i = 0; i < captured; ++i) inputs.push_back(c.body.inputs[n + i]);
    move_inputs(c.body, inputs);
    return c;
  }
  /// Puts the inputs into another order. Symbols name inputs by number, so they move too.
  static constexpr void move_inputs(graph& g, const sequence<int>& inputs) {
    for (symbol& s : g.symbols) {
      if (s.what != symbol::input) continue;
      const int n = g.inputs[std::size_t(s.a)];
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] == n) {
          s.a = extent(i);
          break;
        }
    }
    g.inputs = inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) g.nodes[std::size_t(inputs[i])].bits = i;
  }
};

template <class T> constexpr auto as_tuple(const T& t) { return std::tuple<T>(t); }
template <class... T> constexpr auto as_tuple(const std::tuple<T...>& t) { return t; }

/// (f(primals), directional derivative of f at the primals along the tangents). Forward mode; primals and tangents
/// are tuples of the arguments. JAX: jax.jvp.
template <class F, class... P, class... T>
constexpr auto jvp(const F& f, const std::tuple<P...>& primals, const std::tuple<T...>& tangents) {
  return pushforward<F>(f)(primals, tangents);
}

/// f as a function of (primals tuple, cotangent of the output) that returns the tuple of cotangents of the primals;
/// with WithValue, (out, cotangents).
template <class F, bool WithValue> struct pullback_function : transform_base<pullback_function<F, WithValue>> {
  [[no_unique_address]] F f;
  constexpr pullback_function() = default;
  constexpr explicit pullback_function(const F& function) : f(function) {}
  template <class G> using with = pullback_function<G, WithValue>;
  template <class P, class> using inner_arguments = P;
  template <class P> using of = typename pushforward<F>::template of<P>;
  template <class P, class C> struct result_of {
    static auto make() {
      if constexpr (WithValue) return std::type_identity<std::tuple<typename of<P>::out, P>>{};
      else return std::type_identity<P>{};
    }
    using type = typename decltype(make())::type;
  };
  template <class P, class C> using result = typename result_of<P, C>::type;
  template <class P, class C> constexpr closure transformed(nesting level) const {
    closure c = of<P>::trace(f, level);
    if (c.body.error.empty()) c.body.error = difference<C, typename of<P>::out>("vjp: the cotangent must have the structure, shapes and dtype of the output");
    if (!c.body.error.empty()) return c;
    flag_list active;
    for (int i = 0; i < leaf_count<P>; ++i) active.push_back(true);
    const std::size_t captured = c.captured.size(), n = std::size_t(leaf_count<P>), outputs = c.body.outputs.size();
    c.body = vjp_graph(c.body, with_captured(active, c.body.inputs.size()), false);
    sequence<int> inputs;
    for (std::size_t i = 0; i < n; ++i) inputs.push_back(c.body.inputs[i]);
    for (std::size_t i = 0; i < outputs && c.body.error.empty(); ++i) inputs.push_back(c.body.inputs[n + captured + i]);
    for (std::size_t i = 0; i < captured; ++i) inputs.push_back(c.body.inputs[n + i]);
    if (c.body.error.empty()) pushforward<F>::move_inputs(c.body, inputs);
    if constexpr (!WithValue)
      if (c.body.error.empty()) c.body.outputs.drop_front(outputs);
    return c;
  }
};

/// f(arguments...) as a function of one tuple.
template <class F> struct on_tuple {
  [[no_unique_address]] F f;
  template <class... A> constexpr auto operator()(const std::tuple<A...>& arguments) const {
    return std::apply([&](const auto&... a) { return f(a...); }, arguments);
  }
};

/// The linear map from the cotangent of f's output to the cotangents of its arguments, at fixed primals.
template <class F, class Primals> struct pullback {
  [[no_unique_address]] F f;
  Primals primals;
  /// The tuple of the arguments' cotangents.
  template <class C> constexpr auto operator()(const C& cotangent) const { return pullback_function<F, false>(f)(primals, cotangent); }
};
/// The linear map from tangents of f's arguments to the tangent of its output, at fixed primals.
template <class F, class Primals> struct pushforward_at {
  [[no_unique_address]] F f;
  Primals primals;
  template <class... T> constexpr auto operator()(const T&... tangents) const {
    return std::get<1>(pushforward<F>(f)(primals, std::tuple<T...>(tangents...)));
  }
};

/// What the arguments of vjp and linearize are kept as: vars in a trace, numbers as numbers, arrays as arrays.
template <class F, class... A> constexpr auto evaluate_function(const F& f, const A&... arguments) {
  if constexpr ((has_traced_leaf<A>() || ...)) return f(arguments...);
  else return run_compiled(f, arguments...);
}

/// (f(primals...), pullback): the pullback maps a cotangent of the output to the tuple of cotangents of the
/// primals. JAX: jax.vjp.
template <class F, class... P> constexpr auto vjp(const F& f, const P&... primals) {
  return std::tuple(evaluate_function(f, primals...), pullback<F, std::tuple<P...>>{f, {primals...}});
}
/// (f(primals...), pushforward): the pushforward maps tangents of the primals to the tangent of the output. JAX: jax.linearize.
template <class F, class... P> constexpr auto linearize(const F& f, const P&... primals) {
  return std::tuple(evaluate_function(f, primals...), pushforward_at<F, std::tuple<P...>>{f, {primals...}});
}

/// The transpose of a linear f, as a function of the output's cotangent; P are the types of f's arguments.
template <class F, class... P> struct transposed : transform_base<transposed<F, P...>> {
  [[no_unique_address]] F f;
  constexpr transposed() = default;
  constexpr explicit transposed(const F& function) : f(function) {}
  template <class G> using with = transposed<G, P...>;
  template <class> using inner_arguments = std::tuple<P...>;
  template <class C> using result = std::tuple<P...>;
  template <class C> constexpr closure transformed(nesting level) const {
    closure c = trace_for_transform<P...>(f, level);
    if (c.body.error.empty()) c.body.error = difference<C, traced_result<F, P...>>("linear_transpose: the cotangent must have the structure, shapes and dtype of the output");
    if (!c.captured.empty()) c.body.error = message{} << "linear_transpose: the function must not capture traced values";
    if (c.body.error.empty()) c.body = transpose_graph(c.body);
    return c;
  }
};
/// The transpose of a linear function: maps a cotangent of the output to the tuple of the arguments'. Only the
/// arguments' types matter; f is not evaluated at them. JAX: jax.linear_transpose.
template <class F, class... P> constexpr auto linear_transpose(const F& f, const P&...) {
  return transposed<F, traced_tree<P>...>(f);
}

}  // namespace cotangent
