#pragma once
/// Products of matrices, one element of the result per thread: for element types that the device's library does not take.

#include <cotangent/backends/simt/kernel.hpp>
#include <cotangent/compiler/executable.hpp>

namespace cotangent::simt {

/// c = a b as `matrix_product` says. Integers wrap; bool is "or of ands"; an empty sum is 0.
template <class T> struct product_grid {
  static constexpr int threads = block_threads;
  matrix_product p;
  const T *a, *b;
  T* c;

  COTANGENT_HD extent elements() const { return p.batch * p.rows * p.columns; }
  extent blocks() const { return divide_up(elements(), threads); }
  COTANGENT_HD void operator()(extent block, int thread) const {
    const extent i = block * threads + thread;
    if (i >= elements()) return;
    const extent row_of_all = quotient(i, p.columns), column = i - row_of_all * p.columns, q = quotient(row_of_all, p.rows), row = row_of_all - q * p.rows;
    const T* x = a + q * p.left[0] + row * p.left[1];
    const T* y = b + q * p.right[0] + column * p.right[2];
    T sum = T(0);
    for (extent k = 0; k < p.contracted; ++k) {
      if constexpr (std::is_same_v<T, bool>) sum = sum || (x[k * p.left[2]] && y[k * p.right[1]]);
      else if constexpr (std::is_integral_v<T>) sum = T(std::make_unsigned_t<T>(sum) + std::make_unsigned_t<T>(x[k * p.left[2]]) * std::make_unsigned_t<T>(y[k * p.right[1]]));
      else sum += x[k * p.left[2]] * y[k * p.right[1]];
    }
    c[i] = sum;
  }
};

}  // namespace cotangent::simt
