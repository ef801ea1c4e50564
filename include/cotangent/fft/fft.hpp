#pragma once
/// Discrete Fourier transforms, in the names and conventions of jnp.fft: y[k] = sum over j of x[j] exp(-2 pi i j k / n).
///
/// Transforms take real or complex arrays; float64, int64 and complex128 are transformed in double, all others in float. Tags, in any order:
///   ct::axis<k...>   the axes; else the last one, the last two (fft2 and its kin) or all (fftn and its kin)
///   ct::length<N>    of transforms along one axis: the axis is cut to N numbers, or filled up with zeros. Of irfft the length of the result,
///                    which else is even
///   ct::fft::ortho   both ways are divided by the root of the number of elements; else the inverse is divided by the number itself
///   ct::fft::forward the way forward is divided by the number of elements, the inverse is not
/// All are linear, and are differentiated as such.

#include <cotangent/control/scan.hpp>

namespace cotangent::fft {

enum class scaling { backward, ortho, forward };
template <scaling S> struct scaling_tag {};
inline constexpr scaling_tag<scaling::backward> backward{};
inline constexpr scaling_tag<scaling::ortho> ortho{};
inline constexpr scaling_tag<scaling::forward> forward{};

namespace functions {

/// What the tags say.
struct options {
  shape axes;
  bool has_axes = false;
  extent length = -1;
  scaling by = scaling::backward;
};
template <extent... A> constexpr void read(options& o, axis_tag<A...>) { o.axes = {A...}, o.has_axes = true; }
template <extent N> constexpr void read(options& o, length_tag<N>) { o.length = N; }
template <scaling S> constexpr void read(options& o, scaling_tag<S>) { o.by = S; }
template <class... Tags> constexpr options options_from() {
  options o;
  (read(o, Tags{}), ...);
  return o;
}

constexpr value as_complex(value x) { return is_complex(x.type()) ? x : convert(inexact(x), complex_dtype(inexact(x).type())); }
/// x with n elements along an axis: cut, or with zeros behind.
constexpr value fitted(value x, int axis, extent n) {
  const extent have = x.dims()[axis];
  if (n < 0 || have == n) return x;
  if (is_symbol(have)) {
    x.b->fail(message{} << "fft: ct::length<" << n << "> of axis " << axis << " of " << x.dims() << ", whose extent is known at run time only");
    return x;
  }
  const shape none = filled(x.rank(), 0);
  if (n < have) {
    shape sizes = x.dims();
    sizes[axis] = n;
    return slice(x, none, sizes, filled(x.rank(), 1));
  }
  shape behind = none;
  behind[axis] = n - have;
  return pad(x, constant(*x.b, x.type(), {}, 0), none, behind, none);
}
/// The square root of x >= 1, by Newton's steps from above.
constexpr double square_root(double x) {
  double root = x, next = (x + 1) / 2;
  while (next < root) root = next, next = (root + x / root) / 2;
  return root;
}
/// x times what transforms along axes of these lengths are to be multiplied with, at once: between them it would be a pass of its own.
constexpr value scaled(value x, const shape& lengths, scaling by) {
  const bool roots = by == scaling::ortho;
  double known = 1;
  value counted;  // when the program runs
  for (extent n : lengths) {
    if (!is_symbol(n)) {
      known *= n > 0 ? double(n) : 1;
      continue;
    }
    const value count = convert(extent_value(*x.b, dtype::int32, n), real_dtype(x.type()));
    counted = counted ? counted * count : count;
  }
  const double factor = 1 / (roots ? square_root(known) : known);
  if (!counted) return x * full_like(x, factor);
  return x * broadcast_to(convert(factor / (roots ? sqrt(counted) : counted), x.type()), x.dims());
}

/// Transforms along several axes; those of real numbers along the last one.
struct transform {
  fourier what = fourier::forward;
  int default_axes = 1;  // the last ones; 0: all
  options with;

  constexpr message name() const {
    constexpr std::string_view prefix[] = {"", "i", "r", "ir"};
    return message{} << prefix[int(what)] << "fft" << (default_axes == 0 ? "n" : default_axes == 2 ? "2" : "");
  }
  constexpr value operator()(value x) const {
    const bool of_reals = what == fourier::real, to_reals = what == fourier::inverse_real;
    shape axes;
    if (!with.has_axes && x.rank() < default_axes) return fail(x, message{} << "needs " << default_axes << (default_axes == 1 ? " axis" : " axes"));
    if (with.has_axes)
      for (extent a : with.axes) axes.push_back(checked_axis(x, name().view(), a, x.rank()));
    else axes = axes_from(default_axes == 0 ? 0 : x.rank() - default_axes, default_axes == 0 ? x.rank() : default_axes);
    if (x.b->failed()) return x;
    if (axes.rank == 0) return fail(x, message{} << "needs an axis");
    if (with.length == 0) return fail(x, message{} << "ct::length<0> leaves nothing");
    if (with.length >= 0 && axes.rank != 1) return fail(x, message{} << "ct::length is of one axis, here there are " << axes.rank);
    if (of_reals && is_complex(x.type())) return fail(x, message{} << "needs real numbers");
    const int last = int(axes[axes.rank - 1]);
    x = of_reals ? inexact(x) : as_complex(x);
    if (of_reals && size_of(x.type()) < 4) x = convert(x, dtype::float32);
    if (!to_reals) x = fitted(x, last, with.length);
    if (x.b->failed()) return x;
    const extent count = x.dims()[last], least = to_reals && with.length < 0 ? 2 : 1;
    if (is_symbol(count)) x.b->symbols.require_at_least("fft", count, least);
    else if (count < least) return fail(x, message{} << "axis " << last << " has fewer than " << least << (least == 1 ? " element" : " elements"));
    shape lengths;
    if (of_reals) x = along(x, last, what, lengths);
    for (int i = 0; i < axes.rank - (of_reals || to_reals); ++i) x = along(x, int(axes[i]), to_reals ? fourier::inverse : of_reals ? fourier::forward : what, lengths);
    if (to_reals) x = along(x, last, what, lengths);
    const bool inverse = what == fourier::inverse || to_reals;
    return with.by != scaling::ortho && inverse == (with.by == scaling::forward) ? x : scaled(x, lengths, with.by);
  }

