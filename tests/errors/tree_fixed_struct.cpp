// expect: tree: this struct cannot be traced, because the types of its arrays are fixed; write it over its array family
#include <cotangent/core/array.hpp>
#include <cotangent/core/tree.hpp>
struct state {
  cotangent::array<float, 3> x;
};
cotangent::rebind_tree<state, cotangent::view> v;
