// expect: index: ct::ellipsis stands for all axes that other indices leave, so there can be one of it alone
// expect: index_ellipses\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return x(ct::ellipsis, ct::index<0>, ct::ellipsis);
};
bool r = trace<f, ct::var<float, 3, 4>>;
