#pragma once
/// Sources: constants, whose elements are all one value, and iota.

#include <cotangent/graph/elements.hpp>

namespace cotangent {

/// The bits of `x` as a constant of dtype `d` stores them: a double for floating and complex types, else an int64.
constexpr std::uint64_t constant_bits(dtype d, double x) {
  if (real_dtype(d) == dtype::float32) return std::bit_cast<std::uint64_t>(double(float(x)));
  if (is_differentiable(d)) return std::bit_cast<std::uint64_t>(x);
  if (d == dtype::boolean) return x != 0;
  return wrapped_bits(d, x < 0x1p63 ? std::uint64_t(std::int64_t(x)) : std::uint64_t(x));
}

/// The value that `bits` stores, as a double.
constexpr double constant_value(dtype d, std::uint64_t bits) {
  if (is_differentiable(d)) return std::bit_cast<double>(bits);
  return is_unsigned_integer(d) ? double(bits) : double(std::int64_t(bits));
}

/// An array whose elements are all equal. Attributes: the extents.
struct constant_p {
  static constexpr std::string_view name = "constant";
  static constexpr role kind = role::source;
  static constexpr bool by_parts = true;
  static constexpr void infer(call& c) { c.dims = c.list(0, c.attribute_count); }
  static constexpr void elements(element_call& e);
};

/// Indices along one axis. Attributes: the extents, then the axis.
struct iota_p {
  static constexpr std::string_view name = "iota";
  static constexpr role kind = role::source;
  static constexpr bool by_parts = true;
  static constexpr void infer(call& c) {
    c.dims = c.list(0, c.attribute_count - 1);
    if (c.attribute(c.attribute_count - 1) >= c.dims.rank)
      c.b->fail(message{} << "iota: axis " << c.attribute(c.attribute_count - 1) << " is out of range for shape " << c.dims);
  }
  static constexpr void elements(element_call& e);
};

/// The unit arrays of a shape, stacked along a new front axis: element (i, j...) is 1 where j... is the i-th place in
/// row-major order, and else 0. These zeros are structural. Attributes: the extents.
struct basis_p {
  static constexpr std::string_view name = "basis";
  static constexpr role kind = role::source;
  static constexpr bool by_parts = true;
  static constexpr void infer(call& c) { c.dims = c.list(0, c.attribute_count); }
  static constexpr void elements(element_call& e);
};

constexpr value constant_from_bits(builder& b, dtype type, const shape& dims, std::uint64_t bits) {
  call c;
  c.op = &primitive_of<constant_p>, c.type = type, c.bits = wrapped_bits(type, bits);
  c.attributes = dims.dims, c.attribute_count = dims.rank;
  return b.emit(c);
}

/// x in every element.
constexpr value constant(builder& b, dtype type, const shape& dims, double x) {
  return constant_from_bits(b, type, dims, constant_bits(type, x));
}

constexpr void constant_p::elements(element_call& e) {
  e.parts.assign(std::size_t(e.form.count), constant_from_bits(e.b, e.c.type, {}, e.c.bits));
}

constexpr value full_like(value v, double x) { return constant(*v.b, v.type(), v.dims(), x); }
constexpr value zeros_like(value v) { return full_like(v, 0); }

constexpr bool is_constant(value v) { return v.b->g.nodes.items[v.id].op_id == primitive_of<constant_p>.id; }
constexpr bool is_constant(const node& n, double x) { return n.op_id == primitive_of<constant_p>.id && n.bits == constant_bits(n.type, x); }
constexpr bool is_constant(value v, double x) { return is_constant(v.b->g.nodes.items[v.id], x); }
constexpr double constant_value(value v) { return constant_value(v.type(), v.get().bits); }

/// Whether an operand is a constant: most rules of simplification need one.
constexpr bool has_constant(const call& c) {
  const node* nodes = c.b->g.nodes.items;
  for (int k = 0; k < c.count; ++k)
    if (nodes[c.operands[k].id].op_id == primitive_of<constant_p>.id) return true;
  return false;
}

/// f applied to constant operands, or null if one is not constant, its dtype has no exact double, or the result leaves the range of int32.
template <class F> constexpr value fold(const call& c, F f) {
  if (!is_constant(c.operands[0]) || (c.count > 1 && !is_constant(c.operands[1]))) return {};
  const dtype type = c[0].type();
  if (type != dtype::float32 && type != dtype::float64 && type != dtype::int32 && type != dtype::boolean) return {};
  const double x = constant_value(c[0]), y = c.count > 1 ? constant_value(c[1]) : 0;
  const double r = f(x, y);
  if (c.type == dtype::int32 && !(r >= -0x1p31 && r < 0x1p31)) return {};
  return constant(*c.b, c.type, c.dims, r);
}

/// Whether sums, products and quotients of x and other such numbers are finite, but for quotients by 0: constant evaluation knows no others.
constexpr bool is_calculable(double x) {
  constexpr double least = 0x1p-500, most = 0x1p500;
  return x == 0 || (x >= least && x <= most) || (-x >= least && -x <= most);
}
/// fold for arithmetic. What may be infinite or NaN is left to the program.
template <class F> constexpr value fold_arithmetic(const call& c, F f) {
  for (int k = 0; k < c.count; ++k)
    if (!is_constant(c[k]) || !is_calculable(constant_value(c[k]))) return {};
  return fold(c, f);
}

constexpr value iota(builder& b, dtype type, const shape& dims, int axis) {
  extent list[max_rank + 1];
  for (int i = 0; i < dims.rank; ++i) list[i] = dims[i];
  list[dims.rank] = axis;
  call c;
  c.op = &primitive_of<iota_p>, c.type = type, c.attributes = list, c.attribute_count = dims.rank + 1;
  return b.emit(c);
}

constexpr void iota_p::elements(element_call& e) {
  const int axis = int(e.c.attribute(e.c.attribute_count - 1));
  shape along;
  for (int i = 0; i < e.c.dims.rank; ++i) along.push_back(i == axis);
  const int place = e.form.place(axis);
  element_call::each(e.c.dims, e.form.axes, {along}, [&](const extent* at) {
    e.parts.push_back(place >= 0 ? iota(e.b, e.c.type, e.form.instances, place) : constant(e.b, e.c.type, {}, double(at[0])));
  });
}

/// The unit arrays of `dims`.
constexpr value standard_basis(builder& b, dtype type, const shape& dims) {
  extent n = 1;
  for (extent e : dims) n = b.symbols.combine(symbol::product, n, e);
  const shape all = insert(dims, 0, n);
  if (n == 1) return constant(b, type, all, 1);
  call c;
  c.op = &primitive_of<basis_p>, c.type = type, c.attributes = all.dims, c.attribute_count = all.rank;
  return b.emit(c);
}
constexpr void basis_p::elements(element_call& e) {
  e.fits = e.form.axes.rank == 0;
  if (!e.fits) return;
  const extent n = e.c.dims[0];
  for (extent i = 0; i < n; ++i)
    for (extent j = 0; j < n; ++j) e.parts.push_back(i == j ? constant(e.b, e.c.type, {}, 1) : value());
}

}  // namespace cotangent
