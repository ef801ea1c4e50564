#pragma once
/// Running a kernel type on a CUDA device: one point of the iteration space per thread.
/// The statements are evaluated by the same text as on the CPU, over pack<T, 1>.

#include <cotangent/backends/cpu/statements.hpp>

namespace cotangent::cuda {

using namespace kernels;

/// A kernel's arguments, passed by value.
template <class Kernel> struct arguments {
  using layout = layout_of<Kernel>;
  void* buffers[layout::shape.buffers > 0 ? layout::shape.buffers : 1];
  extent slots[layout::shape.slots > 0 ? layout::shape.slots : 1];

  arguments() = default;
  arguments(void* const* from, const extent* extents) {
    for (int i = 0; i < layout::shape.buffers; ++i) buffers[i] = from[i];
    for (int i = 0; i < layout::shape.slots; ++i) slots[i] = extents[i];
  }
};

/// The number of points of a kernel's iteration space.
template <class Kernel> extent points_of(const arguments<Kernel>& a) {
  using layout = layout_of<Kernel>;
  extent n = 1;
  for (int d = 0; d < layout::dims.rank; ++d) n *= layout::extent_of(d, a.slots);
  return n;
}

/// Evaluates a kernel's statements at the n points, any number per thread. Kernels without reductions; scatters
/// that collide leave one of the values.
template <class Kernel> __global__ void run(arguments<Kernel> a, extent n) {
  using layout = layout_of<Kernel>;
  static_assert(layout::shape.reductions == 0, "cuda: this kernel runs one point per thread and cannot reduce");
  for (extent point = blockIdx.x * extent(blockDim.x) + threadIdx.x; point < n; point += extent(gridDim.x) * blockDim.x) {
    position<layout> at(a.buffers, a.slots);
    extent rest = point;
    for (int d = layout::dims.rank - 1; d >= 0; --d) {
      const extent size = layout::extent_of(d, at.slots);
      at.index[d] = d > 0 ? rest % size : rest;
      rest /= size;
    }
    no_reductions none;
    fixed_registers<layout, 1> fixed;
    evaluation<layout, 1, false> e(at, layout::dims.rank > 0 ? at.index[layout::dims.rank > 0 ? layout::dims.rank - 1 : 0] : 0, 1, fixed, none);
    evaluate<false>(program_of<Kernel>{}, e);
    evaluate<true>(program_of<Kernel>{}, e);
  }
}

}  // namespace cotangent::cuda
