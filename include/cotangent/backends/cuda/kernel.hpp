#pragma once
/// Running a kernel type on a CUDA device: one point of the iteration space per thread.
/// The statements are evaluated by the same text as on the CPU, over pack<T, 1>.

#include <cotangent/backends/cpu/statements.hpp>

namespace cotangent::cuda {

using namespace kernels;

/// A kernel's arguments, passed by value.
template <class Kernel> struct arguments {
  using facts = kernel_facts<Kernel>;
  void* buffers[facts::table.buffers > 0 ? facts::table.buffers : 1];
  extent slots[facts::table.slots > 0 ? facts::table.slots : 1];

  arguments() = default;
  arguments(void* const* from, const extent* extents) {
    for (int i = 0; i < facts::table.buffers; ++i) buffers[i] = from[i];
    for (int i = 0; i < facts::table.slots; ++i) slots[i] = extents[i];
  }
};

/// The number of points of a kernel's iteration space.
template <class Kernel> extent points_of(const arguments<Kernel>& a) {
  using facts = kernel_facts<Kernel>;
  extent n = 1;
  for (int d = 0; d < facts::dims.rank; ++d) n *= facts::extent_of(d, a.slots);
  return n;
}

/// Evaluates a kernel's statements at the n points, any number per thread. Kernels without reductions; scatters
/// that collide leave one of the values.
template <class Kernel> __global__ void run(arguments<Kernel> a, extent n) {
  using facts = kernel_facts<Kernel>;
  static_assert(facts::table.reductions == 0, "cuda: this kernel runs one point per thread and cannot reduce");
  constexpr auto sequence = std::make_index_sequence<std::size_t(facts::statements)>();
  for (extent point = blockIdx.x * extent(blockDim.x) + threadIdx.x; point < n; point += extent(gridDim.x) * blockDim.x) {
    position<facts> at(a.buffers, a.slots);
    extent rest = point;
    for (int d = facts::dims.rank - 1; d >= 0; --d) {
      const extent size = facts::extent_of(d, at.slots);
      at.index[d] = d > 0 ? rest % size : rest;
      rest /= size;
    }
    no_reductions none;
    fixed_registers<facts, 1> fixed;
    varying_registers<facts, 1> varying;
    evaluation<facts, 1, false> e{at, facts::dims.rank > 0 ? at.index[facts::dims.rank > 0 ? facts::dims.rank - 1 : 0] : 0, 1, fixed, varying, none};
    evaluate<false>(Kernel{}, sequence, e);
    evaluate<true>(Kernel{}, sequence, e);
  }
}

}  // namespace cotangent::cuda
