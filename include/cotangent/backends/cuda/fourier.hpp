#pragma once
/// Fourier transforms by cuFFT. `Queue`: gpu::queue.

#include <array>
#include <map>

#include <cotangent/backends/cuda/libraries.hpp>
#include <cotangent/backends/simt/opaque.hpp>

namespace cotangent::gpu {

template <class T> struct fourier_calls;
template <> struct fourier_calls<float> {
  static constexpr cufftType complex = CUFFT_C2C, real = CUFFT_R2C, inverse_real = CUFFT_C2R;
  static auto transform(cufftHandle h, const float* x, float* y, int direction) { return cufftExecC2C(h, pairs(x), pairs(y), direction); }
  static auto of_reals(cufftHandle h, const float* x, float* y) { return cufftExecR2C(h, const_cast<float*>(x), pairs(y)); }
  static auto to_reals(cufftHandle h, const float* x, float* y) { return cufftExecC2R(h, pairs(x), y); }

 private:
  static cufftComplex* pairs(const float* x) { return reinterpret_cast<cufftComplex*>(const_cast<float*>(x)); }
};
template <> struct fourier_calls<double> {
  static constexpr cufftType complex = CUFFT_Z2Z, real = CUFFT_D2Z, inverse_real = CUFFT_Z2D;
  static auto transform(cufftHandle h, const double* x, double* y, int direction) { return cufftExecZ2Z(h, pairs(x), pairs(y), direction); }
  static auto of_reals(cufftHandle h, const double* x, double* y) { return cufftExecD2Z(h, const_cast<double*>(x), pairs(y)); }
  static auto to_reals(cufftHandle h, const double* x, double* y) { return cufftExecZ2D(h, pairs(x), y); }

 private:
  static cufftDoubleComplex* pairs(const double* x) { return reinterpret_cast<cufftDoubleComplex*>(const_cast<double*>(x)); }
};

/// A plan of `batch` lines of n numbers, and the bytes of its workspace.
struct fourier_plan {
  cufftHandle handle = 0;
  std::size_t bytes = 0;
};
/// This thread's plans for the device `index`. They are never destroyed: the driver may go before the thread.
inline const fourier_plan& plan_of_lines(int index, cufftType type, extent n, extent batch, extent step, extent in, extent out) {
  static thread_local std::map<std::array<extent, 7>, fourier_plan> plans;
  const std::array<extent, 7> key{index, extent(type), n, batch, step, in, out};
  if (const auto found = plans.find(key); found != plans.end()) return found->second;
  fourier_plan p;
  check("cufftCreate", cufftCreate(&p.handle));
  check("cufftSetAutoAllocation", cufftSetAutoAllocation(p.handle, 0));
  long long length = n, embedded = n;  // of one dimension: only that there is one counts
  check("a plan of transforms", cufftMakePlanMany64(p.handle, 1, &length, &embedded, step, in, &embedded, step, out, type, batch, &p.bytes));
  return plans[key] = p;
}

/// The numbers of an inverse transform to real ones, of which those at the ends are real: cuFFT may overwrite what it reads.
template <class T> struct copy_halves {
  const T* x;
  T* to;
  extent n, behind;
  COTANGENT_HD void operator()(extent i) const {
    const extent k = i / behind % (n / 2 + 1);
    to[2 * i] = x[2 * i], to[2 * i + 1] = k == 0 || 2 * k == n ? T(0) : x[2 * i + 1];
  }
};

/// As queue::transform (backends/simt/backend.hpp).
template <class T, class Queue> void transform(const Queue& queue, int index, cudaStream_t stream, fourier what, const axis_lines& lines, const T* x, T* y) {
  using calls = fourier_calls<T>;
  const bool of_reals = what == fourier::real, to_reals = what == fourier::inverse_real;
  const extent n = lines.count, halves = n / 2 + 1, in = to_reals ? halves : n, out = of_reals ? halves : n;
  const bool in_a_row = lines.behind == 1;
  const extent batch = in_a_row ? lines.before : lines.behind, calls_needed = in_a_row ? 1 : lines.before;
  const cufftType type = of_reals ? calls::real : to_reals ? calls::inverse_real : calls::complex;
  const fourier_plan& plan = plan_of_lines(index, type, n, batch, lines.behind, in_a_row ? in : 1, in_a_row ? out : 1);
  check("cufftSetStream", cufftSetStream(plan.handle, stream));
  const typename Queue::memory workspace(queue, extent(plan.bytes)), copy(queue, to_reals ? lines.before * in * lines.behind * 2 * extent(sizeof(T)) : 0);
  check("cufftSetWorkArea", cufftSetWorkArea(plan.handle, workspace.data()));
  if (to_reals) {
    simt::for_each(queue, lines.before * in * lines.behind, copy_halves<T>{x, reinterpret_cast<T*>(copy.data()), n, lines.behind});
    x = reinterpret_cast<const T*>(copy.data());
  }
  for (extent i = 0; i < calls_needed; ++i) {
    const T* const from = x + i * in * lines.behind * (of_reals ? 1 : 2);
    T* const to = y + i * out * lines.behind * (to_reals ? 1 : 2);
    if (of_reals) check("transforms of real numbers", calls::of_reals(plan.handle, from, to));
    else if (to_reals) check("transforms to real numbers", calls::to_reals(plan.handle, from, to));
    else check("transforms", calls::transform(plan.handle, from, to, what == fourier::inverse ? CUFFT_INVERSE : CUFFT_FORWARD));
  }
}

}  // namespace cotangent::gpu
