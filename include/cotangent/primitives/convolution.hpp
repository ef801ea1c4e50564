#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_CONVOLUTION)
#define COTANGENT_PRIMITIVES_CONVOLUTION
/// Convolutions of channels, as networks have them (no kernel is turned around), and what their derivative by the kernel is.

namespace cotangent {

/// How a kernel lies over an array, along each spatial axis: for element o of the result, element k of the kernel meets place
/// o * stride + k * dilation - low of x, whose elements are `spacing` apart there; what lies between and outside is zero.
struct convolution_form {
  extent groups = 1;  // of channels; each is for itself
  shape stride, dilation, low, spacing;

  constexpr int axes() const { return stride.rank; }
  /// Of the sums over the result: what leads from it back to an array of the shape of x, for a kernel of these extents, turned around.
  constexpr convolution_form transposed(const shape& kernel) const {
    convolution_form r{groups, spacing, dilation, {}, stride};
    for (int i = 0; i < axes(); ++i) r.low.push_back((kernel[i] - 1) * dilation[i] - low[i]);
    return r;
  }
  constexpr extent zeros_between() const {
    extent n = 1;
    for (extent e : spacing) n *= e;
    return n;
  }
};

constexpr value convolution(value x, value kernel, const convolution_form& f, const shape& spatial);
constexpr value convolution_kernel(value x, value y, const convolution_form& f, const shape& spatial);

/// What both have in common. Attributes: the number of spatial axes, their extents in the result, the groups, then the four lists of the form.
struct convolution_primitive {
  static constexpr bool bilinear = true;
  static constexpr role kind = role::opaque;
  static constexpr int axes(const call& c) { return int(c.attribute(0)); }
  static constexpr shape spatial(const call& c) { return c.list(1, axes(c)); }
  static constexpr convolution_form form(const call& c) { return form(c.attributes); }
  static constexpr convolution_form form(const extent* attributes) {
    const int n = int(attributes[0]);
    convolution_form f;
    f.groups = attributes[1 + n];
    const extent* next = attributes + 2 + n;
    for (shape* s : {&f.stride, &f.dilation, &f.low, &f.spacing})
      for (int i = 0; i < n; ++i) s->push_back(*next++);
    return f;
  }
  static constexpr bool linear(const call&, int) { return true; }

  static constexpr attribute_list attributes_of(const convolution_form& f, const shape& spatial) {
    return attribute_list{}.push(f.axes()).push(spatial).push(f.groups).push(f.stride).push(f.dilation).push(f.low).push(f.spacing);
  }

 protected:
  /// Axis `from` moved to `to`, and there made one with the axis behind it.
  static constexpr value folded(value x, int from, int to) {
    shape order = erase(axes_from(0, x.rank()), from), dims;
    order = insert(order, to, from);
    for (int i = 0; i < order.rank; ++i)
      if (i == to + 1) dims[dims.rank - 1] = x.b->symbols.combine(symbol::product, dims[dims.rank - 1], x.dims()[int(order[i])]);
      else dims.push_back(x.dims()[int(order[i])]);
    return reshape(transpose(x, order), dims);
  }
  /// The last axis, which holds `groups` times `size` times others, with the `size` as axis 0.
  static constexpr value unfolded(value x, extent groups, extent size) {
    symbol_table& s = x.b->symbols;
    const extent rest = s.combine(symbol::quotient, x.dims()[x.rank() - 1], s.combine(symbol::product, groups, size));
    shape dims = x.dims(), order = axes_from(0, x.rank() + 2);
    dims[x.rank() - 1] = groups, dims.push_back(size), dims.push_back(rest);
    order = insert(erase(order, x.rank()), 0, x.rank());
    shape merged;
    merged.push_back(size);
    for (int i = 0; i + 1 < x.rank(); ++i) merged.push_back(x.dims()[i]);
    merged.push_back(s.combine(symbol::product, groups, rest));
    return reshape(transpose(reshape(x, dims), order), merged);
  }
  /// The last axis, in groups, as [..., groups, rest].
  static constexpr value grouped(value x, extent groups) {
    shape dims = x.dims();
    dims[x.rank() - 1] = groups;
    dims.push_back(x.b->symbols.combine(symbol::quotient, x.dims()[x.rank() - 1], groups));
    return reshape(x, dims);
  }
};

/// x [n, spatial..., channels] with a kernel [spatial..., channels / groups, features]: [n, spatial..., features].
struct convolution_p : convolution_primitive {
  static constexpr std::string_view name = "conv";
  static constexpr void infer(call& c) {
    infer_same_dtype(c);
    const shape &x = c[0].dims(), &k = c[1].dims();
    c.dims = join(shape{x[0]}, spatial(c));
    c.dims.push_back(k[k.rank - 1]);
  }
  static constexpr complex_value of_complex(const call& c, const complex_value* z) {
    return bilinear_parts(z, [&](value a, value b) { return convolution(a, b, form(c), spatial(c)); });
  }
  static constexpr value jvp(const call& c, const value* t) {
    return bilinear_tangent(c, t, [&](value a, value b) { return convolution(a, b, form(c), spatial(c)); });
  }
  static constexpr value vjp(const call& c, int k, value g) {
    const int n = axes(c);
    return k == 0 ? back(g, c[1], form(c), part(c[0].dims(), 1, n)) : convolution_kernel(c[0], g, form(c), part(c[1].dims(), 0, n));
  }
  static constexpr value batch(const call& c, const bool* batched, extent size) {
    convolution_form f = form(c);
    const int n = axes(c);
    if (!batched[1]) {  // more of them
      const value r = convolution(folded(c[0], 0, 0), c[1], f, spatial(c));
      shape dims = r.dims();
      dims[0] = size;
      return reshape(r, insert(dims, 1, c[0].dims()[1]));
    }
    // More features, within each group; or more groups.
    const value kernel = batched[0] ? folded(c[1], 0, n + 1) : folded(grouped(c[1], f.groups), 0, n + 2);
    if (batched[0]) f.groups = c.b->symbols.combine(symbol::product, f.groups, size);
    const value r = batched[0] ? convolution(folded(c[0], 0, n + 1), kernel, f, spatial(c)) : convolution(c[0], merged(kernel, n + 1), f, spatial(c));
    return batched[0] ? unfolded(r, 1, size) : unfolded(r, f.groups, size);
  }
  /// An array of these spatial extents from the result y, or its cotangent: the transpose by x.
  static constexpr value back(value y, value kernel, const convolution_form& f, const shape& spatial) {
    return convolution(y, exchanged(kernel, f), f.transposed(kernel.dims()), spatial);
  }
  /// The kernel turned around, with features in place of channels.
  static constexpr value exchanged(value kernel, const convolution_form& f) {
    const int n = f.axes();
    const value turned = emit<reverse_p>({grouped(kernel, f.groups)}, axes_from(0, n));  // [spatial..., channels, groups, features]
    return merged(transpose(turned, join(axes_from(0, n), {n + 2, n + 1, n})), n + 1);
  }

