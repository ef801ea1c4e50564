// expect: vmap: the options are ct::in_axes<...>, ct::out_axes<...>, ct::axis_size<N> and ct::axis_name<
// expect: vmap_option\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return x; };
constexpr auto f = [](auto x) {
  return ct::vmap(g, ct::axis<0>)(x);
};
bool r = trace<f, ct::var<float, 3>>;
