#pragma once
/// cuBLAS, cuSOLVER and cuFFT: handles, errors, and their functions by element type. Link with -lcusolver -lcublas -lcufft; the last for
/// programs with Fourier transforms alone.

#include <cublas_v2.h>
#include <cufft.h>
#include <cusolverDn.h>

#include <cotangent/backends/cuda/memory.hpp>
#include <cotangent/core/flag_scope.hpp>

namespace cotangent::gpu {

[[noreturn, gnu::cold]] inline void throw_library(const char* library, const char* what, const std::string& why) {
  throw device_error(std::string(library) + ": " + what + ": " + why);
}
inline void check(const char* what, cublasStatus_t s) {
  if (s != CUBLAS_STATUS_SUCCESS) throw_library("cuBLAS", what, cublasGetStatusString(s));
}
inline void check(const char* what, cusolverStatus_t s) {
  if (s != CUSOLVER_STATUS_SUCCESS) throw_library("cuSOLVER", what, "status " + std::to_string(int(s)));
}

inline void check(const char* what, cufftResult s) {
  if (s != CUFFT_SUCCESS) throw_library("cuFFT", what, "status " + std::to_string(int(s)));
}

/// Whether products of float32 matrices of this thread may use TF32: see cuda_tf32_scope.
inline bool& uses_tf32() {
  static thread_local bool uses = false;
  return uses;
}

/// What NVIDIA recommends for the largest of its GPUs.
inline constexpr std::size_t cublas_workspace = std::size_t(32) << 20;
/// This thread's handles for the current device, `index`. They are never destroyed: the driver may go before the thread.
inline cublasHandle_t cublas_handle(int index) {
  static thread_local std::map<int, cublasHandle_t> handles;
  cublasHandle_t& h = handles[index];
  if (!h) check("cublasCreate", cublasCreate(&h));
  return h;
}
inline cusolverDnHandle_t cusolver_handle(int index) {
  static thread_local std::map<int, cusolverDnHandle_t> handles;
  cusolverDnHandle_t& h = handles[index];
  if (!h) check("cusolverDnCreate", cusolverDnCreate(&h));
  return h;
}

/// Which triangle of a matrix, what is done to it, and whether its diagonal is 1.
struct triangle_kind {
  cublasFillMode_t triangle;
  cublasOperation_t operation;
  cublasDiagType_t diagonal;
};
/// Of column-major matrices of order n. potrf: a = Uᵀ U in a's upper triangle; getrf: P a = L U; trsm: x op(a) = b, for b of m rows, in
/// the place of b. geqrf and orgqr: reflectors, and R above them, of m x n, and the first n columns of Q; syevd and syevj: vectors in the place of
/// a, whose upper triangle is read; gesvd: U (m x n) and Vᵀ. *_room: the elements of workspace.
template <class T> struct matrix_calls;
template <> struct matrix_calls<float> {
  static auto potrf_room(cusolverDnHandle_t h, int n, float* a, int* elements) { return cusolverDnSpotrf_bufferSize(h, CUBLAS_FILL_MODE_UPPER, n, a, n, elements); }
  static auto potrf(cusolverDnHandle_t h, int n, float* a, float* room, int elements, int* info) {
    return cusolverDnSpotrf(h, CUBLAS_FILL_MODE_UPPER, n, a, n, room, elements, info);
  }
  static auto potrf(cusolverDnHandle_t h, int n, float** a, int* info, int count) { return cusolverDnSpotrfBatched(h, CUBLAS_FILL_MODE_UPPER, n, a, n, info, count); }
  static auto getrf_room(cusolverDnHandle_t h, int n, float* a, int* elements) { return cusolverDnSgetrf_bufferSize(h, n, n, a, n, elements); }
  static auto getrf(cusolverDnHandle_t h, int n, float* a, float* room, int* pivots, int* info) { return cusolverDnSgetrf(h, n, n, a, n, room, pivots, info); }
  static auto getrf(cublasHandle_t h, int n, float** a, int* pivots, int* info, int count) { return cublasSgetrfBatched(h, n, a, n, pivots, info, count); }
  static auto geqrf_room(cusolverDnHandle_t h, int m, int n, float* a, int* elements) { return cusolverDnSgeqrf_bufferSize(h, m, n, a, m, elements); }
  static auto geqrf(cusolverDnHandle_t h, int m, int n, float* a, float* tau, float* room, int elements, int* info) { return cusolverDnSgeqrf(h, m, n, a, m, tau, room, elements, info); }
  static auto orgqr_room(cusolverDnHandle_t h, int m, int n, const float* a, const float* tau, int* elements) { return cusolverDnSorgqr_bufferSize(h, m, n, n, a, m, tau, elements); }
  static auto orgqr(cusolverDnHandle_t h, int m, int n, float* a, const float* tau, float* room, int elements, int* info) {
    return cusolverDnSorgqr(h, m, n, n, a, m, tau, room, elements, info);
  }
  static auto syevd_room(cusolverDnHandle_t h, int n, const float* a, const float* w, int* elements) {
    return cusolverDnSsyevd_bufferSize(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, n, a, n, w, elements);
  }
  static auto syevd(cusolverDnHandle_t h, int n, float* a, float* w, float* room, int elements, int* info) {
    return cusolverDnSsyevd(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, n, a, n, w, room, elements, info);
  }
  static auto syevj_room(cusolverDnHandle_t h, int n, const float* a, const float* w, int* elements, syevjInfo_t options, int count) {
    return cusolverDnSsyevjBatched_bufferSize(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, n, a, n, w, elements, options, count);
  }
  static auto syevj(cusolverDnHandle_t h, int n, float* a, float* w, float* room, int elements, int* info, syevjInfo_t options, int count) {
    return cusolverDnSsyevjBatched(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, n, a, n, w, room, elements, info, options, count);
  }
  static auto gesvd_room(cusolverDnHandle_t h, int m, int n, const float*, int* elements) { return cusolverDnSgesvd_bufferSize(h, m, n, elements); }
  static auto gesvd(cusolverDnHandle_t h, int m, int n, float* a, float* s, float* u, float* vt, float* room, int elements, int* info) {
    return cusolverDnSgesvd(h, 'S', 'S', m, n, a, m, s, u, m, vt, n, room, elements, nullptr, info);
  }
  static auto trsm(cublasHandle_t h, const triangle_kind& k, extent m, extent n, const float* a, float* b) {
    const float one = 1;
    return cublasStrsm_64(h, CUBLAS_SIDE_RIGHT, k.triangle, k.operation, k.diagonal, m, n, &one, a, n, b, m);
  }
  static auto trsm(cublasHandle_t h, const triangle_kind& k, extent m, extent n, const float* const* a, float* const* b, extent count) {
    const float one = 1;
    return cublasStrsmBatched_64(h, CUBLAS_SIDE_RIGHT, k.triangle, k.operation, k.diagonal, m, n, &one, a, n, b, m, count);
  }
};
template <> struct matrix_calls<double> {
  static auto potrf_room(cusolverDnHandle_t h, int n, double* a, int* elements) { return cusolverDnDpotrf_bufferSize(h, CUBLAS_FILL_MODE_UPPER, n, a, n, elements); }
  static auto potrf(cusolverDnHandle_t h, int n, double* a, double* room, int elements, int* info) {
    return cusolverDnDpotrf(h, CUBLAS_FILL_MODE_UPPER, n, a, n, room, elements, info);
  }
  static auto potrf(cusolverDnHandle_t h, int n, double** a, int* info, int count) { return cusolverDnDpotrfBatched(h, CUBLAS_FILL_MODE_UPPER, n, a, n, info, count); }
  static auto getrf_room(cusolverDnHandle_t h, int n, double* a, int* elements) { return cusolverDnDgetrf_bufferSize(h, n, n, a, n, elements); }
  static auto getrf(cusolverDnHandle_t h, int n, double* a, double* room, int* pivots, int* info) { return cusolverDnDgetrf(h, n, n, a, n, room, pivots, info); }
  static auto getrf(cublasHandle_t h, int n, double** a, int* pivots, int* info, int count) { return cublasDgetrfBatched(h, n, a, n, pivots, info, count); }
  static auto geqrf_room(cusolverDnHandle_t h, int m, int n, double* a, int* elements) { return cusolverDnDgeqrf_bufferSize(h, m, n, a, m, elements); }
  static auto geqrf(cusolverDnHandle_t h, int m, int n, double* a, double* tau, double* room, int elements, int* info) { return cusolverDnDgeqrf(h, m, n, a, m, tau, room, elements, info); }
  static auto orgqr_room(cusolverDnHandle_t h, int m, int n, const double* a, const double* tau, int* elements) { return cusolverDnDorgqr_bufferSize(h, m, n, n, a, m, tau, elements); }
  static auto orgqr(cusolverDnHandle_t h, int m, int n, double* a, const double* tau, double* room, int elements, int* info) {
    return cusolverDnDorgqr(h, m, n, n, a, m, tau, room, elements, info);
  }
  static auto syevd_room(cusolverDnHandle_t h, int n, const double* a, const double* w, int* elements) {
    return cusolverDnDsyevd_bufferSize(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, n, a, n, w, elements);
  }
  static auto syevd(cusolverDnHandle_t h, int n, double* a, double* w, double* room, int elements, int* info) {
    return cusolverDnDsyevd(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, n, a, n, w, room, elements, info);
  }
  static auto syevj_room(cusolverDnHandle_t h, int n, const double* a, const double* w, int* elements, syevjInfo_t options, int count) {
    return cusolverDnDsyevjBatched_bufferSize(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, n, a, n, w, elements, options, count);
  }
  static auto syevj(cusolverDnHandle_t h, int n, double* a, double* w, double* room, int elements, int* info, syevjInfo_t options, int count) {
    return cusolverDnDsyevjBatched(h, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, n, a, n, w, room, elements, info, options, count);
  }
  static auto gesvd_room(cusolverDnHandle_t h, int m, int n, const double*, int* elements) { return cusolverDnDgesvd_bufferSize(h, m, n, elements); }
  static auto gesvd(cusolverDnHandle_t h, int m, int n, double* a, double* s, double* u, double* vt, double* room, int elements, int* info) {
    return cusolverDnDgesvd(h, 'S', 'S', m, n, a, m, s, u, m, vt, n, room, elements, nullptr, info);
  }
  static auto trsm(cublasHandle_t h, const triangle_kind& k, extent m, extent n, const double* a, double* b) {
    const double one = 1;
    return cublasDtrsm_64(h, CUBLAS_SIDE_RIGHT, k.triangle, k.operation, k.diagonal, m, n, &one, a, n, b, m);
  }
  static auto trsm(cublasHandle_t h, const triangle_kind& k, extent m, extent n, const double* const* a, double* const* b, extent count) {
    const double one = 1;
    return cublasDtrsmBatched_64(h, CUBLAS_SIDE_RIGHT, k.triangle, k.operation, k.diagonal, m, n, &one, a, n, b, m, count);
  }
};

}  // namespace cotangent::gpu

namespace cotangent {

/// Within its scope, this thread's products of float32 matrices on CUDA devices round the operands' elements to TF32, which has 10
/// bits behind the point instead of 23, and sum in float32: several times as fast where the GPU has units for it. Scopes nest.
class cuda_tf32_scope : flag_scope<gpu::uses_tf32> {};

}  // namespace cotangent
