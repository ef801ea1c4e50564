#pragma once
/// Functions that capture variables, called with arrays. Outside a trace such a function is called once, with placeholders for its
/// arguments; the arrays and numbers in the expressions that come out become further arguments of a stateless function. Where vars come out
/// it is in a trace, and captured some of them.

#include <cotangent/transforms/function.hpp>

namespace cotangent {

struct the_leaf {
  template <class V> constexpr V operator()(const V& leaf) const { return leaf; }
};
struct make_tuple_of {
  template <class... V> constexpr std::tuple<V...> operator()(const V&... v) const { return {v...}; }
};

/// The argument of type V whose leaves are numbered from First.
template <int First, class V> struct placeholder {
  static_assert(First < 0, "a function that captures variables is called outside a trace: its arguments must be arrays, numbers or tuples of "
                           "them; pass what it captures as arguments instead");
};
template <int First, class T, extent... E> struct placeholder<First, var<T, E...>> {
  static auto make() { return expression<the_leaf, hole<First, T, E...>>{}; }
};
template <int First, class... V> struct placeholder<First, std::tuple<V...>> {
  static auto make() {
    return []<std::size_t... K>(std::index_sequence<K...>) {
      return std::tuple<decltype(placeholder<First + first_leaf(int(K)), V>::make())...>(placeholder<First + first_leaf(int(K)), V>::make()...);
    }(std::index_sequence_for<V...>{});
  }
  static constexpr int first_leaf(int k) {
    const int sizes[] = {leaf_count<V>..., 0};
    int n = 0;
    for (int i = 0; i < k; ++i) n += sizes[i];
    return n;
  }
};
template <int First, class A, class B> struct placeholder<First, std::pair<A, B>> {
  static auto make() { return std::pair(placeholder<First, A>::make(), placeholder<First + leaf_count<A>, B>::make()); }
};
/// A tree without leaves, such as ct::none, stands for itself.
template <int First, class V>
  requires(is_struct_node<V> && leaf_count<V> == 0)
struct placeholder<First, V> {
  static V make() { return {}; }
};

/// A result as a function F of leaves, placeholders among them.
template <class F, class... Leaves> struct open_function {
  using operand = expression_operand<F, int(sizeof...(Leaves))>;
  std::tuple<Leaves...> leaves;
};
template <class F, class... Leaves> auto open(const expression<F, Leaves...>& e) { return open_function<F, Leaves...>{e.leaves}; }
template <class R>
  requires is_leaf_v<R>
auto open(const R& r) {
  return open_function<the_leaf, R>{r};
}
template <class... R> auto open(const std::tuple<R...>& results) {
  const auto combine = []<class... Part>(const Part&... part) {
    return [&]<class... Leaves>(const std::tuple<Leaves...>& leaves) {
      return open_function<deferred<make_tuple_of, false, typename Part::operand...>, Leaves...>{leaves};
    }(std::tuple_cat(part.leaves...));
  };
  return std::apply([&](const R&... r) { return combine(open(r)...); }, results);
}
template <class R>
  requires(!is_leaf_v<R> && !is_expression<R>)
auto open(const R&) {
  static_assert(is_leaf_v<R>, "a function that captures variables is called outside a trace: it must return an array, a number or a tuple of them; "
                              "pass what it captures as arguments instead");
  return open_function<the_leaf, float>{};
}

/// What was captured: the leaves that are no holes.
template <class... Leaves> auto captured_leaves(const std::tuple<Leaves...>& leaves) {
  const auto one = []<class Leaf>(const Leaf& leaf) {
    if constexpr (hole_number<Leaf> >= 0) return std::tuple<>();
    else return std::tuple<Leaf>(leaf);
  };
  return std::apply([&](const Leaves&... leaf) { return std::tuple_cat(one(leaf)...); }, leaves);
}

/// The function inside a trace, where what was captured is a var.
template <class F, class Captured, class... Leaves> struct closed_function {
  Captured captured;

  template <class... A> constexpr auto operator()(const A&... arguments) const {
    return call(std::tuple_cat(vars_of(arguments)...), std::index_sequence_for<Leaves...>{});
  }

 private:
  template <class V> static constexpr auto vars_of(const V& v) {
    if constexpr (traced<V>) return std::tuple<V>(v);
    else if constexpr (leaf_count<V> == 0) return std::tuple<>();
    else return std::apply([](const auto&... x) { return std::tuple_cat(vars_of(x)...); }, v);
  }
  /// Where leaf k is among the arguments' leaves and then the captured vars.
  static constexpr int source_of(int k, int arguments) {
    const int holes[] = {hole_number<Leaves>..., 0};
    if (holes[k] >= 0) return holes[k];
    int captured_before = 0;
    for (int i = 0; i < k; ++i) captured_before += holes[i] < 0;
    return arguments + captured_before;
  }
  template <class... V, std::size_t... K> constexpr auto call(const std::tuple<V...>& arguments, std::index_sequence<K...>) const {
    [[maybe_unused]] const auto all = std::tuple_cat(arguments, captured);
    return F{}(std::get<std::size_t(source_of(int(K), int(sizeof...(V))))>(all)...);
  }
};

/// A transform of a function: its struct names the function's argument types (inner_arguments), itself with another
/// function (with), and the function (f).
template <class T>
concept wrapper = requires(const T& t) {
  t.f;
  typename T::template with<the_leaf>;
};
template <class T, class... V> struct innermost_arguments { using type = std::tuple<V...>; };
template <class T, class Arguments> struct innermost_arguments_of;
template <class T, class... V> struct innermost_arguments_of<T, std::tuple<V...>> : innermost_arguments<T, V...> {};
template <wrapper T, class... V>
struct innermost_arguments<T, V...> : innermost_arguments_of<decltype(T::f), typename T::template inner_arguments<V...>> {};

template <class T> constexpr const auto& innermost(const T& t) {
  if constexpr (wrapper<T>) return innermost(t.f);
  else return t;
}
/// T with another innermost function.
template <class T, class G> constexpr auto rebuilt(const G& g) {
  if constexpr (wrapper<T>) {
    const auto inner = rebuilt<decltype(T::f)>(g);
    return typename T::template with<std::remove_cvref_t<decltype(inner)>>(inner);
  } else return g;
}

/// Whether vars come out of F, called with placeholders for the vars in the tuple Arguments.
template <class F, class Arguments> inline constexpr bool returns_vars = has_traced_leaf<decltype(std::apply(std::declval<const F&>(), placeholder<0, Arguments>::make()))>();
template <class T, class... V> struct vars_captured : std::false_type {};
template <wrapper T, class... V>
struct vars_captured<T, V...> : std::bool_constant<returns_vars<std::remove_cvref_t<decltype(innermost(std::declval<const T&>()))>, typename innermost_arguments<T, V...>::type>> {};

/// The innermost trace that a function of arguments of the types in the tuple V captures vars of, or null.
template <class F, class... V> constexpr builder* trace_captured(const F& f, std::type_identity<std::tuple<V...>>) {
  builder* b = nullptr;
  for (value v : trace_function<V...>(f, nesting::unknown).captured)
    if (b == nullptr || v.b->level > b->level) b = v.b;
  return b;
}
template <class T, class... V> struct captured_trace {
  static constexpr builder* of(const T& t) {
    if constexpr (wrapper<T>) return trace_captured(innermost(t), std::type_identity<typename innermost_arguments<T, V...>::type>{});
    else return nullptr;
  }
};

/// T as a stateless function of its arguments and of what its innermost function captured.
template <class T, class F, int Arguments, class... Leaves> struct lifted {
  template <class... V> constexpr auto operator()(const V&... all) const {
    return call(std::tie(all...), std::make_index_sequence<std::size_t(Arguments)>{}, std::make_index_sequence<sizeof...(V) - std::size_t(Arguments)>{});
  }

 private:
  template <class All, std::size_t... A, std::size_t... C>
  static constexpr auto call(const All& all, std::index_sequence<A...>, std::index_sequence<C...>) {
    const auto captured = std::tuple(std::get<std::size_t(Arguments) + C>(all)...);
    const auto f = rebuilt<T>(closed_function<F, std::remove_cvref_t<decltype(captured)>, Leaves...>{captured});
    return f(std::get<A>(all)...);
  }
};

/// Calls a transform, or a function, that captures variables.
template <class T, class... A> auto run_with_captured(const T& t, A&&... arguments) {
  using inner = typename innermost_arguments<T, traced_tree<A>...>::type;
  const auto opened = open(std::apply(innermost(t), placeholder<0, inner>::make()));
  return [&]<class F, class... Leaves>(const open_function<F, Leaves...>& function) {
    return std::apply(
        [&](const auto&... captured) {
          return run_compiled(lifted<T, F, int(sizeof...(A)), Leaves...>{}, std::forward<A>(arguments)..., argument_of(captured)...);
        },
        captured_leaves(function.leaves));
  }(opened);
}

}  // namespace cotangent
