#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_FFT)
#define COTANGENT_PRIMITIVES_FFT
/// The discrete Fourier transform.

namespace cotangent {

enum class fourier : extent {
  forward,      // y[k] = sum over j of x[j] exp(-2 pi i j k / n)
  inverse,      // with the other sign, and no factor
  real,         // forward, of n real numbers: the first n / 2 + 1, of which the others are conjugates
  inverse_real  // inverse, of such n / 2 + 1: n real numbers; what makes them complex is left out
};
/// The extents of a transform of an array of these extents.
constexpr shape transformed_dims(const call& c, shape dims) {
  symbol_table& s = c.b->symbols;
  extent& n = dims.dims[c.attribute(0)];
  if (fourier(c.attribute(1)) == fourier::real) n = s.combine(symbol::sum, s.combine(symbol::quotient, n, 2), 1);
  if (fourier(c.attribute(1)) == fourier::inverse_real) n = c.attribute(2);
  return dims;
}

/// What fft_p becomes when all transforms are done: complex numbers lie as pairs of real ones along the last axis. Attributes: those of fft_p.
struct fft_lines_p {
  static constexpr std::string_view name = "fft_lines";
  static constexpr role kind = role::opaque;
  static constexpr bool by_lines = true;
  static constexpr double flops = 25;  // 5 n log2 n for n of about a thousand complex numbers
  static constexpr void infer(call& c) {
    const auto what = fourier(c.attribute(1));
    shape dims = c[0].dims();
    if (what != fourier::real) --dims.rank;
    c.type = c[0].type(), c.dims = transformed_dims(c, dims);
    if (what != fourier::inverse_real) c.dims.push_back(2);
  }
};

/// Fourier transforms along an axis. Attributes: the axis, what (fourier), and of inverse_real how many numbers there will be.
struct fft_p {
  static constexpr std::string_view name = "fft";
  static constexpr role kind = role::opaque;
  static constexpr double flops = fft_lines_p::flops;
  static constexpr fourier what(const call& c) { return fourier(c.attribute(1)); }
  static constexpr complex_value of_complex(const call& c, const complex_value* z) {
    const value r = emit<fft_lines_p>({what(c) == fourier::real ? z[0].re : pairs_of(z[0])}, c.attributes, c.attribute_count);
    return what(c) == fourier::inverse_real ? complex_value{r, {}} : parts_of(r);
  }
  static constexpr void infer(call& c) {
    const dtype from = c[0].type();
    const bool is_real = what(c) == fourier::real;
    c.type = is_real ? complex_dtype(from) : what(c) == fourier::inverse_real ? real_dtype(from) : from;
    c.dims = transformed_dims(c, c[0].dims());
    if (is_real ? from != dtype::float32 && from != dtype::float64 : !is_complex(from)) c.b->fail(message{} << "fft: not defined for " << from << c.dims);
  }
  static constexpr value again(const call& c, value x, extent axes_before = 0) {
    return emit<fft_p>({x}, {c.attribute(0) + axes_before, c.attribute(1), c.attribute(2)});
  }
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr value jvp(const call& c, const value* t) { return t[0] ? again(c, t[0]) : value{}; }
  static constexpr value batch(const call& c, const bool*, extent) { return again(c, c[0], 1); }
  /// The matrices of complex transforms are symmetric. Of the others each number stands for its conjugate too, but for those at the ends.
  static constexpr value vjp(const call& c, int, value g);
};
constexpr value fourier_transform(value x, extent axis, fourier what, extent n = 0) { return emit<fft_p>({x}, {axis, extent(what), n}); }
constexpr value fft_p::vjp(const call& c, int, value g) {
  const extent axis = c.attribute(0);
  if (what(c) == fourier::forward || what(c) == fourier::inverse) return again(c, g);
  const bool is_real = what(c) == fourier::real;
  const value halves = is_real ? conj(g) : conj(fourier_transform(g, axis, fourier::real));
  const extent n = is_real ? c[0].dims()[int(axis)] : c.dims[int(axis)];
  const value place = iota(*g.b, dtype::int32, halves.dims(), int(axis));
  const value conjugate = extent_like(place, n) - place;  // its place, modulo n
  const value is_end = logical_or(eq(place, zeros_like(place)), eq(place, conjugate));
  const value factor = select(is_end, full_like(halves, 1), full_like(halves, is_real ? 0.5 : 2));
  return is_real ? fourier_transform(factor * halves, axis, fourier::inverse_real, n) : factor * halves;
}

}  // namespace cotangent

#endif
