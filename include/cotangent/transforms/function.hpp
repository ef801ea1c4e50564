#pragma once
/// Tracing user functions, and calling a transformed function: inside a trace it is inlined, outside it is compiled.

#include <cotangent/core/tree.hpp>
#include <cotangent/graph/freeze.hpp>
#include <cotangent/trace/operations.hpp>
#include <cotangent/transforms/batch.hpp>

namespace cotangent {

/// The tree of vars that stands for argument type A inside a trace.
template <class A> using traced_tree = rebind_tree<A, var>;

/// Whether a function object carries no state, so that its trace depends on its type alone.
template <class F>
concept stateless = std::is_empty_v<F> && std::is_default_constructible_v<F>;

template <class T> consteval bool has_traced_leaf() {
  return []<class... Leaf>(types<Leaf...>) { return (false || ... || traced<Leaf>); }(leaf_types<T>{});
}

/// A traced function: its graph, whose inputs are the leaves of the arguments and then the captured values.
struct closure {
  graph body;
  sequence<value> captured;
};

/// New inputs of `b` for every leaf of a tree of vars.
template <class V> constexpr V input_tree(builder& b) {
  V tree{};
  for_each_leaf(
      [&](auto& leaf) {
        using leaf_type = std::remove_reference_t<decltype(leaf)>;
        shape dims = leaf_type::type_shape();
        for (int i = 0; i < dims.rank; ++i)
          if (dims[i] == dyn) dims[i] = b.input_extent(i);
        leaf = leaf_type(b.input(leaf_type::type, dims));
      },
      tree);
  return tree;
}

/// The leaves of a tree as values of `b`; numbers and arrays become constants.
template <class T> constexpr void append_leaves(builder& b, const T& tree, sequence<value>& to) {
  for_each_leaf(
      [&](const auto& leaf) {
        using leaf_type = std::remove_cvref_t<decltype(leaf)>;
        if constexpr (traced<leaf_type>) to.push_back(b.adopt(value(leaf)));
        else if constexpr (number<leaf_type>) {
          to.push_back(number_constant(b, dtype_of<leaf_type>, leaf));
        } else to.push_back(array_constant_in(b, leaf));
      },
      tree);
}

template <class X> inline constexpr bool has_expressions = is_expression<X>;
template <class... X> inline constexpr bool has_expressions<std::tuple<X...>> = (false || ... || has_expressions<X>);
template <class A, class B> inline constexpr bool has_expressions<std::pair<A, B>> = has_expressions<A> || has_expressions<B>;
/// What a traced function takes or returned, with expressions of concrete arrays as constants of the trace.
template <class X> constexpr auto without_expressions([[maybe_unused]] builder& b, const X& x) {
  if constexpr (is_expression<X>) return x.in_trace(var<float>(value{&b, -1}));
  else if constexpr (has_expressions<X>) return std::apply([&](const auto&... part) { return std::tuple(without_expressions(b, part)...); }, x);
  else return x;
}
template <class A, class B> constexpr auto without_expressions(builder& b, const std::pair<A, B>& x) {
  return std::pair(without_expressions(b, x.first), without_expressions(b, x.second));
}
/// The tree of vars that stands for an argument of type A, an expression of concrete arrays perhaps, inside a trace.
template <class A> using argument_tree = traced_tree<decltype(without_expressions(std::declval<builder&>(), std::declval<const A&>()))>;

/// A graph with an error that is well-formed otherwise, so that later passes do not fail again.
template <class R, class... V> constexpr graph failed_graph(const message& why) {
  builder b;
  (static_cast<void>(input_tree<V>(b)), ...);
  const auto zero = [&]<class Leaf>(type_is<Leaf>) {
    shape dims = Leaf::type_shape();
    for (int i = 0; i < dims.rank; ++i)
      if (dims[i] == dyn) dims[i] = 1;
    b.g.outputs.push_back(constant(b, Leaf::type, dims, 0).id);
  };
  [&]<class... Leaf>(types<Leaf...>) { (zero(type_is<Leaf>{}), ...); }(leaf_types<R>{});
  graph g = b.finish();
  g.error = why;
  return g;
}

/// Says after `who` how the tree Given differs from the tree Wanted, or nothing.
template <class Given, class Wanted> constexpr message difference(std::string_view who) {
  message m;
  if constexpr (!std::is_same_v<Given, Wanted>) {
    sequence<message> given, wanted;
    const auto list = []<class... Leaf>(types<Leaf...>, sequence<message>& to) { (to.push_back(message{} << Leaf::type << Leaf::type_shape()), ...); };
    list(leaf_types<Given>{}, given), list(leaf_types<Wanted>{}, wanted);
    if (given.size() != wanted.size()) return m << who << ": " << int(given.size()) << " arrays are given where " << int(wanted.size()) << " are needed";
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i].view() != wanted[i].view()) return m << who << ": " << given[i].view() << " is given where " << wanted[i].view() << " is needed";
    m << who << ": the arrays fit, but the structure of the tree differs";
  }
  return m;
}

