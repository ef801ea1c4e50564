#pragma once
/// Trees: arrays (views, vars, scalars) at the leaves; std::tuple, std::pair, std::array and plain structs above
/// them. No registration. A struct that is written over its array family can be traced:
///
///     template <template <class, cotangent::extent...> class A> struct mlp { A<float, 8, 4> w; A<float, 4> b; };
///
/// `mlp<array>` holds data, `mlp<view>` points at it, `mlp<var>` is what a traced function sees. So can one that is written over the types
/// of its fields, all of them and in their order: template <class X, class Y> struct pair { X x; Y y; };
/// Order of the leaves: fields in order, depth first.

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cotangent/core/dtype.hpp>
#include <cotangent/core/fwd.hpp>

namespace cotangent {

/// A list of types.
template <class... T> struct types {
  static constexpr int count = int(sizeof...(T));
};
template <class... T, class... U> constexpr types<T..., U...> operator+(types<T...>, types<U...>) { return {}; }

/// What a leaf is: its element type, its extents in the type, and the same leaf of another family.
template <class X> struct leaf_traits {
  static constexpr bool is_leaf = std::is_arithmetic_v<X> || element<X>;
  static constexpr bool is_scalar = is_leaf;
  using value_type = X;
  static constexpr shape extents{};
  template <template <class, extent...> class Family> using rebind = Family<X>;
};
template <template <class, extent...> class Family, class T, extent... E> struct family_leaf_traits {
  static constexpr bool is_leaf = true, is_scalar = false;
  using value_type = std::remove_const_t<T>;
  static constexpr shape extents{E...};
  template <template <class, extent...> class Other> using rebind = Other<value_type, E...>;
};
template <class T, extent... E> struct leaf_traits<array<T, E...>> : family_leaf_traits<array, T, E...> {};
template <class T, extent... E> struct leaf_traits<view<T, E...>> : family_leaf_traits<view, T, E...> {};
template <class T, extent... E> struct leaf_traits<var<T, E...>> : family_leaf_traits<var, T, E...> {};

/// The shape of an array's memory in numbers that kernels compute with, from that of its elements, and back: a complex number is two.
constexpr shape stored_shape(dtype d, shape dims) {
  if (is_complex(d)) dims.push_back(2);
  return dims;
}
template <class X> constexpr shape stored_shape(const shape& dims) { return stored_shape(dtype_of<typename leaf_traits<X>::value_type>, dims); }
template <class X> constexpr shape shape_of_stored(shape dims) {
  if (is_complex(dtype_of<typename leaf_traits<X>::value_type>)) --dims.rank;
  return dims;
}

template <class X> inline constexpr bool is_leaf_v = leaf_traits<std::remove_cvref_t<X>>::is_leaf;

inline constexpr int max_fields = 24;

/// Whether aggregate S can be initialized with N empty braces. A `{}` initializes exactly one field, whatever
/// its type, so unlike a converting probe it cannot spread over the elements of a field that is an array.
template <class S, int N> consteval bool takes_braces() {
  if constexpr (N == 0) return true;
  // clang-format off
  else if constexpr (N == 1) return requires { S{{}}; };
  else if constexpr (N == 2) return requires { S{{}, {}}; };
  else if constexpr (N == 3) return requires { S{{}, {}, {}}; };
  else if constexpr (N == 4) return requires { S{{}, {}, {}, {}}; };
  else if constexpr (N == 5) return requires { S{{}, {}, {}, {}, {}}; };
  else if constexpr (N == 6) return requires { S{{}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 7) return requires { S{{}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 8) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 9) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 10) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 11) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 12) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 13) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 14) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 15) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 16) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 17) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 18) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 19) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 20) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 21) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 22) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 23) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 24) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (N == 25) return requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  // clang-format on
}
/// The largest N in [Low, High) that S takes.
template <class S, int Low, int High> consteval int count_fields() {
  if constexpr (High - Low == 1) return Low;
  else if constexpr (takes_braces<S, (Low + High) / 2>()) return count_fields<S, (Low + High) / 2, High>();
  else return count_fields<S, Low, (Low + High) / 2>();
}
/// The number of fields of a plain struct whose fields all have a default value; 25 stands for more than 24.
template <class S> inline constexpr int field_count = count_fields<S, 0, max_fields + 2>();

