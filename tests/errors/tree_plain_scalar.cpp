// expect: tree: a struct over its array family A has a field that does not follow A; declare numbers as A<float> x
#include <cotangent/core/array.hpp>
#include <cotangent/core/tree.hpp>
template <template <class, cotangent::extent...> class A> struct state {
  A<float, 3> x;
  float t;
};
cotangent::rebind_tree<state<cotangent::array>, cotangent::view> v;
