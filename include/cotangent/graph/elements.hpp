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
/// Which axes are of instances: those of run-time extent, and those of at least `many` indices or, if there are `extents`, of
/// one of them. The others, of `few` elements in all at most, are those of one instance.
struct element_limits {
  extent many = 64, few = 256;
  shape extents;
  bool in_order = false;  // two axes of instances stay as they are in the arrays

  constexpr bool is_instances(extent e) const { return is_symbol(e) || (extents.rank > 0 ? extents.contains(e) : e >= many); }
};

/// An array as instances of a few elements.
struct element_form {
  static constexpr extent lanes = 64;  // where the last axis of the instances is shorter, a longer one comes last instead
  bool fits = true;
  shape axes;        // of the instances; none: the array is one instance
  shape instances;   // their extents
  shape strides;     // of the elements, per axis; 0 along the instances
  extent count = 1;  // of the elements

  constexpr element_form() = default;
  constexpr explicit element_form(const shape& dims, const element_limits& limits = {}) {
    for (int i = 0; i < dims.rank; ++i) {
      strides.push_back(0);
      if (limits.is_instances(dims[i])) axes.push_back(i), instances.push_back(dims[i]);
    }
    if (axes.rank == 2 && !limits.in_order && instances[1] < lanes && instances[1] < instances[0]) axes = {axes[1], axes[0]}, instances = {instances[1], instances[0]};
    for (int i = dims.rank; fits && i-- > 0;) {
      if (axes.contains(i)) continue;
      strides[i] = count;
      count *= dims[i];
      fits = count <= limits.few;
    }
  }
  /// The place of an axis among those of the instances, or -1.
  constexpr int place(extent axis) const {
    for (int j = 0; j < axes.rank; ++j)
      if (axes[j] == axis) return j;
    return -1;
  }
};

/// An array as its elements in row-major order, each a scalar or an array of the instances. The null value is a structural
/// zero, as of a unit vector.
struct element_array {
  shape dims;
  element_form form;
  const value* parts = nullptr;
};

/// Whether lines along an axis are so short, of at most `most` elements, and so few that their elements are better than lines in memory.
constexpr bool are_few_lines(const shape& dims, const element_form& form, extent axis, extent most) {
  return dims[int(axis)] <= most && form.count <= most * most / 4;
}

/// What the `elements` rule of a primitive sees: the call on whole arrays, and its operands as elements. It appends the
/// elements of the result to `parts`, or sets `fits` to false if it cannot, or `whole` to true if whole arrays do better.
struct element_call {
  const call& c;
  builder& b;  // of the elements
  const element_array* operands;
  element_form form;  // of the result
  sequence<value> parts;
  bool fits = true, whole = false, single = false;  // single: there is one instance, which does not share its arrays with others

  /// Calls visit(offsets) for each element of extents `dims` in row-major order, without the axes `skipped`;
  /// offsets[k] = sum of index * strides[k].
  template <std::size_t N, class Visit> static constexpr void each(const shape& dims, const shape& skipped, const shape (&strides)[N], const Visit& visit) {
    extent index[max_rank] = {}, offsets[N] = {};
    bool skips[max_rank] = {};
    for (int i = 0; i < dims.rank; ++i) {
      skips[i] = skipped.contains(i);
      if (!skips[i] && dims[i] == 0) return;
    }
    for (;;) {
      visit(offsets);
      int i = dims.rank - 1;
      for (; i >= 0; --i) {
        if (skips[i]) continue;
        for (std::size_t k = 0; k < N; ++k) offsets[k] += strides[k][i];
        if (++index[i] < dims[i]) break;
        for (std::size_t k = 0; k < N; ++k) offsets[k] -= strides[k][i] * dims[i];
        index[i] = 0;
      }
      if (i < 0) return;
    }
  }
};

}  // namespace cotangent
