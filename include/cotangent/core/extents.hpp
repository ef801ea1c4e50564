#pragma once
/// Extents and shapes. An extent is a number, or in a type `dyn`: known only at run time.
/// Inside a graph a run-time extent is a symbol (graph/symbols.hpp).

#include <cstddef>
#include <initializer_list>

#include <cotangent/core/error.hpp>

namespace cotangent {

using extent = std::ptrdiff_t;

/// An extent known only at run time, as in `array<float, dyn, 3>`.
inline constexpr extent dyn = -1;

/// Inside a graph a run-time extent is a symbol: symbol k is symbol_base + k (graph/symbols.hpp).
inline constexpr extent symbol_base = extent(1) << 60;
constexpr bool is_symbol(extent e) { return e >= symbol_base; }
/// The index in [0, n) that index i stands for on an axis of extent n that wraps around.
constexpr extent wrapped_index(extent i, extent n) { return (i % n + n) % n; }

/// The largest rank of an array, batch axes of nested `vmap`s included.
inline constexpr int max_rank = 8;

/// A short list of extents: a shape, a list of axes, a list of strides.
struct shape {
  int rank = 0;
  extent dims[max_rank] = {};

  constexpr shape() = default;
  constexpr shape(std::initializer_list<extent> list) {
    if (list.size() > max_rank) throw shape_error("shape: more than 8 extents");
    for (extent e : list) push_back(e);
  }

  constexpr extent& operator[](int i) { return dims[i]; }
  constexpr const extent& operator[](int i) const { return dims[i]; }
  constexpr void push_back(extent e) { dims[rank++] = e; }
  constexpr const extent* begin() const { return dims; }
  constexpr const extent* end() const { return dims + rank; }

  constexpr bool operator==(const shape& o) const {
    if (rank != o.rank) return false;
    for (int i = 0; i < rank; ++i)
      if (dims[i] != o.dims[i]) return false;
    return true;
  }

  /// Whether `e` is in the list.
  constexpr bool contains(extent e) const {
    for (int i = 0; i < rank; ++i)
      if (dims[i] == e) return true;
    return false;
  }

  /// The number of elements; every extent must be known.
  constexpr extent size() const {
    extent n = 1;
    for (int i = 0; i < rank; ++i) n *= dims[i];
    return n;
  }

  /// Whether no extent is `dyn`.
  constexpr bool is_static() const { return !contains(dyn); }
};

/// The list without its `k`-th entry.
constexpr shape erase(const shape& s, int k) {
  shape r;
  for (int i = 0; i < s.rank; ++i)
    if (i != k) r.push_back(s[i]);
  return r;
}

/// The list with `e` inserted before its `k`-th entry.
constexpr shape insert(const shape& s, int k, extent e) {
  shape r;
  for (int i = 0; i <= s.rank; ++i) {
    if (i == k) r.push_back(e);
    if (i < s.rank) r.push_back(s[i]);
  }
  return r;
}

}  // namespace cotangent
