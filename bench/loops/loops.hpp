#pragma once
/// Loops: what a turn costs, a rigid body of 12 scalar states, an inverse heat problem, and a recurrent network, a file each.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <tuple>

#include <cotangent/cotangent.hpp>

#include "../harness.hpp"

namespace loops {

namespace ct = cotangent;

void add_heat_equation();
void add_network();
void add_recurrence();
void add_rigid_body();

inline void expect_close(const char* what, double a, double b, double tolerance) {
  if (std::abs(a - b) <= tolerance * std::abs(b)) return;
  std::fprintf(stderr, "loops: %s: the two sides differ: %.17g and %.17g\n", what, a, b);
  std::exit(1);
}

}  // namespace loops
