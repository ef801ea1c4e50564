// expect: logsumexp: axis -3 is out of range for rank 2 \(\[2,3\]\)
// expect: logsumexp_axis\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::logsumexp(x, ct::axis<-3>);
};
bool r = trace<f, ct::var<float, 2, 3>>;
