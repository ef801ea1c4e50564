// expect: custom_vmap: out_batched of the rule must be a std::true_type or std::false_type, or a std::tuple of one per array
// expect: custom_vmap_flags\.cpp:7:
#include "trace.hpp"
#include <cotangent/transforms/custom_vmap.hpp>
constexpr auto g = ct::custom_vmap([](auto x) { return x * 2; }, [](auto, auto, auto x) { return std::tuple(x * 2, true); });
constexpr auto f = [](auto x) {
  return g(x);
};
bool r = trace<f, ct::var<float, 3>>;
