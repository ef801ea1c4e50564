#pragma once
/// What the part that nvcc compiles offers to the rest of the program.

#include <cotangent/core/device_array.hpp>

using field = cotangent::device_array<float, 512, 512>;

/// `turns` steps of explicit Euler for the heat equation on a ring in both directions, and the mean square of the result with its
/// gradient with respect to the start. On the device of `start`.
field after_heating(const field& start);
std::tuple<cotangent::device_array<float>, field> roughness(const field& start);