/// Traces f on inputs of the types V (trees of vars).
template <class... V, class F> constexpr closure trace_function(const F& f, nesting level = 0) {
  builder b;
  b.level = level.level, b.innermost = level.innermost ? level.innermost : &b.own_innermost;
  const live_trace outer = *b.innermost;
  *b.innermost = {b.level, &b};
  std::tuple<V...> arguments{input_tree<V>(b)...};
  sequence<value> outputs;
  const auto result = without_expressions(b, std::apply([&](const auto&... a) { return f(a...); }, arguments));
  append_leaves(b, result, outputs);
  *b.innermost = outer;
  if (b.failed()) return {failed_graph<traced_tree<decltype(result)>, V...>(b.g.error), {}};
  for (value v : outputs) b.g.outputs.push_back(v.id);
  closure c;
  c.captured = b.captured;
  c.body = b.finish();
  return c;
}

template <const auto& Frozen> struct error_of {
  constexpr message operator()() const { return Frozen.error; }
};

template <class T> struct transform_base;
template <class T, class... V> struct make_transformed {
  constexpr graph operator()() const { return T{}.template transformed<V...>(0).body; }
};
template <class T, class... V> inline constexpr auto transformed_function = freeze<make_transformed<T, V...>{}>();

template <class F, class... V> struct make_traced {
  constexpr graph operator()() const { return trace_function<V...>(F{}).body; }
};
template <class F, class... V> inline constexpr auto unchecked_trace = freeze<make_traced<F, V...>{}>();

/// Whether tracing F would only copy the graph of a transform: extents are numbers, so that nothing is to be unified.
template <class F, class... V> constexpr bool is_copy_of_transformed() {
  if constexpr (std::is_base_of_v<transform_base<F>, F>) {
    const auto& f = transformed_function<F, V...>;
    return f.error.empty() && f.symbols.empty();
  } else {
    return false;
  }
}
template <class F, class... V> constexpr const auto& checked_trace() {
  if constexpr (is_copy_of_transformed<F, V...>()) return transformed_function<F, V...>;
  else {
    using why = error_of<unchecked_trace<F, V...>>;
    static_assert(report<why{}>(lines_of<why{}>{}));
    return unchecked_trace<F, V...>;
  }
}
/// The trace of a stateless function, made once per type, in its own constant evaluation.
template <class F, class... V> inline constexpr const auto& traced_function = checked_trace<F, V...>();

/// The trace of F for a transform: from the cache if it is stateless.
template <class... V, class F> constexpr closure trace_for_transform(const F& f, nesting level) {
  if constexpr (stateless<F>) return {thaw(traced_function<F, V...>), {}};
  else return trace_function<V...>(f, level);
}

/// What f returns for vars of types V, with numbers as vars.
template <class F, class... V>
using traced_result = argument_tree<std::remove_cvref_t<decltype(std::declval<const F&>()(std::declval<const V&>()...))>>;

