// expect: custom_vmap: the rule must return \(out, out_batched\)
// expect: custom_vmap_result\.cpp:7:
#include "trace.hpp"
#include <cotangent/transforms/custom_vmap.hpp>
constexpr auto g = ct::custom_vmap([](auto x) { return x * 2; }, [](auto, auto, auto x) { return x * 2; });
constexpr auto f = [](auto x) {
  return g(x);
};
bool r = trace<f, ct::var<float, 3>>;
