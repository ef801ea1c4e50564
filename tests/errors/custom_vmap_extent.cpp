// expect: custom_vmap: the rule returns float32\[6\] where \[3\] is needed
// expect: custom_vmap_extent\.cpp:9:
#include "trace.hpp"
#include <cotangent/transforms/custom_vmap.hpp>
constexpr auto g = ct::custom_vmap([](auto x) { return x * 2; }, [](auto, auto, auto x) {
  return std::tuple(ct::concatenate<0>(x, x), std::true_type());
});
constexpr auto f = [](auto x) {
  return ct::vmap(g)(x);
};
bool r = trace<f, ct::var<float, 3>>;