 private:
  /// A transform along an axis, whose length is noted; of inverse_real, to as many real numbers as asked for, or twice as many as there are
  /// beyond the first.
  constexpr value along(value x, int axis, fourier kind, shape& lengths) const {
    symbol_table& symbols = x.b->symbols;
    extent n = x.dims()[axis];
    if (kind == fourier::inverse_real) {
      n = with.length >= 0 ? with.length : symbols.combine(symbol::product, symbols.combine(symbol::difference, n, 1), 2);
      if (with.length >= 0) x = fitted(x, axis, n / 2 + 1);
    }
    lengths.push_back(n);
    return fourier_transform(x, axis, kind, n);
  }
  constexpr value fail(value x, const message& why) const {
    x.b->fail(name() << ": " << why.view() << ", got " << x.type() << x.dims());
    return x;
  }
};

/// The zero frequency to the middle, or back.
struct shift {
  bool back = false;
  options with;
  constexpr value operator()(value x) const {
    const shape axes = with.has_axes ? with.axes : axes_from(0, x.rank());
    for (extent a : axes) {
      const int axis = checked_axis(x, back ? "ifftshift" : "fftshift", a, x.rank());
      if (x.b->failed()) return x;
      const value half = div(extent_value(*x.b, dtype::int32, x.dims()[axis]), constant(*x.b, dtype::int32, {}, 2));
      x = roll(x, half, axis, back);
    }
    return x;
  }
};

}  // namespace functions

/// The transform along an axis.
template <tensor X, class... Tags> constexpr auto fft(const X& x, Tags...) {
  return apply<functions::transform{fourier::forward, 1, functions::options_from<Tags...>()}>(x);
}
/// Its inverse.
template <tensor X, class... Tags> constexpr auto ifft(const X& x, Tags...) {
  return apply<functions::transform{fourier::inverse, 1, functions::options_from<Tags...>()}>(x);
}
/// The n / 2 + 1 numbers of the transform of n real ones that say all.
template <tensor X, class... Tags> constexpr auto rfft(const X& x, Tags...) {
  return apply<functions::transform{fourier::real, 1, functions::options_from<Tags...>()}>(x);
}
/// Its inverse: real numbers.
template <tensor X, class... Tags> constexpr auto irfft(const X& x, Tags...) {
  return apply<functions::transform{fourier::inverse_real, 1, functions::options_from<Tags...>()}>(x);
}
/// The same along two axes, the last ones unless told.
template <tensor X, class... Tags> constexpr auto fft2(const X& x, Tags...) {
  return apply<functions::transform{fourier::forward, 2, functions::options_from<Tags...>()}>(x);
}
template <tensor X, class... Tags> constexpr auto ifft2(const X& x, Tags...) {
  return apply<functions::transform{fourier::inverse, 2, functions::options_from<Tags...>()}>(x);
}
template <tensor X, class... Tags> constexpr auto rfft2(const X& x, Tags...) {
  return apply<functions::transform{fourier::real, 2, functions::options_from<Tags...>()}>(x);
}
template <tensor X, class... Tags> constexpr auto irfft2(const X& x, Tags...) {
  return apply<functions::transform{fourier::inverse_real, 2, functions::options_from<Tags...>()}>(x);
}
/// The same along all axes unless told.
template <tensor X, class... Tags> constexpr auto fftn(const X& x, Tags...) {
  return apply<functions::transform{fourier::forward, 0, functions::options_from<Tags...>()}>(x);
}
template <tensor X, class... Tags> constexpr auto ifftn(const X& x, Tags...) {
  return apply<functions::transform{fourier::inverse, 0, functions::options_from<Tags...>()}>(x);
}
template <tensor X, class... Tags> constexpr auto rfftn(const X& x, Tags...) {
  return apply<functions::transform{fourier::real, 0, functions::options_from<Tags...>()}>(x);
}
template <tensor X, class... Tags> constexpr auto irfftn(const X& x, Tags...) {
  return apply<functions::transform{fourier::inverse_real, 0, functions::options_from<Tags...>()}>(x);
}

/// The zero frequency moved to the middle, along all axes or those of ct::axis<...>; and back.
template <tensor X, class... Tags> constexpr auto fftshift(const X& x, Tags...) { return apply<functions::shift{false, functions::options_from<Tags...>()}>(x); }
template <tensor X, class... Tags> constexpr auto ifftshift(const X& x, Tags...) { return apply<functions::shift{true, functions::options_from<Tags...>()}>(x); }

/// The frequencies of the numbers that fft returns of N samples, `spacing` apart: cycles per unit of the spacing.
template <extent N, class T = float> constexpr array<T, N> fftfreq(double spacing = 1) {
  return array<T, N>(element_rule<T>{element_rule<T>::frequencies, T(), 1 / (double(N) * spacing), 0});
}
/// The same of rfft.
template <extent N, class T = float> constexpr array<T, N / 2 + 1> rfftfreq(double spacing = 1) {
  return array<T, N / 2 + 1>(element_rule<T>{element_rule<T>::spaced, T(), 0, double(N / 2) / (double(N) * spacing)});
}

}  // namespace cotangent::fft
