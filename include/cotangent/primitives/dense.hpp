#pragma once
/// Array constants: the elements of an array that was concrete while tracing.

#include <cotangent/primitives/constant.hpp>

namespace cotangent {

/// Attributes: the rank, the extents, then for each element its bits (as constant_bits has them) in two halves, so
/// that no attribute can be taken for a symbol.
struct dense_p {
  static constexpr std::string_view name = "dense";
  static constexpr role kind = role::source;
  static constexpr void infer(call& c) { c.dims = c.list(1, int(c.attribute(0))); }
  static constexpr void elements(element_call& e) {
    e.fits = e.form.axes.rank == 0;
    for (extent i = 0; e.fits && i < e.form.count; ++i)
      e.parts.push_back(constant_from_bits(e.b, e.c.type, {}, element_bits(e.c.attributes, e.c.dims.rank, i)));
  }
  static constexpr std::uint64_t element_bits(const extent* attributes, int rank, extent i) {
    return std::uint64_t(attributes[1 + rank + 2 * i]) << 32 | std::uint64_t(attributes[2 + rank + 2 * i]);
  }
};

/// The constant with these elements; one value if they are all equal.
constexpr value dense(builder& b, dtype type, const shape& dims, const sequence<std::uint64_t>& bits) {
  bool equal = !bits.empty();
  for (std::uint64_t x : bits) equal = equal && x == bits[0];
  if (equal) return constant_from_bits(b, type, dims, bits[0]);
  sequence<extent> attributes{dims.rank};
  for (extent e : dims) attributes.push_back(e);
  for (std::uint64_t x : bits) {
    attributes.push_back(extent(x >> 32));
    attributes.push_back(extent(x & 0xffffffffu));
  }
  call c;
  c.op = &primitive_of<dense_p>, c.type = type;
  c.attributes = attributes.data(), c.attribute_count = int(attributes.size());
  return b.emit(c);
}

}  // namespace cotangent
