// expect: into: an output has another element type than the function's result
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
void f(ct::array<double, 3>& out) { ct::jit([](auto x) { return x + x; }).into(out)(ct::array<float, 3>()); }