/// visitor(field...) of a plain struct.
template <class S, class V> constexpr decltype(auto) visit_fields(S& from, V&& visitor) {
  constexpr int count = field_count<std::remove_const_t<S>>;
  static_assert(count <= max_fields, "tree: a struct of arrays has more than 24 fields; group some into a nested struct");
  if constexpr (count == 0 || count > max_fields) return visitor();
  // clang-format off
  else if constexpr (count == 1) { auto& [a] = from; return visitor(a); }
  else if constexpr (count == 2) { auto& [a, b] = from; return visitor(a, b); }
  else if constexpr (count == 3) { auto& [a, b, c] = from; return visitor(a, b, c); }
  else if constexpr (count == 4) { auto& [a, b, c, d] = from; return visitor(a, b, c, d); }
  else if constexpr (count == 5) { auto& [a, b, c, d, e] = from; return visitor(a, b, c, d, e); }
  else if constexpr (count == 6) { auto& [a, b, c, d, e, f] = from; return visitor(a, b, c, d, e, f); }
  else if constexpr (count == 7) { auto& [a, b, c, d, e, f, g] = from; return visitor(a, b, c, d, e, f, g); }
  else if constexpr (count == 8) { auto& [a, b, c, d, e, f, g, h] = from; return visitor(a, b, c, d, e, f, g, h); }
  else if constexpr (count == 9) { auto& [a, b, c, d, e, f, g, h, i] = from; return visitor(a, b, c, d, e, f, g, h, i); }
  else if constexpr (count == 10) { auto& [a, b, c, d, e, f, g, h, i, j] = from; return visitor(a, b, c, d, e, f, g, h, i, j); }
  else if constexpr (count == 11) { auto& [a, b, c, d, e, f, g, h, i, j, k] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k); }
  else if constexpr (count == 12) { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l); }
  else if constexpr (count == 13) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m); }
  else if constexpr (count == 14) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n); }
  else if constexpr (count == 15) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o); }
  else if constexpr (count == 16) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p); }
  else if constexpr (count == 17) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q); }
  else if constexpr (count == 18) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r); }
  else if constexpr (count == 19) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s); }
  else if constexpr (count == 20) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t); }
  else if constexpr (count == 21) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u); }
  else if constexpr (count == 22) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v); }
  else if constexpr (count == 23) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w); }
  else if constexpr (count == 24) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x] = from; return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x); }
  // clang-format on
}

template <class X>
inline constexpr bool is_struct_node = std::is_class_v<X> && std::is_aggregate_v<X> && std::is_default_constructible_v<X> && !is_leaf_v<X>;

template <class X> inline constexpr bool is_tuple_node = false;
template <class... T> inline constexpr bool is_tuple_node<std::tuple<T...>> = true;
template <class A, class B> inline constexpr bool is_tuple_node<std::pair<A, B>> = true;
template <class T, std::size_t N> inline constexpr bool is_tuple_node<std::array<T, N>> = true;
template <class X> inline constexpr bool is_node = is_tuple_node<X> || is_struct_node<X>;

struct list_types {
  template <class... C> constexpr auto operator()(C&...) const { return types<std::remove_const_t<C>...>{}; }
};
template <class S> struct node_children {
  using type = decltype(visit_fields(std::declval<S&>(), list_types{}));
};
template <class... T> struct node_children<std::tuple<T...>> {
  using type = types<std::remove_cvref_t<T>...>;
};
template <class A, class B> struct node_children<std::pair<A, B>> {
  using type = types<std::remove_cvref_t<A>, std::remove_cvref_t<B>>;
};
template <class T, std::size_t N> struct node_children<std::array<T, N>> {
  template <std::size_t... I> static types<std::enable_if_t<(I < N), T>...> list(std::index_sequence<I...>);
  using type = decltype(list(std::make_index_sequence<N>{}));
};
/// The types of the children of a tuple, pair, std::array or plain struct.
template <class T> using children_of = typename node_children<std::remove_const_t<T>>::type;

template <class T> consteval bool is_tree();
template <class... C> consteval bool are_trees(types<C...>) { return (true && ... && is_tree<C>()); }
template <class T> consteval bool is_tree() {
  if constexpr (is_leaf_v<T>) return true;
  else if constexpr (!is_node<T>) return false;
  else if constexpr (is_struct_node<T>) {
    if constexpr (field_count<T> > max_fields) return false;
    else return are_trees(children_of<T>{});
  } else return are_trees(children_of<T>{});
}
/// A leaf, or a tuple, pair, std::array or plain struct (up to 24 fields) of trees. References and const are ignored.
template <class T>
concept tree = is_tree<std::remove_cvref_t<T>>();

