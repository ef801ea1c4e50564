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

/// Sets the indices of point number `point`, in row-major order.
template <class Layout> __device__ void point_of(position<Layout>& at, extent point) {
  for (int d = Layout::dims.rank - 1; d >= 0; --d) {
    const extent size = Layout::extent_of(d, at.slots);
    at.index[d] = d > 0 ? point % size : point;
    point /= size;
  }
}
template <class Layout> __device__ extent lane_of(const position<Layout>& at) {
  return Layout::dims.rank > 0 ? at.index[Layout::dims.rank > 0 ? Layout::dims.rank - 1 : 0] : 0;
}

/// Evaluates a kernel's statements at the n points, any number per thread. Kernels without reductions; scatters
/// that collide leave one of the values.
template <class Kernel> __global__ void run(arguments<Kernel> a, extent n) {
  using layout = layout_of<Kernel>;
  static_assert(layout::shape.reductions == 0, "cuda: this kernel runs one point per thread and cannot reduce");
  for (extent point = blockIdx.x * extent(blockDim.x) + threadIdx.x; point < n; point += extent(gridDim.x) * blockDim.x) {
    position<layout> at(a.buffers, a.slots);
    point_of<layout>(at, point);
    no_reductions none;
    fixed_registers<layout, 1> fixed;
    evaluation<layout, 1, false> e(at, lane_of<layout>(at), 1, fixed, none);
    evaluate<stage::constants>(program_of<Kernel>{}, e, chunks_of<stage::constants, analysis<Kernel>>{});
    evaluate<stage::per_row>(program_of<Kernel>{}, e, chunks_of<stage::per_row, analysis<Kernel>>{});
    evaluate<stage::per_vector>(program_of<Kernel>{}, e, chunks_of<stage::per_vector, analysis<Kernel>>{});
  }
}

/// The sums of one thread, one per reduce statement.
template <class... R> struct thread_sums;
template <> struct thread_sums<> {
  __device__ void start() {}
  __device__ void finish(void* const*) {}
};
template <class Op, class T, int B, class Access, reduce_facts Facts, class... Rest>
struct thread_sums<resolved_reduce<kernels::reduce<Op, T, B, Access>, Facts>, Rest...> {
  pack<T, 1> sum;
  thread_sums<Rest...> rest;

  __device__ void start() {
    sum = pack<T, 1>(Op::template identity<T>());
    rest.start();
  }
  template <class V, class E> __device__ void add(resolved_reduce<kernels::reduce<Op, T, B, Access>, Facts>, const V& value, E&) {
    sum = Op::combine(sum, value);
  }
  template <class Other, class V, class E> __device__ void add(Other statement, const V& value, E& e) { rest.add(statement, value, e); }

  /// Combines the sums of a block's threads in shared memory, and the blocks' by atomic addition.
  __device__ void finish(void* const* buffers) {
    __shared__ T sums[1024];
    sums[threadIdx.x] = sum[0];
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) sums[threadIdx.x] = Op::combine(pack<T, 1>(sums[threadIdx.x]), pack<T, 1>(sums[threadIdx.x + half]))[0];
      __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(static_cast<T*>(buffers[B]), sums[0]);
    __syncthreads();
    rest.finish(buffers);
  }
};
template <class List> struct thread_sums_of;
template <class... R> struct thread_sums_of<reduce_list<R...>> {
  using type = thread_sums<R...>;
};

/// The same for a kernel whose reductions are sums over its whole space: results are added to what their buffers
/// hold. The number of threads per block is a power of two, at most 1024. The order of addition between blocks varies.
template <class Kernel> __global__ void run_sums(arguments<Kernel> a, extent n) {
  using layout = layout_of<Kernel>;
  typename thread_sums_of<reductions_of<Kernel>>::type sums;
  sums.start();
  for (extent point = blockIdx.x * extent(blockDim.x) + threadIdx.x; point < n; point += extent(gridDim.x) * blockDim.x) {
    position<layout> at(a.buffers, a.slots);
    point_of<layout>(at, point);
    fixed_registers<layout, 1> fixed;
    evaluation<layout, 1, false, decltype(sums)> e(at, lane_of<layout>(at), 1, fixed, sums);
    evaluate<stage::constants>(program_of<Kernel>{}, e, chunks_of<stage::constants, analysis<Kernel>>{});
    evaluate<stage::per_row>(program_of<Kernel>{}, e, chunks_of<stage::per_row, analysis<Kernel>>{});
    evaluate<stage::per_vector>(program_of<Kernel>{}, e, chunks_of<stage::per_vector, analysis<Kernel>>{});
  }
  sums.finish(a.buffers);
}

}  // namespace cotangent::cuda
