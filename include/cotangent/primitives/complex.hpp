#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_COMPLEX)
#define COTANGENT_PRIMITIVES_COMPLEX
/// Complex numbers: real imag complex, and the functions of complex numbers in their parts, by which compiler/complex_parts.hpp computes
/// them. Principal values and branch cuts are those of C and NumPy (Kahan, "Branch Cuts for Complex Elementary Functions, or Much Ado
/// About Nothing's Sign Bit", 1987). Cotangents are JAX's: that of z = x + iy is dL/dx - i dL/dy, so that derivatives of holomorphic
/// functions need no conjugates.

namespace cotangent {

constexpr value real(value z);
constexpr value imag(value z);
constexpr value complex(value re, value im);

/// The real part.
struct real_p : pointwise {
  static constexpr std::string_view name = "real";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return {z[0].re, {}}; }
  static constexpr void infer(call& c) {
    c.type = real_dtype(c[0].type()), c.dims = c[0].dims();
    if (!is_complex(c[0].type())) c.b->fail(message{} << c.op->name << ": needs a complex dtype, got " << c[0].type() << c.dims);
  }
  static constexpr value jvp(const call&, const value* t) { return t[0] ? real(t[0]) : value{}; }
  static constexpr value vjp(const call& c, int, value g) { return convert(g, c[0].type()); }
  static constexpr bool linear(const call&, int) { return true; }
};
/// The imaginary part.
struct imag_p : real_p {
  static constexpr std::string_view name = "imag";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return {z[0].im ? z[0].im : zeros_like(z[0].re), {}}; }
  static constexpr value jvp(const call&, const value* t) { return t[0] ? imag(t[0]) : value{}; }
  static constexpr value vjp(const call&, int, value g) { return complex(zeros_like(g), -g); }
};
/// The number of two parts, float or double.
struct complex_p : pointwise {
  static constexpr std::string_view name = "complex";
  static constexpr complex_value of_complex(const call&, const complex_value* z) { return {z[0].re, z[1].re}; }
  static constexpr void infer(call& c) {
    pointwise::infer(c);
    if (c.type != dtype::float32 && c.type != dtype::float64) c.b->fail(message{} << "complex: the parts must be float32 or float64, got " << c.type << c.dims);
    c.type = complex_dtype(c.type);
  }
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0] && !t[1]) return {};
    return complex(t[0] ? t[0] : zeros_like(c[0]), t[1] ? t[1] : zeros_like(c[1]));
  }
  static constexpr value vjp(const call&, int k, value g) { return k == 0 ? real(g) : -imag(g); }
  static constexpr bool linear(const call&, int) { return true; }
};

constexpr value real(value z) { return is_complex(z.type()) ? emit<real_p>({z}) : z; }
constexpr value imag(value z) { return is_complex(z.type()) ? emit<imag_p>({z}) : zeros_like(z); }
constexpr value complex(value re, value im) { return emit<complex_p>({re, im}); }
constexpr value conj(value z) { return is_complex(z.type()) ? complex(real(z), -imag(z)) : z; }
/// z over its modulus; 0 of 0.
constexpr value direction(value z, value modulus) {
  return z / convert(select(eq(modulus, zeros_like(modulus)), full_like(modulus, 1), modulus), z.type());
}
/// |z|^2
constexpr value squared_modulus(value z) { return is_complex(z.type()) ? real(z) * real(z) + imag(z) * imag(z) : z * z; }

// In parts.
constexpr value imaginary(complex_value z) { return z.im ? z.im : zeros_like(z.re); }
/// A real array whose last axis has the two parts, and the parts of one.
constexpr value pairs_of(complex_value z) {
  const value parts[] = {z.re, imaginary(z)};
  const shape dims = insert(z.re.dims(), z.re.rank(), 2);
  attribute_list a;
  a.push(dims);
  for (int i = 0; i < dims.rank; ++i) a.push(i + 1 < dims.rank);
  return emit<assemble_p>(parts, a);
}
constexpr complex_value parts_of(value pairs) {
  const auto part = [&](extent k) {
    shape which = filled(pairs.rank(), -1);
    which[pairs.rank() - 1] = k;
    return emit<pick_p>({pairs}, which);
  };
  return {part(0), part(1)};
}
constexpr complex_value times_i(complex_value z) { return {-imaginary(z), z.re}; }
constexpr complex_value conj(complex_value z) { return {z.re, z.im ? -z.im : value()}; }
constexpr complex_value scaled(double x, complex_value z) { return {x * z.re, z.im ? x * z.im : value()}; }
constexpr complex_value one_beside(complex_value z) { return {full_like(z.re, 1), {}}; }
constexpr value is_negative(value x) { return lt(x, zeros_like(x)); }

