// expect: all_to_all: axis 2 is out of range for float32\[4\]
// expect: all_to_all_axis\.cpp:5:
#include "trace.hpp"
constexpr auto g = [](auto x) {
  return ct::all_to_all<"i", 0, 2>(x);
};
constexpr auto f = [](auto x) { return ct::vmap(g, ct::axis_name<"i">)(x); };
bool r = trace<f, ct::var<float, 4, 4>>;
