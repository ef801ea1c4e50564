#pragma once
/// Arrays as lists of their elements, for programs that run one instance per lane (compiler/instances.hpp).

#include <cotangent/graph/builder.hpp>

namespace cotangent {

/// Calls visit(index per axis, -1 where an axis is kept) for each element of an array along the axes that are not.
template <class Visit> constexpr void each_element(const shape& dims, const shape& kept, const Visit& visit) {
  shape where;
  for (int i = 0; i < dims.rank; ++i) {
    where.push_back(kept.contains(i) ? -1 : 0);
    if (where[i] == 0 && dims[i] == 0) return;
  }
  for (;;) {
    visit(where);
    int i = dims.rank - 1;
    for (; i >= 0; --i) {
      if (where[i] < 0) continue;
      if (++where[i] < dims[i]) break;
      where[i] = 0;
    }
    if (i < 0) return;
  }
}
/// The instances of an array: an axis that is long or of run-time extent beside axes of a few elements in all.
struct element_form {
  static constexpr extent few = 256, many = 64;  // elements of an instance at most; instances at least
  bool fits = true;
  int axis = -1;  // of the instances, or -1: the array is one instance
  extent count = 1;
  shape strides;  // of the elements, per axis; 0 along the instances

  constexpr element_form() = default;
  constexpr explicit element_form(const shape& dims) {
    for (int i = 0; i < dims.rank; ++i) {
      if (!is_symbol(dims[i]) && dims[i] < many) continue;
      if (axis >= 0) fits = false;
      axis = i;
    }
    for (int i = 0; i < dims.rank; ++i) strides.push_back(0);
    for (int i = dims.rank; fits && i-- > 0;) {
      if (i == axis) continue;
      strides[i] = count;
      count *= dims[i];
      fits = count <= few;
    }
  }
};

/// An array as its elements in row-major order, each a scalar or a vector of the instances. The null value is a
/// structural zero, as of a unit vector.
struct element_array {
  shape dims;
  element_form form;
  const value* parts = nullptr;
};

/// What the `elements` rule of a primitive sees: the call on whole arrays, and its operands as elements. It appends the
/// elements of the result to `parts`, or sets `fits` to false.
struct element_call {
  const call& c;
  builder& b;  // of the elements
  const element_array* operands;
  element_form form;  // of the result
  sequence<value> parts;
  bool fits = true;

  /// Calls visit(offsets) for each element of extents `dims` in row-major order, without the axis `skipped`;
  /// offsets[k] = sum of index * strides[k].
  template <std::size_t N, class Visit> static constexpr void each(const shape& dims, int skipped, const shape (&strides)[N], const Visit& visit) {
    extent index[max_rank] = {}, offsets[N] = {};
    for (int i = 0; i < dims.rank; ++i)
      if (i != skipped && dims[i] == 0) return;
    for (;;) {
      visit(offsets);
      int i = dims.rank - 1;
      for (; i >= 0; --i) {
        if (i == skipped) continue;
        for (std::size_t k = 0; k < N; ++k) offsets[k] += strides[k][i];
        if (++index[i] < dims[i]) break;
        for (std::size_t k = 0; k < N; ++k) offsets[k] -= strides[k][i] * dims[i];
        index[i] = 0;
      }
      if (i < 0) return;
    }
  }

  constexpr extent instances() const { return form.axis < 0 ? 1 : c.dims[form.axis]; }
};

}  // namespace cotangent