template <class T> consteval auto list_leaves();
template <class... C> consteval auto list_leaves_of(types<C...>) { return (types<>{} + ... + list_leaves<C>()); }
template <class T> consteval auto list_leaves() {
  if constexpr (is_leaf_v<T>) return types<T>{};
  else return list_leaves_of(children_of<T>{});
}
/// types<Leaf...> of a tree, in order.
template <class T> using leaf_types = decltype(list_leaves<std::remove_cvref_t<T>>());
template <class T> inline constexpr int leaf_count = leaf_types<T>::count;

template <int I, class First, class... Rest> constexpr auto& pick(First& first, Rest&... rest) {
  if constexpr (I == 0) return first;
  else return pick<I - 1>(rest...);
}
/// The `I`-th child of a node.
template <int I, class T> constexpr auto& child(T& t) {
  if constexpr (is_tuple_node<std::remove_const_t<T>>) return std::get<I>(t);
  else return visit_fields(t, [](auto&... c) -> auto& { return pick<I>(c...); });
}

/// fn(leaf, other_leaf...) for every leaf, in order, of trees with the same structure.
template <class F, class T, class... U> constexpr void for_each_leaf(F&& fn, T& t, U&... u) {
  if constexpr (is_leaf_v<T>) fn(t, u...);
  else if constexpr (sizeof...(U) == 0 && !is_tuple_node<std::remove_const_t<T>>) visit_fields(t, [&](auto&... c) { (for_each_leaf(fn, c), ...); });
  else {
    constexpr int n = children_of<T>::count;
    static_assert((true && ... && !is_leaf_v<U>) && (true && ... && (children_of<U>::count == n)), "for_each_leaf: the trees differ in structure");
    [&]<int... I>(std::integer_sequence<int, I...>) {
      if constexpr (sizeof...(U) == 0) (for_each_leaf(fn, std::get<I>(t)), ...);
      else {
        const auto at = [&](auto k) { for_each_leaf(fn, child<decltype(k)::value>(t), child<decltype(k)::value>(u)...); };
        (at(std::integral_constant<int, I>{}), ...);
      }
    }(std::make_integer_sequence<int, n>{});
  }
}

/// Which child of a node holds leaf `I`, and which of its leaves that is.
struct leaf_place {
  int child, leaf;
};
template <class... C> consteval leaf_place locate_leaf(types<C...>, int leaf) {
  const int counts[] = {leaf_count<C>...};
  int k = 0;
  for (; leaf >= counts[k]; ++k) leaf -= counts[k];
  return {k, leaf};
}
/// Leaf `I` of a tree.
template <int I, class T> constexpr auto& get_leaf(T& t) {
  if constexpr (is_leaf_v<T>) return t;
  else {
    constexpr leaf_place place = locate_leaf(children_of<T>{}, I);
    return get_leaf<place.leaf>(child<place.child>(t));
  }
}

template <class First, class... Rest> consteval bool all_same(types<First, Rest...>) {
  return sizeof...(Rest) > 0 && (true && ... && std::is_same_v<First, Rest>);
}
template <class... Leaf, class T> constexpr auto copy_leaves(types<Leaf...> list, T& t) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    if constexpr (sizeof...(Leaf) == 0) return std::tuple<>{};
    else if constexpr (all_same(list)) return std::array{get_leaf<I>(t)...};
    else return std::tuple<Leaf...>{get_leaf<I>(t)...};
  }(std::make_integer_sequence<int, int(sizeof...(Leaf))>{});
}
/// The leaves, copied: a std::array if there are two or more of one type, otherwise a std::tuple. JAX: tree_leaves.
template <tree T> constexpr auto tree_leaves(const T& t) { return copy_leaves(leaf_types<T>{}, t); }

template <int I, class F, class T, class Acc> constexpr auto reduce_from(F&& f, const T& t, Acc acc) {
  if constexpr (I == leaf_count<T>) return acc;
  else return reduce_from<I + 1>(f, t, f(std::move(acc), get_leaf<I>(t)));
}
/// f(... f(f(init, leaf 0), leaf 1) ...); the result may change its type on the way. JAX: tree_reduce.
template <class F, tree T, class Acc> constexpr auto tree_reduce(F&& f, const T& t, Acc init) {
  return reduce_from<0>(f, t, std::move(init));
}
/// The same starting from the first leaf.
template <class F, tree T> constexpr auto tree_reduce(F&& f, const T& t) {
  static_assert(leaf_count<T> > 0, "tree_reduce: the tree has no leaves; give an initial value");
  return reduce_from<1>(f, t, get_leaf<0>(t));
}