constexpr complex_value operator-(complex_value z) { return {-z.re, z.im ? -z.im : value()}; }
constexpr complex_value operator+(complex_value a, complex_value b) { return {a.re + b.re, !a.im ? b.im : b.im ? a.im + b.im : a.im}; }
constexpr complex_value operator-(complex_value a, complex_value b) { return {a.re - b.re, !b.im ? a.im : a.im ? a.im - b.im : -b.im}; }
constexpr complex_value operator*(complex_value a, complex_value b) {
  if (!a.im) return {a.re * b.re, b.im ? a.re * b.im : value()};
  if (!b.im) return {a.re * b.re, a.im * b.re};
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/// By Smith's method ("Algorithm 116: complex division", 1962), which divides by the larger part first.
constexpr complex_value operator/(complex_value a, complex_value b) {
  if (!b.im) return {a.re / b.re, a.im ? a.im / b.re : value()};
  const value by_real = ge(abs(b.re), abs(b.im)), im = imaginary(a);
  const value larger = select(by_real, b.re, b.im), smaller = select(by_real, b.im, b.re), zero = zeros_like(larger);
  const value ratio = select(eq(larger, zero), zero, smaller / larger), inverse = 1.0 / (larger + smaller * ratio);
  const value u = select(by_real, a.re, im), v = select(by_real, im, a.re), w = v - u * ratio;
  return {(u + v * ratio) * inverse, select(by_real, w, -w) * inverse};
}
constexpr value equal(complex_value a, complex_value b) {
  const value same = eq(a.re, b.re);
  return a.im || b.im ? logical_and(same, eq(imaginary(a), imaginary(b))) : same;
}
constexpr value unequal(complex_value a, complex_value b) {
  const value differ = ne(a.re, b.re);
  return a.im || b.im ? logical_or(differ, ne(imaginary(a), imaginary(b))) : differ;
}
constexpr value abs(complex_value z) { return z.im ? hypot(z.re, z.im) : abs(z.re); }

/// Re z >= 0; on the cut, the negative numbers, the imaginary part has the sign of that of z.
constexpr complex_value sqrt(complex_value z) {
  const value y = imaginary(z), root = sqrt(0.5 * abs(z.re) + 0.5 * abs(z)), zero = zeros_like(root);
  const value other = select(eq(root, zero), zero, abs(y) / (2.0 * root)), turned = is_negative(z.re);
  return {select(turned, other, root), copysign(select(turned, root, other), y)};
}
constexpr complex_value rsqrt(complex_value z) { return one_beside(z) / sqrt(z); }
constexpr complex_value integer_pow(complex_value z, extent n) {
  if (n < 0) return one_beside(z) / integer_pow(z, -n);
  if (n == 0) return one_beside(z);
  const complex_value half = n == 1 ? one_beside(z) : integer_pow(z * z, n / 2);
  return n == 1 ? z : n % 2 ? z * half : half;
}
/// 0 to the power 0 is 1, and to another power 0.
constexpr complex_value pow(complex_value z, complex_value w) {
  const complex_value power = exp(w * log(z)), none{zeros_like(z.re), {}};
  const value at_zero = equal(z, none), zero = zeros_like(z.re);
  return {select(at_zero, select(equal(w, none), full_like(z.re, 1), zero), power.re), select(at_zero, zero, imaginary(power))};
}

constexpr complex_value exp(complex_value z) {
  const value r = exp(z.re);
  return z.im ? complex_value{r * cos(z.im), r * sin(z.im)} : complex_value{r, {}};
}
constexpr complex_value exp2(complex_value z) { return z.im ? exp(scaled(0.693147180559945309417, z)) : complex_value{exp2(z.re), {}}; }
constexpr complex_value exp10(complex_value z) { return z.im ? exp(scaled(2.30258509299404568402, z)) : complex_value{exp10(z.re), {}}; }
constexpr complex_value expm1(complex_value z) {
  if (!z.im) return {expm1(z.re), {}};
  const value s = sin(0.5 * z.im);
  return {expm1(z.re) * cos(z.im) - 2.0 * (s * s), exp(z.re) * sin(z.im)};
}
/// Where |z| is near 1 its logarithm is that of |z|^2 - 1.
constexpr complex_value log(complex_value z) {
  const value x = abs(z.re), y = abs(imaginary(z)), large = max(x, y), small = min(x, y);
  const value near = logical_and(gt(large, full_like(large, 0.5)), lt(large, full_like(large, 2)));
  const value beyond = (large - 1.0) * (large + 1.0) + small * small;
  return {select(near, 0.5 * log1p(select(near, beyond, zeros_like(beyond))), log(abs(z))), atan2(imaginary(z), z.re)};
}
constexpr complex_value log2(complex_value z) { return scaled(1.44269504088896340736, log(z)); }
constexpr complex_value log10(complex_value z) { return scaled(0.434294481903251827651, log(z)); }
constexpr complex_value log1p(complex_value z) {
  const value y = imaginary(z), small = lt(abs(z), full_like(z.re, 0.5));
  const value beyond = z.re * (z.re + 2.0) + y * y;
  const complex_value far = log(z + one_beside(z));
  return {select(small, 0.5 * log1p(select(small, beyond, zeros_like(beyond))), far.re), far.im};
}
constexpr complex_value sin(complex_value z) {
  return z.im ? complex_value{sin(z.re) * cosh(z.im), cos(z.re) * sinh(z.im)} : complex_value{sin(z.re), {}};
}
constexpr complex_value cos(complex_value z) {
  return z.im ? complex_value{cos(z.re) * cosh(z.im), -(sin(z.re) * sinh(z.im))} : complex_value{cos(z.re), {}};
}
constexpr complex_value sinh(complex_value z) {
  return z.im ? complex_value{sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im)} : complex_value{sinh(z.re), {}};
}
constexpr complex_value cosh(complex_value z) {
  return z.im ? complex_value{cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im)} : complex_value{cosh(z.re), {}};
}
/// Kahan's; where the real part of the result is +-1, that of z is limited, so that no square overflows.
constexpr complex_value tanh(complex_value z) {
  if (!z.im) return {tanh(z.re), {}};
  const double most = z.re.type() == dtype::float64 ? 150 : 20;
  const value t = tan(z.im), b = 1.0 + t * t, s = sinh(clamp(full_like(z.re, -most), z.re, full_like(z.re, most)));
  const value divisor = 1.0 + b * (s * s);
  return {b * s * sqrt(1.0 + s * s) / divisor, t / divisor};
}
constexpr complex_value tan(complex_value z) { return z.im ? -times_i(tanh(times_i(z))) : complex_value{tan(z.re), {}}; }
constexpr complex_value asin(complex_value z) {
  const complex_value left = sqrt(one_beside(z) + z), right = sqrt(one_beside(z) - z);
  return {atan2(z.re, (left * right).re), asinh(imaginary(conj(right) * left))};
}
constexpr complex_value acos(complex_value z) {
  const complex_value left = sqrt(one_beside(z) + z), right = sqrt(one_beside(z) - z);
  return {2.0 * atan2(right.re, left.re), asinh(imaginary(conj(left) * right))};
}
constexpr complex_value acosh(complex_value z) {
  const complex_value left = sqrt(z + one_beside(z)), right = sqrt(z - one_beside(z));
  return {asinh((conj(right) * left).re), 2.0 * atan2(imaginary(right), left.re)};
}
constexpr complex_value asinh(complex_value z) { return z.im ? -times_i(asin(times_i(z))) : complex_value{asinh(z.re), {}}; }
constexpr complex_value atanh(complex_value z) {
  const value x = abs(z.re), y = imaginary(z), left = 1.0 - x;
  return {copysign(0.25 * log1p(4.0 * x / (left * left + y * y)), z.re), 0.5 * atan2(2.0 * y, left * (1.0 + x) - y * y)};
}
constexpr complex_value atan(complex_value z) { return z.im ? -times_i(atanh(times_i(z))) : complex_value{atan(z.re), {}}; }
constexpr complex_value logistic(complex_value z) { return one_beside(z) / (one_beside(z) + exp(-z)); }

}  // namespace cotangent

#endif
