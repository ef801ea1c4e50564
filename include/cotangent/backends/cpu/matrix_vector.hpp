#pragma once
/// Matrices in rows times a vector: the sums of some rows at once, each in the lanes of a vector, which are added at the end.

#include <algorithm>

#include <cotangent/backends/cpu/pack.hpp>
#include <cotangent/core/extents.hpp>

namespace cotangent::host {

/// y = a x, or += that, for a [m, k], whose rows are contiguous and `row` elements apart, and a contiguous x. A row's sum does not depend on
/// where it lies.
template <class T> struct rows_times_vector {
  extent m, k;
  const T* a;
  extent row;
  const T* x;

  template <bool Adds> void run(T* y, extent stride) const {
    for (extent i = 0; i < m; i += together) {
      const int count = int(std::min(extent(together), m - i));
      const pack<T, together> sums = sums_of_rows(a + i * row, count);
      T* const to = y + i * stride;
      if constexpr (Adds) (sums + pack<T, together>::load_strided(to, stride, count)).store_strided(to, stride, count);
      else if (stride != 1) sums.store_strided(to, stride, count);
      else if (count == together) sums.store(to);
      else sums.store(to, count);
    }
  }

 private:
  static constexpr int lanes = native_lanes<T>, together = lanes < 8 ? lanes : 8;  // rows, whose addresses are in registers
  using vec = pack<T, lanes>;

  pack<T, together> sums_of_rows(const T* first, int count) const {
    const T* rows[together];
    vec sum[together];
    each_number<together>([&](auto r) COTANGENT_EXPANDED {
      rows[r] = first + std::min(int(r), count - 1) * row;  // the last one again where there are too few
      sum[r] = T(0);
    });
    extent p = 0;
    for (; p + lanes <= k; p += lanes) {
      const vec terms = vec::load(x + p);
      each_number<together>([&](auto r) COTANGENT_EXPANDED { sum[r] = fast_fma(vec::load(rows[r] + p), terms, sum[r]); });
    }
    if (const int rest = int(k - p); rest > 0) {
      const vec terms = vec::load(x + p, rest);
      each_number<together>([&](auto r) COTANGENT_EXPANDED { sum[r] = fast_fma(vec::load(rows[r] + p, rest), terms, sum[r]); });
    }
    return sums_across(sum);
  }
};

}  // namespace cotangent::host