/// A struct over an array family: the struct over another family. The family is the first template parameter;
/// values or types may follow it.
template <class S> struct struct_rebind {
  static constexpr bool possible = false;
};
template <template <template <class, extent...> class> class S, template <class, extent...> class A> struct struct_rebind<S<A>> {
  static constexpr bool possible = true;
  template <template <class, extent...> class Family> using to = S<Family>;
};
template <template <template <class, extent...> class, auto, auto...> class S, template <class, extent...> class A, auto V, auto... Vs>
struct struct_rebind<S<A, V, Vs...>> {
  static constexpr bool possible = true;
  template <template <class, extent...> class Family> using to = S<Family, V, Vs...>;
};
template <template <template <class, extent...> class, class, class...> class S, template <class, extent...> class A, class U, class... Us>
struct struct_rebind<S<A, U, Us...>> {
  static constexpr bool possible = true;
  template <template <class, extent...> class Family> using to = S<Family, U, Us...>;
};

/// A struct template over the types of its fields, in order: template <class A, class B> struct state { A a; B b; };
template <class S> struct struct_of_fields {
  static constexpr bool possible = false;
};
template <template <class...> class S, class... T>
  requires(is_struct_node<S<T...>> && std::is_same_v<children_of<S<T...>>, types<T...>>)
struct struct_of_fields<S<T...>> {
  static constexpr bool possible = true;
  template <class... U> using to = S<U...>;
  template <template <class> class Rebind> using each = S<Rebind<T>...>;
};

template <template <class, extent...> class Family, class... Leaf> consteval bool all_of_family(types<Leaf...>) {
  return (true && ... && std::is_same_v<Leaf, typename leaf_traits<Leaf>::template rebind<Family>>);
}

template <class T, template <class, extent...> class Family> struct rebind_impl {
  template <class Field> using rebound_field = typename rebind_impl<Field, Family>::type;
  static constexpr auto find() {
    if constexpr (is_leaf_v<T>) return std::type_identity<typename leaf_traits<T>::template rebind<Family>>{};
    else if constexpr (is_struct_node<T>) {
      if constexpr (leaf_count<T> == 0) return std::type_identity<T>{};
      else if constexpr (struct_of_fields<T>::possible) return std::type_identity<typename struct_of_fields<T>::template each<rebound_field>>{};
      else {
        static_assert(struct_rebind<T>::possible,
                      "tree: this struct cannot be traced, because the types of its arrays are fixed; write it over its array "
                      "family: template <template <class, cotangent::extent...> class A> struct name { A<float, 3> x; }; "
                      "or over the types of its fields: template <class X, class Y> struct name { X x; Y y; };");
        if constexpr (struct_rebind<T>::possible) {
          using rebound = typename struct_rebind<T>::template to<Family>;
          static_assert(all_of_family<Family>(leaf_types<rebound>{}),
                        "tree: a struct over its array family A has a field that does not follow A; declare numbers as A<float> x");
          return std::type_identity<rebound>{};
        } else return std::type_identity<T>{};
      }
    } else {
      static_assert(is_node<T>,
                    "tree: not an array, a number, or a tuple, pair, std::array or plain struct (up to 24 fields) of these");
      return std::type_identity<T>{};
    }
  }
  using type = typename decltype(find())::type;
};
template <class... T, template <class, extent...> class Family> struct rebind_impl<std::tuple<T...>, Family> {
  using type = std::tuple<typename rebind_impl<std::remove_cvref_t<T>, Family>::type...>;
};
template <class A, class B, template <class, extent...> class Family> struct rebind_impl<std::pair<A, B>, Family> {
  using type = std::pair<typename rebind_impl<std::remove_cvref_t<A>, Family>::type, typename rebind_impl<std::remove_cvref_t<B>, Family>::type>;
};
template <class T, std::size_t N, template <class, extent...> class Family> struct rebind_impl<std::array<T, N>, Family> {
  using type = std::array<typename rebind_impl<T, Family>::type, N>;
};
/// The same tree with every leaf (array, view, var, number) of element T and extents E... replaced by Family<T, E...>.
template <class T, template <class, extent...> class Family>
using rebind_tree = typename rebind_impl<std::remove_cvref_t<T>, Family>::type;

