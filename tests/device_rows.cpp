/// Row programs of devices, against the CPU: softmax, layer normalization and its gradient.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

constexpr auto layer_norm = [](auto x) {
  const auto c = x - ct::mean(x, ct::axis<-1>, ct::keepdims);
  return c / ct::sqrt(ct::mean(ct::square(c), ct::axis<-1>, ct::keepdims) + 1e-5f);
};

}  // namespace

TEST_CASE("row programs: softmax, layer normalization and their gradients") {
  const auto softmax = [](auto x) { return ct::nn::softmax(x); };
  // On a device whole rows go through all steps; only there sums over rows and products of matrices are steps of their own.
  const auto y = ct::device_put(ct::array<float, 700, 300>(), tested_devices()[0]);
  CHECK(ct::jit(softmax).kernels(y).starts_with("steps 0 to 2 run together"));
  const auto check = [&](const auto& x) {
    check_devices(softmax, 2e-5, x);
    check_devices(layer_norm, 2e-5, x);
    check_devices(ct::grad([](auto v) { return ct::sum(ct::square(layer_norm(v) + 0.5f)); }), 1e-3, x);
  };
  check(between<float, 5, 7>(-2, 2));
  check(between<float, 3, 5000>(-2, 2));
  check(between<float, 40, 6000>(-2, 2));  // few rows, long ones
  check(between<float, 700, 100>(-2, 2));
  check(between<float, 301, 1024>(-2, 2));  // as many points for every thread of a team
  check(between<float, 600, 101>(-2, 2));
  check(between<float, 70, 9000>(-2, 2));  // too long for registers
}
