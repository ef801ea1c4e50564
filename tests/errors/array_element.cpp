// expect: array: T is not an element type \(float, double, bool
#include <cotangent/core/array.hpp>
cotangent::array<long double, 3> a;
