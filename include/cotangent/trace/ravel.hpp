#pragma once
/// Trees as vectors: ravel_tree, as jax.flatten_util.ravel_pytree.

#include <array>
#include <string>
#include <tuple>

#include <cotangent/core/error.hpp>
#include <cotangent/trace/operations.hpp>

namespace cotangent {

template <class... Leaf> constexpr dtype common_dtype(types<Leaf...>) {
  const dtype all[] = {dtype_of<typename leaf_traits<Leaf>::value_type>...};
  dtype d = all[0];
  for (dtype other : all) d = promote(d, other);
  return d;
}
template <class... Leaf> constexpr bool has_run_time_extents(types<Leaf...>) {
  for (const shape& s : {leaf_traits<Leaf>::extents...})
    for (extent e : s)
      if (e == dyn) return true;
  return false;
}

/// The number of all elements; dyn if it is not known.
template <class... Leaf> constexpr extent total_size(types<Leaf...> leaves) {
  return has_run_time_extents(leaves) ? dyn : (leaf_traits<Leaf>::extents.size() + ... + 0);
}
template <class Leaf> constexpr shape shape_of_leaf(const Leaf& leaf) {
  if constexpr (number<Leaf>) return {};
  else return leaf.shape();
}
/// Writes the elements of a leaf.
template <class Leaf, class T> constexpr void append_elements(const Leaf& leaf, T*& next) {
  if constexpr (number<Leaf>) *next++ = static_cast<T>(leaf);
  else
    for (const auto& e : leaf) *next++ = static_cast<T>(e);
}
template <int N> using leaf_shapes = std::array<shape, std::size_t(N)>;

/// All leaves, one behind the other, as a vector of dtype D.
template <dtype D> struct ravel_leaves_function {
  template <class... V> constexpr value operator()(const V&... leaves) const {
    sequence<value> parts;
    (parts.push_back(ravel_function{}(astype_function{D}(leaves))), ...);
    return parts.size() == 1 || parts[0].b->failed() ? parts[0] : concatenate(parts, 0);
  }
};
/// Leaf `I` from that vector, with the shapes of `like`, which there are none of where Leaf's extents are known.
template <int I, class... Leaf> struct unravel_leaf_function {
  template <class... V> constexpr value operator()(value vector, const V&... like) const {
    constexpr dtype type_of[] = {dtype_of<typename leaf_traits<Leaf>::value_type>...};
    sequence<shape> shapes;
    if constexpr (sizeof...(V) > 0) (shapes.push_back(like.dims()), ...);
    else (shapes.push_back(leaf_traits<Leaf>::extents), ...);
    symbol_table& s = vector.b->symbols;
    extent first = 0, size = 0, total = 0;
    for (int i = 0; i < int(sizeof...(Leaf)); ++i) {
      extent n = 1;
      for (extent e : shapes[std::size_t(i)]) n = s.combine(symbol::product, n, e);
      if (i == I) first = total, size = n;
      total = s.combine(symbol::sum, total, n);
    }
    if (vector.rank() != 1 || !s.unify("unravel", vector.dims()[0], total)) {
      vector.b->fail(message{} << "unravel: a vector of " << total << " elements is needed, got " << vector.type() << vector.dims());
      return vector;
    }
    return astype_function{type_of[I]}(reshape(slice(vector, {first}, {size}, {1}), shapes[std::size_t(I)]));
  }
};

/// Makes the tree of a vector. `Like` tells the extents that are not in the types: a std::tuple<> if there are none, the shapes of the
/// leaves, or, in a trace, the tree.
template <class Tree, class Like> struct unravel_tree {
  [[no_unique_address]] Like like;

  /// The tree whose leaves, one behind the other, are the vector's elements. Throws shape_error if there are more or fewer.
  template <tensor V> constexpr auto operator()(const V& vector) const {
    if constexpr (traced<V>) {
      static_assert(!std::is_same_v<Like, leaf_shapes<leaf_count<Tree>>>, "unravel: in a trace the extents of the leaves must be known; ravel the tree there");
      static_cast<void>(leaf<0>(vector, leaf_types<Tree>{}));  // a wrong size is told here: compilers name the user's line if it is near
      return make_tree<rebind_tree<Tree, var>>([&]<class Leaf>(std::type_identity<Leaf>, auto i) {
        return Leaf(value(leaf<decltype(i)::value>(vector, leaf_types<Tree>{})));  // has that type but for errors
      });
    } else return copies(evaluated(vector));
  }

 private:
  template <int I, class V, class... Leaf> constexpr auto leaf(const V& vector, types<Leaf...>) const {
    if constexpr (std::is_same_v<Like, std::tuple<>>) return apply<unravel_leaf_function<I, Leaf...>{}>(vector);
    else
      return [&]<int... K>(std::integer_sequence<int, K...>) {
        return apply<unravel_leaf_function<I, Leaf...>{}>(vector, get_leaf<K>(like)...);
      }(std::make_integer_sequence<int, int(sizeof...(Leaf))>{});
  }
  template <int I, class Leaf> constexpr shape shape_of() const {
    if constexpr (std::is_same_v<Like, std::tuple<>>) return leaf_traits<Leaf>::extents;
    else return like[std::size_t(I)];
  }
  template <class V> constexpr auto copies(const V& vector) const {
    using result = rebind_tree<Tree, array>;
    extent total = 0;
    [&]<class... Leaf, int... I>(types<Leaf...>, std::integer_sequence<int, I...>) {
      ((total += shape_of<I, Leaf>().size()), ...);
    }(leaf_types<Tree>{}, std::make_integer_sequence<int, leaf_count<Tree>>{});
    if (vector.rank() != 1 || vector.size() != total)
      throw shape_error("unravel: a vector of " + std::to_string(total) + " elements is needed, got " + std::to_string(vector.size()) + (vector.rank() == 1 ? "" : " of another rank"));
    auto next = vector.begin();
    return make_tree<result>([&]<class Leaf>(std::type_identity<Leaf>, auto i) {
      using T = typename leaf_traits<Leaf>::value_type;
      Leaf a(uninitialized, shape_of<decltype(i)::value, Leaf>());
      for (T& e : a) e = static_cast<T>(*next++);
      return a;
    });
  }
};

/// The leaves of a tree of arrays, numbers or traced values, one behind the other and each in row-major order, as a vector [n] of their
/// common dtype, and the function that makes such a tree of a vector [n] again. Inside a trace, or outside. JAX: ravel_pytree.
template <tree T> constexpr auto ravel_tree(const T& t) {
  static_assert(leaf_count<T> > 0, "ravel_tree: the tree has no leaves");
  constexpr dtype d = common_dtype(leaf_types<T>{});
  constexpr bool has_dyn = has_run_time_extents(leaf_types<T>{});
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    if constexpr ((traced<decltype(get_leaf<I>(t))> || ...)) {
      const auto& beside = first_traced(get_leaf<I>(t)...);
      const auto vector = apply<ravel_leaves_function<d>{}>(as_var(beside, get_leaf<I>(t))...);
      if constexpr (has_dyn) return std::tuple(vector, unravel_tree<T, T>{t});
      else return std::tuple(vector, unravel_tree<T, std::tuple<>>{});
    } else {
      using element = typename decltype(var_of<d, shape{}>(value()))::value_type;
      array<element, total_size(leaf_types<T>{})> vector(uninitialized, {(shape_of_leaf(get_leaf<I>(t)).size() + ...)});
      auto next = vector.begin();
      (append_elements(get_leaf<I>(t), next), ...);
      if constexpr (has_dyn) return std::tuple(std::move(vector), unravel_tree<T, leaf_shapes<leaf_count<T>>>{{shape_of_leaf(get_leaf<I>(t))...}});
      else return std::tuple(std::move(vector), unravel_tree<T, std::tuple<>>{});
    }
  }(std::make_integer_sequence<int, leaf_count<T>>{});
}

}  // namespace cotangent
