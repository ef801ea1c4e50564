/// Compiled by nvcc: every call with device_arrays is here.

#include "heat.hpp"

#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

namespace {
constexpr auto heated = [](auto u) {
  return ct::fori_loop<0, 100>(
      [](auto, auto v) {
        return v + 0.2f * (ct::roll<0>(v, 1) + ct::roll<0>(v, -1) + ct::roll<1>(v, 1) + ct::roll<1>(v, -1) - 4.0f * v);
      },
      u);
};
constexpr auto mean_square = [](auto u) { return ct::mean(ct::square(heated(u))); };
}  // namespace

field after_heating(const field& start) { return ct::jit(heated)(start); }
std::tuple<ct::device_array<float>, field> roughness(const field& start) { return ct::value_and_grad(mean_square)(start); }
