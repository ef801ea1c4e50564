#pragma once
/// Arrays whose elements follow from their indices: all equal, the identity, equally spaced, frequencies of a Fourier transform.

#include <cotangent/core/extents.hpp>

namespace cotangent {

/// What an element is, given its index. While constants are evaluated, which is when functions are traced, a large array made by a rule
/// keeps that in place of its elements: a million of them would take the compiler minutes.
template <class T> struct element_rule {
  enum kind : char { full, identity, spaced, frequencies };
  kind what = full;
  T value = T();                // of all
  double first = 0, last = 0;   // of those equally spaced, both included; of frequencies, `first` is the distance

  /// The distance of `count` equally spaced numbers.
  constexpr double step(extent count) const { return count > 1 ? (last - first) / double(count - 1) : 0; }

  /// Writes all elements.
  constexpr void write(T* to, const shape& dims) const {
    const extent count = dims.size();
    if (what == spaced) {
      const double by = step(count);
      for (extent i = 0; i < count; ++i) to[i] = static_cast<T>(i > 0 && i == count - 1 ? last : double(i) * by + first);
      return;
    }
    if (what == frequencies) {
      for (extent i = 0; i < count; ++i) to[i] = static_cast<T>(double(2 * i < count ? i : i - count) * first);
      return;
    }
    const T x = what == full ? value : T();
    for (extent i = 0; i < count; ++i) to[i] = x;
    if (what != identity) return;
    for (extent i = 0; i < dims[0] && i < dims[1]; ++i) to[i * dims[1] + i] = T(1);
  }
};

}  // namespace cotangent
