// expect: into: the output does not have the structure of the function's result
// expect: into_outputs\.cpp:7:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x) { return std::tuple(x, x); };
void call(ct::array<float, 3>& out) {
  ct::jit(f).into(out)(ct::array<float, 3>());
}
