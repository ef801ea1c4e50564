// expect: tree: not an array, a number, or a tuple, pair, std::array or plain struct \(up to 24 fields\) of these
// expect: call_not_a_tree\.cpp:7:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
#include <string>
constexpr auto f = [](auto) { return 1; };
auto r = ct::jit(f)(std::string("x"));
