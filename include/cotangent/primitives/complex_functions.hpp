#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_COMPLEX_FUNCTIONS)
#define COTANGENT_PRIMITIVES_COMPLEX_FUNCTIONS
/// Functions of complex numbers in their parts, as rules of primitives call them; primitives/complex.hpp defines them.

namespace cotangent {

constexpr complex_value operator-(complex_value z);
constexpr complex_value operator+(complex_value a, complex_value b);
constexpr complex_value operator-(complex_value a, complex_value b);
constexpr complex_value operator*(complex_value a, complex_value b);
constexpr complex_value operator/(complex_value a, complex_value b);
/// Whether both parts are equal, or one is not: a bool.
constexpr value equal(complex_value a, complex_value b);
constexpr value unequal(complex_value a, complex_value b);
/// The modulus |z|, without overflow.
constexpr value abs(complex_value z);

constexpr complex_value sqrt(complex_value z);
constexpr complex_value rsqrt(complex_value z);
constexpr complex_value pow(complex_value z, complex_value w);
constexpr complex_value integer_pow(complex_value z, extent n);
constexpr complex_value exp(complex_value z);
constexpr complex_value exp2(complex_value z);
constexpr complex_value exp10(complex_value z);
constexpr complex_value expm1(complex_value z);
constexpr complex_value log(complex_value z);
constexpr complex_value log2(complex_value z);
constexpr complex_value log10(complex_value z);
constexpr complex_value log1p(complex_value z);
constexpr complex_value sin(complex_value z);
constexpr complex_value cos(complex_value z);
constexpr complex_value tan(complex_value z);
constexpr complex_value asin(complex_value z);
constexpr complex_value acos(complex_value z);
constexpr complex_value atan(complex_value z);
constexpr complex_value sinh(complex_value z);
constexpr complex_value cosh(complex_value z);
constexpr complex_value tanh(complex_value z);
constexpr complex_value asinh(complex_value z);
constexpr complex_value acosh(complex_value z);
constexpr complex_value atanh(complex_value z);
constexpr complex_value logistic(complex_value z);

}  // namespace cotangent

#endif
