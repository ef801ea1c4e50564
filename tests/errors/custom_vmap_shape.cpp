// expect: custom_vmap: the rule returns float32\[\?\] for a batched float32\[3\], which has the batch axis in front
// expect: custom_vmap_shape\.cpp:9:
#include "trace.hpp"
#include <cotangent/transforms/custom_vmap.hpp>
constexpr auto g = ct::custom_vmap([](auto x) { return x * 2; }, [](auto, auto, auto x) {
  return std::tuple(ct::sum(x, ct::axis<1>), std::true_type());
});
constexpr auto f = [](auto x) {
  return g(x);
};
bool r = trace<f, ct::var<float, 3>>;
