/// Trees: their leaves, and the same tree over another family.

#include <cotangent/core/array.hpp>
#include <cotangent/core/tree.hpp>

namespace ct = cotangent;

/// Stands in for a traced value.
template <class T, ct::extent... E> struct mark {
  int id = -1;
};
template <class T, ct::extent... E> struct cotangent::leaf_traits<mark<T, E...>> : family_leaf_traits<mark, T, E...> {};

template <template <class, ct::extent...> class A> struct layer {
  A<float, 4, 8> w;
  A<float, 8> b;
};
template <template <class, ct::extent...> class A> struct network {
  layer<A> first;
  std::array<layer<A>, 2> hidden;
  std::tuple<A<float>, A<int, 3>> rest;
  A<float, 8> last;
};
template <template <class, ct::extent...> class A, ct::extent N, int M> struct sized {
  A<double, N> x;
  A<double, M> y;
};
template <template <class, ct::extent...> class A, class T> struct typed {
  A<T, 3> x;
};
template <template <class, ct::extent...> class A> struct full {
  A<float, 1> a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x;
};
template <template <class, ct::extent...> class A> struct nested_full {
  full<A> a;
  A<float, 1> b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x;
};
struct empty {};
struct plain {
  ct::array<float, 3> x;
  float s;
  std::array<float, 2> pair;
};
struct over_full {
  int x[25];
  ct::array<float> a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x1, y;
};
union either {
  float x;
  int i;
};

using net = network<ct::array>;

static_assert(ct::field_count<net> == 4 && ct::leaf_count<net> == 9);
static_assert(ct::field_count<empty> == 0 && ct::leaf_count<empty> == 0);
static_assert(ct::field_count<full<ct::array>> == 24 && ct::leaf_count<full<ct::array>> == 24);
static_assert(ct::field_count<nested_full<ct::array>> == 24 && ct::leaf_count<nested_full<ct::array>> == 47);
static_assert(ct::field_count<plain> == 3, "a std::array field is one field, not its elements");

static_assert(ct::tree<net> && ct::tree<float> && ct::tree<ct::half> && ct::tree<empty> && ct::tree<plain> && ct::tree<std::tuple<>&>);
static_assert(ct::tree<const ct::view<const float, 3>&> && ct::tree<std::pair<net, int>>);
static_assert(!ct::tree<int*> && !ct::tree<std::tuple<float, char*>> && !ct::tree<std::array<int*, 2>> && !ct::tree<either> && !ct::tree<over_full>);

static_assert(std::is_same_v<ct::leaf_types<plain>, ct::types<ct::array<float, 3>, float, float, float>>);
static_assert(std::is_same_v<ct::leaf_types<const layer<ct::view>&>, ct::types<ct::view<float, 4, 8>, ct::view<float, 8>>>);
static_assert(ct::leaf_traits<ct::array<double, ct::dyn, 3>>::extents == ct::shape{ct::dyn, 3});

static_assert(std::is_same_v<ct::rebind_tree<net, mark>, network<mark>>);
static_assert(std::is_same_v<ct::rebind_tree<network<ct::view>, ct::array>, net>);
static_assert(std::is_same_v<ct::rebind_tree<sized<ct::array, 3, 4>, mark>, sized<mark, 3, 4>>, "values may follow the family");
static_assert(std::is_same_v<ct::rebind_tree<typed<ct::array, int>, mark>, typed<mark, int>>, "types may, too");
static_assert(std::is_same_v<ct::rebind_tree<std::tuple<float, std::pair<ct::view<const int, 3>, empty>, std::array<double, 2>>, mark>,
                             std::tuple<mark<float>, std::pair<mark<int, 3>, empty>, std::array<mark<double>, 2>>>);
static_assert(std::is_same_v<ct::rebind_tree<float, ct::var>, ct::var<float>>, "var may be incomplete");

consteval bool visits_in_order() {
  network<mark> n;
  int next = 0;
  ct::for_each_leaf([&](auto& leaf) { leaf.id = next++; }, n);
  return n.first.w.id == 0 && n.hidden[1].b.id == 5 && std::get<1>(n.rest).id == 7 && n.last.id == 8;
}
static_assert(visits_in_order());

consteval bool visits_in_lockstep() {
  std::tuple<int, std::pair<int, int>> t{1, {2, 3}};
  const std::tuple<int, std::pair<double, int>> u{10, {20, 30}};
  ct::for_each_leaf([](int& a, auto b) { a += int(b); }, t, u);
  return std::get<0>(t) == 11 && std::get<1>(t).second == 33;
}
static_assert(visits_in_lockstep());

constexpr auto numbered = ct::make_tree<network<mark>>(
    []<class Leaf, int I>(std::type_identity<Leaf>, std::integral_constant<int, I>) { return Leaf{I}; });
static_assert(numbered.hidden[0].w.id == 2 && numbered.last.id == 8 && ct::get_leaf<5>(numbered).id == 5);

consteval bool maps_in_order() {
  int next = 0;
  const auto t = ct::tree_map([&](int) { return next++; }, std::tuple<int, std::pair<int, int>, std::array<int, 2>>{});
  return std::get<0>(t) == 0 && std::get<1>(t).second == 2 && std::get<2>(t)[1] == 4;
}
static_assert(maps_in_order());

constexpr auto mapped =
    ct::tree_map([]<class T, ct::extent... E>(const mark<T, E...>& m) { return ct::full<T, E...>(T(m.id)); }, layer<mark>{{3}, {4}});
static_assert(std::is_same_v<decltype(mapped), const layer<ct::array>>, "a struct follows the family of the new leaves");
static_assert(mapped.b(7) == 4);
static_assert(std::is_same_v<decltype(ct::tree_map([](auto x) { return x; }, empty{})), empty>);
static_assert(std::is_same_v<decltype(ct::tree_map([](auto) { return 1.5; }, std::array<std::tuple<int>, 2>{})), std::array<std::tuple<double>, 2>>);
static_assert(std::get<1>(ct::tree_map([](auto a, auto b, auto c) { return a + b * c; }, std::pair{1, 2}, std::pair{3, 4}, std::pair{5, 6})) == 26);

static_assert(ct::tree_reduce([](int n, const auto&) { return n + 1; }, numbered, 0) == 9);
static_assert(ct::tree_reduce([](auto a, auto b) { return a + b; }, std::tuple{1, 2.5f, 3.0}) == 6.5);
static_assert(std::is_same_v<decltype(ct::tree_leaves(std::tuple{1, std::pair{2, 3}})), std::array<int, 3>>);
static_assert(std::get<1>(ct::tree_leaves(std::pair{1, 2.5})) == 2.5);
static_assert(std::is_same_v<decltype(ct::tree_leaves(std::tuple<>{})), std::tuple<>>);
static_assert(std::is_same_v<decltype(ct::tree_leaves(7)), std::tuple<int>>);
