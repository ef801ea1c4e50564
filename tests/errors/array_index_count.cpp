// expect: array: the number of indices is not the rank
#include <cotangent/core/array.hpp>
float f(const cotangent::array<float, 3, 4>& a) { return a(1); }