 private:
  static constexpr shape part(const shape& s, int first, int count) {
    shape r;
    for (int i = 0; i < count; ++i) r.push_back(s[first + i]);
    return r;
  }
  /// Axes `axis` and the one behind as one.
  static constexpr value merged(value x, int axis) {
    shape dims = erase(x.dims(), axis + 1);
    dims[axis] = x.b->symbols.combine(symbol::product, x.dims()[axis], x.dims()[axis + 1]);
    return reshape(x, dims);
  }
};

/// The transpose of a convolution by its kernel: x [n, spatial..., channels] and y [n, spatial..., features] to [spatial..., channels / groups, features].
struct convolution_kernel_p : convolution_primitive {
  static constexpr std::string_view name = "conv_kernel";
  static constexpr void infer(call& c) {
    infer_same_dtype(c);
    const shape &x = c[0].dims(), &y = c[1].dims();
    c.dims = spatial(c);
    c.dims.push_back(c.b->symbols.combine(symbol::quotient, x[x.rank - 1], form(c).groups));
    c.dims.push_back(y[y.rank - 1]);
  }
  static constexpr complex_value of_complex(const call& c, const complex_value* z) {
    return bilinear_parts(z, [&](value a, value b) { return convolution_kernel(a, b, form(c), spatial(c)); });
  }
  static constexpr value jvp(const call& c, const value* t) {
    return bilinear_tangent(c, t, [&](value a, value b) { return convolution_kernel(a, b, form(c), spatial(c)); });
  }
  static constexpr value vjp(const call& c, int k, value g) {
    shape of_other;
    for (int i = 0; i < axes(c); ++i) of_other.push_back(c[k].dims()[1 + i]);
    return k == 0 ? convolution_p::back(c[1], g, form(c), of_other) : convolution(c[0], g, form(c), of_other);
  }
  /// More groups.
  static constexpr value batch(const call& c, const bool* batched, extent size) {
    convolution_form f = form(c);
    value v[2];
    for (int k = 0; k < 2; ++k) v[k] = folded(batched_operand(c[k], batched[k], size), 0, axes(c) + 1);
    f.groups = c.b->symbols.combine(symbol::product, f.groups, size);
    return unfolded(convolution_kernel(v[0], v[1], f, spatial(c)), 1, size);
  }
};

constexpr value convolution(value x, value kernel, const convolution_form& f, const shape& spatial) {
  return emit<convolution_p>({x, kernel}, convolution_p::attributes_of(f, spatial));
}
/// The same sums with x and y exchanged give the kernel turned around: that of both with fewer zeros between what is read.
constexpr value convolution_kernel(value x, value y, const convolution_form& f, const shape& spatial) {
  const convolution_form other = f.transposed(spatial);
  if (other.zeros_between() >= f.zeros_between()) return emit<convolution_kernel_p>({x, y}, convolution_kernel_p::attributes_of(f, spatial));
  return convolution_p::exchanged(emit<convolution_kernel_p>({y, x}, convolution_kernel_p::attributes_of(other, spatial)), f);
}

}  // namespace cotangent

#endif