/// A tree of vars with these values at its leaves.
template <class V> constexpr V tree_from(const sequence<value>& leaves) {
  V tree{};
  std::size_t i = 0;
  for_each_leaf([&](auto& leaf) { leaf = std::remove_reference_t<decltype(leaf)>(leaves[i++]); }, tree);
  return tree;
}

/// The innermost builder of the vars in the arguments, or null.
template <class... A> constexpr builder* builder_of(const A&... arguments) {
  builder* b = nullptr;
  const auto look = [&](const auto& leaf) {
    if constexpr (traced<decltype(leaf)>)
      if (b == nullptr || leaf.b->level > b->level) b = leaf.b;
  };
  (for_each_leaf(look, arguments), ...);
  return b;
}

/// Whether the transform T, whose function captures something, captures vars: a call with arrays of the types that V... stand for then
/// belongs to their trace (transforms/captures.hpp).
template <class T, class... V> struct vars_captured;
/// captured_trace<T, V...>::of(t) is the innermost such trace, or null.
template <class T, class... V> struct captured_trace;

/// What all transformed functions share. A transform T has
///   transformed<V...>(level) const -> closure        its graph for arguments of the types V
///   result<V...>                                     the tree of vars it returns
///   f, inner_arguments<V...>, with<G>                the function, the types it is called with, and T of another one
template <class T> struct transform_base {
  template <class... A> constexpr auto operator()(A&&... arguments) const {
    const T& self = static_cast<const T&>(*this);
    if constexpr (is_in_trace<A...>())
      return inlined(self, arguments...);
    else if constexpr (returns_one_array<A...>())
      return defer_call<false>(self, arguments...);
    else
      return run_compiled(self, evaluated(std::forward<A>(arguments))...);
  }

 private:
  /// Whether a call with expressions can be one itself.
  template <class... A> static consteval bool returns_one_array() {
    if constexpr (stateless<T> && (is_expression<A> || ...)) return traced<typename T::template result<argument_tree<A>...>>;
    else return false;
  }
  template <class... A> static consteval bool is_in_trace() {
    if constexpr ((has_traced_leaf<std::remove_cvref_t<A>>() || ...)) return true;
    else if constexpr (stateless<T>) return false;
    else if constexpr ((has_only_numbers<A>() && ...)) return true;
    else return vars_captured<T, argument_tree<A>...>::value;
  }
  template <class A> static consteval bool has_only_numbers() {
    return []<class... Leaf>(types<Leaf...>) { return (true && ... && number<Leaf>); }(leaf_types<std::remove_cvref_t<A>>{});
  }

  template <class... A> static constexpr auto inlined(const T& self, const A&... arguments) {
    using result = typename T::template result<argument_tree<A>...>;
    builder* b = builder_of(arguments...);
    closure c;
    if constexpr (stateless<T>) {
      using why = error_of<transformed_function<T, argument_tree<A>...>>;
      static_assert(report<why{}>(lines_of<why{}>{}));
      c.body = thaw(transformed_function<T, argument_tree<A>...>);
    } else {
      c = self.template transformed<argument_tree<A>...>(b && b->innermost ? nesting(b->innermost->level + 1, b->innermost) : nesting(b ? b->level + 1 : nesting::unknown));
      for (value v : c.captured)
        if (b == nullptr || v.b->level > b->level) b = v.b;
      if constexpr (!(has_traced_leaf<std::remove_cvref_t<A>>() || ...))
        if (b == nullptr && !c.body.error.empty()) b = captured_trace<T, argument_tree<A>...>::of(self);
      if (b == nullptr) throw error("a function that captures variables was transformed and called with numbers, outside a trace; pass the variables as arguments");
    }
    if (!c.body.error.empty()) {
      b->fail(c.body.error);
      sequence<value> dead;
      dead.assign(std::size_t(leaf_count<result>), b->dead());
      return tree_from<result>(dead);
    }
    sequence<value> inputs;
    (append_leaves(*b, without_expressions(*b, arguments), inputs), ...);
    for (value v : c.captured) inputs.push_back(b->adopt(v));
    return tree_from<result>(inline_graph(*b, c.body, inputs));
  }
};

}  // namespace cotangent
