// expect: the function cannot be called with 1 argument \(float32\[3\]\): it must take as many, each as auto or const auto&
// expect: call_argument_count\.cpp:7:
// expect-gcc: error: invalid use of incomplete type .*trace_error<.*the function cannot be called
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, auto y) { return ct::sum(x * y); };
auto g = ct::jit(ct::grad(f))(ct::array<float, 3>());
