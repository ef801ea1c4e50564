// spills: none
/// Kernel types on a CUDA device, against the same arithmetic on the host.

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <cotangent/backends/cuda/backend.hpp>

#include "../written_kernels.hpp"

namespace cuda_tests {

namespace ct = cotangent;
using ct::access;
using ct::extent;

struct add {
  COTANGENT_LANES template <class V> COTANGENT_INLINE static V lane(V a, V b) { return a + b; }
};
struct mul {
  COTANGENT_LANES template <class V> COTANGENT_INLINE static V lane(V a, V b) { return a * b; }
};
struct less {
  COTANGENT_LANES template <class V> COTANGENT_INLINE static auto lane(V a, V b) { return a < b; }
};
struct choose {
  COTANGENT_LANES template <class M, class V> COTANGENT_INLINE static V lane(M m, V a, V b) { return ct::select(ct::mask_cast<int(sizeof(typename V::value_type))>(m), a, b); }
};

/// y[j, i] = table[index[j]] < x[i, j] ? x[i, j] : table[index[j]] + b[j]
using mixed = written::kernel<ct::space<ct::slot(0), ct::slot(1)>, written::load<float, 0, access<0, ct::slot(1), 1>>, written::load<int, 1, access<0, 0, 1>>,
                         written::load<float, 2, access<0, 0, 0>, ct::indexed<1, 1>>, written::load<float, 3, access<0, 0, 1>>, written::apply<less, bool, 2, 0>,
                         written::apply<add, float, 2, 3>, written::apply<choose, float, 4, 0, 5>, written::store<float, 4, 6, access<0, 1, ct::slot(0)>>>::type;

/// A chain of Length multiply-adds, so that registers are counted by the compiler.
template <int Length, class = std::make_integer_sequence<int, Length>> struct chain;
template <int Length, int... K> struct chain<Length, std::integer_sequence<int, K...>> {
  using type = typename written::kernel<ct::space<ct::slot(0)>, written::load<float, 0, access<0, 1>>, written::load<float, 1, access<0, 1>>,
                          written::apply<std::conditional_t<(K & 1) != 0, add, mul>, float, K + 1, (K * 7 + 3) % (K + 2)>...,
                          written::store<float, 2, Length + 1, access<0, 1>>>::type;
};

template <class T> T* on_device(const std::vector<T>& v) {
  T* p = nullptr;
  if (cudaMalloc(&p, v.size() * sizeof(T)) != cudaSuccess) return nullptr;
  cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}

bool mixed_agrees(extent m, extent n) {
  std::vector<float> x(m * n), table(50), b(n), y(m * n);
  std::vector<int> index(n);
  for (extent i = 0; i < m * n; ++i) x[i] = float(i % 23) - 11;
  for (int i = 0; i < 50; ++i) table[i] = float(i % 9) - 4;
  for (extent j = 0; j < n; ++j) b[j] = float(j % 5), index[j] = int(j * 7 % 50);
  void* buffers[] = {on_device(x), on_device(index), on_device(table), on_device(b), on_device(y)};
  const extent slots[] = {m, n};
  const ct::simt::point_grid<mixed> grid(buffers, slots);
  ct::gpu::run_grid<<<64, grid.threads>>>(grid, grid.blocks());
  cudaMemcpy(y.data(), buffers[4], y.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (void* p : buffers) cudaFree(p);
  for (extent i = 0; i < m; ++i)
    for (extent j = 0; j < n; ++j) {
      const float t = table[index[j]], v = x[i * n + j];
      if (y[j * m + i] != (t < v ? v : t + b[j])) return false;
    }
  return cudaGetLastError() == cudaSuccess;
}

/// A kernel of 400 operations runs: `ptxas -v` shows what it needs.
bool chain_runs(extent n) {
  std::vector<float> x(n, 0.5f), y(n);
  void* buffers[] = {on_device(x), on_device(x), on_device(y)};
  const ct::simt::point_grid<chain<400>::type> grid(buffers, &n);
  ct::gpu::run_grid<<<64, grid.threads>>>(grid, grid.blocks());
  const bool done = cudaDeviceSynchronize() == cudaSuccess;
  for (void* p : buffers) cudaFree(p);
  return done;
}

}  // namespace cuda_tests

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device: skipped");
    return 77;
  }
  for (auto [m, n] : {std::pair<long, long>{1, 1}, {3, 5}, {300, 1000}})
    if (!cuda_tests::mixed_agrees(m, n)) {
      std::printf("wrong at [%ld,%ld]\n", m, n);
      return 1;
    }
  if (!cuda_tests::chain_runs(10000)) {
    std::puts("the long kernel failed");
    return 1;
  }
  std::puts("passed");
  return 0;
}
