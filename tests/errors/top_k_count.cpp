// expect: top_k: 4 elements of 3, which axis 1 of \[5, ?3\] has
// expect: top_k_count\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return std::get<0>(ct::top_k<4>(x));
};
bool r = trace<f, ct::var<float, 5, 3>>;
