#pragma once
/// Sources: constants, whose elements are all one value, and iota.

#include <cotangent/graph/builder.hpp>

namespace cotangent {

/// The bits of `x` as a constant of dtype `d` stores them: a double for floating types, else an int64.
constexpr std::uint64_t constant_bits(dtype d, double x) {
  if (d == dtype::float32) return std::bit_cast<std::uint64_t>(double(float(x)));
  if (is_floating(d)) return std::bit_cast<std::uint64_t>(x);
  if (d == dtype::boolean) return x != 0;
  return std::uint64_t(std::int64_t(x));
}

/// The value that `bits` stores, as a double.
constexpr double constant_value(dtype d, std::uint64_t bits) {
  return is_floating(d) ? std::bit_cast<double>(bits) : double(std::int64_t(bits));
}

/// An array whose elements are all equal. Attributes: the extents.
struct constant_p {
  static constexpr std::string_view name = "constant";
  static constexpr role kind = role::source;
  static constexpr void infer(call& c) { c.dims = c.list(0, c.attribute_count); }
};

/// Indices along one axis. Attributes: the extents, then the axis.
struct iota_p {
  static constexpr std::string_view name = "iota";
  static constexpr role kind = role::source;
  static constexpr void infer(call& c) {
    c.dims = c.list(0, c.attribute_count - 1);
    if (c.attribute(c.attribute_count - 1) >= c.dims.rank)
      c.b->fail(message{} << "iota: axis " << c.attribute(c.attribute_count - 1) << " is out of range for shape " << c.dims);
  }
};

constexpr value constant_from_bits(builder& b, dtype type, const shape& dims, std::uint64_t bits) {
  call c;
  c.op = &primitive_of<constant_p>, c.type = type, c.bits = bits;
  c.attributes = dims.dims, c.attribute_count = dims.rank;
  return b.emit(c);
}

/// x in every element.
constexpr value constant(builder& b, dtype type, const shape& dims, double x) {
  return constant_from_bits(b, type, dims, constant_bits(type, x));
}

constexpr value full_like(value v, double x) { return constant(*v.b, v.type(), v.dims(), x); }
constexpr value zeros_like(value v) { return full_like(v, 0); }

constexpr bool is_constant(value v) { return v.b->g.nodes.items[v.id].op_id == primitive_of<constant_p>.id; }
constexpr bool is_constant(value v, double x) {
  const node& n = v.b->g.nodes.items[v.id];
  return n.op_id == primitive_of<constant_p>.id && n.bits == constant_bits(n.type, x);
}
constexpr double constant_value(value v) { return constant_value(v.type(), v.get().bits); }

constexpr value iota(builder& b, dtype type, const shape& dims, int axis) {
  extent list[max_rank + 1];
  for (int i = 0; i < dims.rank; ++i) list[i] = dims[i];
  list[dims.rank] = axis;
  call c;
  c.op = &primitive_of<iota_p>, c.type = type, c.attributes = list, c.attribute_count = dims.rank + 1;
  return b.emit(c);
}

}  // namespace cotangent
