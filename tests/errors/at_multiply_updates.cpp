// expect: at: the derivative of multiply by its updates needs places that differ; if they do, say at\(x, i\)\.multiply\(v, ct::unique_indices\)
// expect: at_multiply_updates\.cpp:6:
#include "trace.hpp"
constexpr auto loss = [](auto v, auto x, auto i) { return ct::sum(ct::at(x, i).multiply(v)); };
constexpr auto f = [](auto v, auto x, auto i) {
  return ct::grad(loss)(v, x, i);
};
bool r = trace<f, ct::var<float, 2>, ct::var<float, 3>, ct::var<int, 2>>;
