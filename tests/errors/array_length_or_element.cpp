// expect: array: is one integer the length or the only element\?
#include <cotangent/core/array.hpp>
cotangent::array<float, cotangent::dyn> a(5);
