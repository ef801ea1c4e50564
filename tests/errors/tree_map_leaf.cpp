// expect: tree_map: f returns a leaf that does not fit its field
#include <cotangent/core/array.hpp>
#include <cotangent/core/tree.hpp>
template <template <class, cotangent::extent...> class A> struct state {
  A<float, 3> x;
};
auto t = cotangent::tree_map([](auto) { return cotangent::array<float, 4>(); }, state<cotangent::array>());