/// The number of the first leaf of each child, if the first child's is `First`; and one past the last leaf.
template <int First, class... C> consteval std::array<int, sizeof...(C) + 1> leaf_starts() {
  std::array<int, sizeof...(C) + 1> s{First};
  [[maybe_unused]] std::size_t k = 0;
  ((s[k + 1] = s[k] + leaf_count<C>, ++k), ...);
  return s;
}

template <class T, int First, class... C, class F> constexpr T make_children(types<C...>, F&& f);

/// A tree of type T whose leaf `I`, of type Leaf, is f(std::type_identity<Leaf>, std::integral_constant<int, I>).
/// Leaves are constructed in place and in order.
template <class T, int First = 0, class F> constexpr T make_tree(F&& f) {
  if constexpr (is_leaf_v<T>) return f(std::type_identity<T>{}, std::integral_constant<int, First>{});
  else return make_children<T, First>(children_of<T>{}, f);
}
template <class T, int First, class... C, class F> constexpr T make_children(types<C...>, F&& f) {
  [[maybe_unused]] constexpr auto starts = leaf_starts<First, C...>();
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return T{make_tree<C, starts[I]>(f)...}; }(std::index_sequence_for<C...>{});
}

template <class... T> struct first_of {};
template <class First, class... Rest> struct first_of<types<First, Rest...>> {
  using type = First;
};
template <class... Tree> using first_leaf = typename first_of<decltype(list_leaves_of(types<Tree...>{}))>::type;

/// The struct that tree_map returns: over the family of the first new leaf, or else of the same type.
template <class S, class Leaf> struct mapped_struct {
  using type = S;
};
template <class S, class Leaf>
  requires(struct_rebind<S>::possible && is_leaf_v<Leaf> && !leaf_traits<Leaf>::is_scalar)
struct mapped_struct<S, Leaf> {
  template <class L> struct family;
  template <template <class, extent...> class A, class T, extent... E> struct family<A<T, E...>> {
    using type = typename struct_rebind<S>::template to<A>;
  };
  using type = typename family<Leaf>::type;
};

template <class T, class... Child> struct joined;
template <class... Old, class... Child> struct joined<std::tuple<Old...>, Child...> {
  using type = std::tuple<Child...>;
};
template <class A, class B, class X, class Y> struct joined<std::pair<A, B>, X, Y> {
  using type = std::pair<X, Y>;
};
template <class T> struct joined<std::array<T, 0>> {
  using type = std::array<T, 0>;
};
template <class T, std::size_t N, class Child, class... Children> struct joined<std::array<T, N>, Child, Children...> {
  static_assert((true && ... && std::is_same_v<Child, Children>), "tree_map: f returns different types for the elements of a std::array");
  using type = std::array<Child, N>;
};
template <class S>
  requires is_struct_node<S>
struct joined<S> {
  using type = S;
};
template <class S, class Child, class... Children>
  requires(struct_of_fields<S>::possible)
struct joined<S, Child, Children...> {
  using type = typename struct_of_fields<S>::template to<Child, Children...>;
};
template <class S, class Child, class... Children>
  requires(is_struct_node<S> && !struct_of_fields<S>::possible)
struct joined<S, Child, Children...> {
  using type = typename mapped_struct<S, first_leaf<Child, Children...>>::type;
  static_assert(requires(Child (&c)(), Children (&... cs)()) { type{c(), cs()...}; },
                "tree_map: f returns a leaf that does not fit its field; in a struct every leaf keeps its element type and extents");
};

/// f(leaf, other_leaf...) at every leaf, in order, of trees with the same structure; a tree with that structure.
/// In a tuple, pair or std::array the leaves have the types that f returns. A struct over a family becomes the
/// struct over the family that f returns, and its fields keep their element types and extents. JAX: tree_map.
template <class F, class T, class... U> constexpr auto tree_map(F&& f, const T& t, const U&... u) {
  if constexpr (is_leaf_v<T>) return f(t, u...);
  else {
    constexpr int n = children_of<T>::count;
    static_assert((true && ... && !is_leaf_v<U>) && (true && ... && (children_of<U>::count == n)), "tree_map: the trees differ in structure");
    const auto at = [&](auto k) { return tree_map(f, child<decltype(k)::value>(t), child<decltype(k)::value>(u)...); };
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      using made = typename joined<T, decltype(at(std::integral_constant<int, I>{}))...>::type;
      return made{at(std::integral_constant<int, I>{})...};
    }(std::make_integer_sequence<int, n>{});
  }
}

}  // namespace cotangent
