/// Compiled by g++ or clang++: puts a start on a GPU, or on the CPU if there is none, and reads the results.

#include <iostream>

#include <cotangent/core/print.hpp>

#include "heat.hpp"

namespace ct = cotangent;

int main() {
  try {
    const ct::device d = ct::devices<ct::cuda>().front();
    std::cout << "on " << d.name() << ", " << d.description() << '\n';
  } catch (const ct::device_error& e) {
    std::cout << e.what() << "; on the CPU\n";
  }
  ct::array<float, 512, 512> u;
  u(256, 256) = 1;
  const field start = ct::device_put(u, ct::devices().front());
  const auto [value, gradient] = roughness(start);
  const ct::array<float, 512, 512> end = ct::device_get(after_heating(start));
  std::cout << "at the source after 100 steps: " << end(256, 256) << "\nmean square: " << value << '\n';
}
