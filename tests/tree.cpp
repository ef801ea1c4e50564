#include "catch.hpp"

#include <cotangent/core/array.hpp>
#include <cotangent/core/tree.hpp>

namespace ct = cotangent;

template <template <class, ct::extent...> class A> struct mlp {
  A<float, 40, 30> w;
  A<float, ct::dyn> b;
};
struct state {
  ct::array<double, 3> x;
  float t = 0;
};

TEST_CASE("tree_map over a struct of arrays gives the same struct") {
  mlp<ct::array> p{ct::ones<float, 40, 30>(), ct::full<float, ct::dyn>({5}, 2)};
  const mlp<ct::array> q = ct::tree_map(
      [](auto a, const auto& b) {
        for (std::ptrdiff_t i = 0; i < a.size(); ++i) a.data()[i] += b.data()[i];
        return a;
      },
      p, p);
  CHECK(q.w(39, 29) == 2);
  CHECK(q.b.size() == 5);
  CHECK(q.b(4) == 4);
}

TEST_CASE("a struct of views points at a struct of arrays") {
  mlp<ct::array> p{{}, ct::array<float, ct::dyn>({4})};
  const mlp<ct::view> v = ct::make_tree<mlp<ct::view>>(
      [&]<class Leaf, int I>(std::type_identity<Leaf>, std::integral_constant<int, I>) { return Leaf(ct::get_leaf<I>(p)); });
  v.b(3) = 7;
  CHECK(p.b(3) == 7);
  CHECK(v.w.data() == p.w.data());
}

TEST_CASE("a plain struct is a tree") {
  state s{{1, 2, 3}, 4};
  int elements = 0;
  ct::for_each_leaf(
      [&](auto& leaf) {
        if constexpr (ct::leaf_traits<std::remove_reference_t<decltype(leaf)>>::is_scalar) leaf *= 2, ++elements;
        else elements += int(leaf.size());
      },
      s);
  CHECK(s.t == 8);
  CHECK(elements == 4);
  const state doubled = ct::tree_map(
      [](auto x) {
        if constexpr (std::is_same_v<decltype(x), float>) return 2 * x;
        else return x;
      },
      s);
  CHECK(doubled.t == 16);
  CHECK(doubled.x(2) == 3);
}

template <class X, class Y> struct two {
  X x{};
  Y y{};
};

TEST_CASE("a struct over the types of its fields is a tree of any leaves") {
  using arrays = two<ct::array<float, 3>, two<int, std::tuple<ct::array<double>>>>;
  static_assert(ct::tree<arrays> && ct::leaf_count<arrays> == 3);
  static_assert(std::is_same_v<ct::rebind_tree<arrays, ct::view>, two<ct::view<float, 3>, two<ct::view<int>, std::tuple<ct::view<double>>>>>);
  const arrays a{{1, 2, 3}, {4, {5.0}}};
  const auto sizes = ct::tree_map([]<class L>(const L&) { return ct::leaf_traits<L>::extents.rank; }, a);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(sizes)>, two<int, two<int, std::tuple<int>>>>);
  CHECK((sizes.x == 1 && sizes.y.x == 0));
}

TEST_CASE("make_tree constructs its leaves in place") {
  const float* block = nullptr;
  const auto t = ct::make_tree<std::tuple<ct::array<float, 40, 40>, float>>(
      [&]<class Leaf, int I>(std::type_identity<Leaf>, std::integral_constant<int, I>) {
        Leaf leaf{};
        if constexpr (I == 0) block = leaf.data();
        return leaf;
      });
  CHECK(std::get<0>(t).data() == block);
}
