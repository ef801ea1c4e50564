/// A function of a thousand operations and its gradient: within the compilers' limits, and in seconds.

#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

constexpr auto f = [](auto h, auto w) {
  for (int k = 0; k < 250; ++k) {
    h = h * w;
    h = h + 0.1;
    h = ct::sin(h);
    h = h * h;
  }
  return ct::sum(h);
};
constexpr auto g = ct::value_and_grad(f, ct::wrt<0, 1>);

auto run(const ct::array<float, 1024>& h, const ct::array<float, 1024>& w) { return ct::jit(g)(h, w); }

constexpr auto cost = ct::jit(g).cost(ct::array<float, 1024>(), ct::array<float, 1024>());
static_assert(cost.kernels == 1);
