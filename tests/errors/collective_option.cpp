// expect: collectives: the options are ct::axis<k>, of all_gather and psum_scatter, ct::axis_size<N> and ct::tiled
// expect: collective_option\.cpp:5:
#include "trace.hpp"
constexpr auto g = [](auto x) {
  return ct::all_gather<"i">(x, ct::axis_size<3>, ct::keepdims);
};
constexpr auto f = [](auto x) { return ct::vmap(g, ct::axis_name<"i">)(x); };
bool r = trace<f, ct::var<float, 3>>;
