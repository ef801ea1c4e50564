// expect: an expression of concrete arrays is assigned to; give the result a name of its own
// expect: expression_assigned\.cpp:5:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto body = [](auto x) { return [=](auto, auto h) { h = h * x; return h + 1.0f; }; };
constexpr auto f = [](auto x) { return ct::fori_loop<0, 5>(body(x), ct::zeros<float, 3>()); };
auto g(const ct::array<float, 3>& x) { return ct::jit(f)(x); }
