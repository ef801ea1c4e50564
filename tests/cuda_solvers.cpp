/// Factorizations of large matrices and Fourier transforms on CUDA devices: what is asked of cuSOLVER, cuBLAS (over column-major
/// stand-ins for them) and cuFFT, on Thrust's sequential system.

#include <cmath>
#include <complex>
#include <vector>

#include <cotangent/backends/cpu/fft.hpp>
#include <cotangent/backends/thrust/backend.hpp>

#include <cotangent/backends/cuda/fourier.hpp>
#include <cotangent/backends/cuda/solvers.hpp>

#include "catch.hpp"
#include "cuda_stand_in.hpp"

namespace ct = cotangent;
using ct::extent;

namespace {

int batches = 0;  // calls of the functions for batches

/// Element (i, j) of a column-major matrix.
template <class T> T& at(T* a, int order, int i, int j) { return a[j * order + i]; }

}  // namespace

extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t*) { return CUBLAS_STATUS_SUCCESS; }
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t*) { return CUSOLVER_STATUS_SUCCESS; }
const char* cublasGetStatusString(cublasStatus_t) { return "the library's words"; }

cusolverStatus_t cusolverDnDpotrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int n, double*, int, int* elements) { return *elements = n, CUSOLVER_STATUS_SUCCESS; }
/// a = Uᵀ U; what is below the diagonal stays. Stops at the first pivot that is 0 or less, as LAPACK does.
cusolverStatus_t cusolverDnDpotrf(cusolverDnHandle_t, cublasFillMode_t triangle, int n, double* a, int order, double*, int, int* info) {
  REQUIRE(triangle == CUBLAS_FILL_MODE_UPPER);
  *info = 0;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i <= j; ++i) {
      double sum = at(a, order, i, j);
      for (int k = 0; k < i; ++k) sum -= at(a, order, k, i) * at(a, order, k, j);
      if (i == j && sum <= 0) return *info = j + 1, CUSOLVER_STATUS_SUCCESS;
      at(a, order, i, j) = i == j ? std::sqrt(sum) : sum / at(a, order, i, i);
    }
  }
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDpotrfBatched(cusolverDnHandle_t h, cublasFillMode_t triangle, int n, double** a, int order, int* info, int count) {
  ++batches;
  for (int b = 0; b < count; ++b) cusolverDnDpotrf(h, triangle, n, a[b], order, nullptr, 0, info + b);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDgetrf_bufferSize(cusolverDnHandle_t, int n, int, double*, int, int* elements) { return *elements = n, CUSOLVER_STATUS_SUCCESS; }
cusolverStatus_t cusolverDnDgetrf(cusolverDnHandle_t, int n, int, double* a, int order, double*, int* pivots, int* info) {
  *info = 0;
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (std::fabs(at(a, order, i, k)) > std::fabs(at(a, order, pivot, k))) pivot = i;
    pivots[k] = pivot + 1;
    for (int j = 0; j < n; ++j) std::swap(at(a, order, k, j), at(a, order, pivot, j));
    for (int i = k + 1; i < n; ++i) {
      const double factor = at(a, order, i, k) /= at(a, order, k, k);
      for (int j = k + 1; j < n; ++j) at(a, order, i, j) -= factor * at(a, order, k, j);
    }
  }
  return CUSOLVER_STATUS_SUCCESS;
}
cublasStatus_t cublasDgetrfBatched(cublasHandle_t, int n, double* const* a, int order, int* pivots, int* info, int count) {
  ++batches;
  for (int b = 0; b < count; ++b) cusolverDnDgetrf(nullptr, n, n, a[b], order, nullptr, pivots + b * n, info + b);
  return CUBLAS_STATUS_SUCCESS;
}
/// x op(a) = b, row after row of x.
cublasStatus_t cublasDtrsm_v2_64(cublasHandle_t, cublasSideMode_t side, cublasFillMode_t triangle, cublasOperation_t op, cublasDiagType_t diagonal, std::int64_t m, std::int64_t n,
                                 const double* one, const double* a, std::int64_t order, double* b, std::int64_t rows) {
  REQUIRE(side == CUBLAS_SIDE_RIGHT);
  REQUIRE(*one == 1);
  const auto element = [&](std::int64_t i, std::int64_t j) {
    if (op == CUBLAS_OP_T) std::swap(i, j);
    if (i == j && diagonal == CUBLAS_DIAG_UNIT) return 1.0;
    return (triangle == CUBLAS_FILL_MODE_UPPER ? i <= j : i >= j) ? a[j * order + i] : 0.0;
  };
  const bool upper = (triangle == CUBLAS_FILL_MODE_UPPER) == (op == CUBLAS_OP_N);
  for (std::int64_t r = 0; r < m; ++r)
    for (std::int64_t s = 0; s < n; ++s) {
      const std::int64_t j = upper ? s : n - 1 - s;
      double sum = b[j * rows + r];
      for (std::int64_t k = 0; k < n; ++k)
        if (upper ? k < j : k > j) sum -= b[k * rows + r] * element(k, j);
      b[j * rows + r] = sum / element(j, j);
    }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDtrsmBatched_64(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t triangle, cublasOperation_t op, cublasDiagType_t diagonal, std::int64_t m, std::int64_t n,
                                     const double* one, const double* const* a, std::int64_t order, double* const* b, std::int64_t rows, std::int64_t count) {
  ++batches;
  for (std::int64_t k = 0; k < count; ++k) cublasDtrsm_v2_64(h, side, triangle, op, diagonal, m, n, one, a[k], order, b[k], rows);
  return CUBLAS_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDgeqrf_bufferSize(cusolverDnHandle_t, int, int n, double*, int, int* elements) { return *elements = n, CUSOLVER_STATUS_SUCCESS; }
/// Reflectors I - tau v vᵀ, v with a 1 on the diagonal.
cusolverStatus_t cusolverDnDgeqrf(cusolverDnHandle_t, int m, int n, double* a, int order, double* tau, double*, int, int* info) {
  *info = 0;
  for (int k = 0; k < n; ++k) {
    double squares = 0;
    for (int i = k; i < m; ++i) squares += at(a, order, i, k) * at(a, order, i, k);
    const double turned = -std::copysign(std::sqrt(squares), at(a, order, k, k)), divisor = at(a, order, k, k) - turned;
    tau[k] = -divisor / turned;
    for (int i = k + 1; i < m; ++i) at(a, order, i, k) /= divisor;
    at(a, order, k, k) = turned;
    for (int j = k + 1; j < n; ++j) {
      double sum = at(a, order, k, j);
      for (int i = k + 1; i < m; ++i) sum += at(a, order, i, k) * at(a, order, i, j);
      at(a, order, k, j) -= tau[k] * sum;
      for (int i = k + 1; i < m; ++i) at(a, order, i, j) -= tau[k] * sum * at(a, order, i, k);
    }
  }
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDorgqr_bufferSize(cusolverDnHandle_t, int, int n, int, const double*, int, const double*, int* elements) { return *elements = n + 1, CUSOLVER_STATUS_SUCCESS; }
cusolverStatus_t cusolverDnDorgqr(cusolverDnHandle_t, int m, int n, int k, double* a, int order, const double* tau, double*, int elements, int* info) {
  REQUIRE(elements == n + 1);
  *info = 0;
  std::vector<double> q(std::size_t(m * n), 0.0);
  for (int i = 0; i < n; ++i) at(q.data(), m, i, i) = 1;
  for (int r = k; r-- > 0;)
    for (int j = 0; j < n; ++j) {
      double sum = at(q.data(), m, r, j);
      for (int i = r + 1; i < m; ++i) sum += at(a, order, i, r) * at(q.data(), m, i, j);
      at(q.data(), m, r, j) -= tau[r] * sum;
      for (int i = r + 1; i < m; ++i) at(q.data(), m, i, j) -= tau[r] * sum * at(a, order, i, r);
    }
  for (int j = 0; j < n; ++j) std::copy_n(&at(q.data(), m, 0, j), m, &at(a, order, 0, j));
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDsyevd_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int n, const double*, int, const double*, int* elements) { return *elements = n, CUSOLVER_STATUS_SUCCESS; }
/// Vectors of any signs. What is below the diagonal is not read.
cusolverStatus_t cusolverDnDsyevd(cusolverDnHandle_t, cusolverEigMode_t mode, cublasFillMode_t triangle, int n, double* a, int order, double* w, double*, int, int* info) {
  REQUIRE(mode == CUSOLVER_EIG_MODE_VECTOR);
  REQUIRE(triangle == CUBLAS_FILL_MODE_UPPER);
  std::vector<double> rows(std::size_t(n * n)), v(rows), room(rows);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) rows[std::size_t(i * n + j)] = at(a, order, j, i);
  ct::small_matrix::eigh<double>(rows.data(), w, v.data(), extent(n), room.data());
  *info = std::isnan(w[0]);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) at(a, order, i, j) = j % 3 ? v[std::size_t(i * n + j)] : -v[std::size_t(i * n + j)];
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t*) { return CUSOLVER_STATUS_SUCCESS; }
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t) { return CUSOLVER_STATUS_SUCCESS; }
cusolverStatus_t cusolverDnDsyevjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int n, const double*, int, const double*, int* elements, syevjInfo_t, int count) {
  return *elements = n * count, CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDsyevjBatched(cusolverDnHandle_t h, cusolverEigMode_t mode, cublasFillMode_t triangle, int n, double* a, int order, double* w, double*, int, int* info, syevjInfo_t,
                                         int count) {
  ++batches;
  for (int b = 0; b < count; ++b) cusolverDnDsyevd(h, mode, triangle, n, a + b * n * n, order, w + b * n, nullptr, 0, info + b);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDgesvd_bufferSize(cusolverDnHandle_t, int, int n, int* elements) { return *elements = n, CUSOLVER_STATUS_SUCCESS; }
cusolverStatus_t cusolverDnDgesvd(cusolverDnHandle_t, signed char of_u, signed char of_v, int m, int n, double* a, int order, double* s, double* u, int order_u, double* vt, int order_v, double*, int,
                                  double*, int* info) {
  REQUIRE(of_u == 'S');
  REQUIRE(of_v == 'S');
  REQUIRE(m >= n);
  std::vector<double> rows(std::size_t(m * n)), left(rows), v(std::size_t(n * n));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) rows[std::size_t(i * n + j)] = at(a, order, i, j);
  ct::small_matrix::svd<double>(rows.data(), left.data(), s, v.data(), extent(m), extent(n));
  *info = std::isnan(s[0]);
  for (int j = 0; j < n; ++j) {
    const double sign = j % 3 ? 1 : -1;
    for (int i = 0; i < m; ++i) at(u, order_u, i, j) = sign * left[std::size_t(i * n + j)];
    for (int i = 0; i < n; ++i) at(vt, order_v, j, i) = sign * v[std::size_t(i * n + j)];
  }
  return CUSOLVER_STATUS_SUCCESS;
}
}

namespace {
/// What a plan of transforms was made for.
struct transforms {
  long long n, in_step, in_line, out_step, out_line, batch;
  cufftType type;
  void* workspace;
};
std::vector<transforms> plans(1);

/// Numbers of lines by the definition, read by from(number) and written by to(number).
template <class From, class To> void transform_by_definition(const transforms& p, long long outputs, int sign, const From& from, const To& to) {
  REQUIRE(p.workspace != nullptr);
  for (long long b = 0; b < p.batch; ++b)
    for (long long k = 0; k < outputs; ++k) {
      std::complex<double> sum = 0;
      for (long long j = 0; j < p.n; ++j) sum += from(b, j) * std::polar(1.0, sign * 2 * M_PI * double(j * k % p.n) / double(p.n));
      to(b, k, sum);
    }
}
std::complex<double> number(const cufftDoubleComplex& z) { return {z.x, z.y}; }
}  // namespace

extern "C" {
cufftResult cufftCreate(cufftHandle* h) { return *h = int(plans.size()), plans.push_back({}), CUFFT_SUCCESS; }
cufftResult cufftSetAutoAllocation(cufftHandle, int on) { return on ? CUFFT_INVALID_VALUE : CUFFT_SUCCESS; }
cufftResult cufftMakePlanMany64(cufftHandle h, int rank, long long* n, long long* in_embedded, long long in_step, long long in_line, long long* out_embedded, long long out_step, long long out_line,
                                cufftType type, long long batch, std::size_t* bytes) {
  REQUIRE((rank == 1 && in_embedded && out_embedded));
  plans[std::size_t(h)] = {*n, in_step, in_line, out_step, out_line, batch, type, nullptr};
  return *bytes = 64, CUFFT_SUCCESS;
}
cufftResult cufftSetStream(cufftHandle, cudaStream_t) { return CUFFT_SUCCESS; }
cufftResult cufftSetWorkArea(cufftHandle h, void* area) { return plans[std::size_t(h)].workspace = area, CUFFT_SUCCESS; }
cufftResult cufftExecZ2Z(cufftHandle h, cufftDoubleComplex* x, cufftDoubleComplex* y, int direction) {
  const transforms& p = plans[std::size_t(h)];
  REQUIRE(p.type == CUFFT_Z2Z);
  transform_by_definition(p, p.n, direction == CUFFT_INVERSE ? 1 : -1, [&](long long b, long long j) { return number(x[b * p.in_line + j * p.in_step]); },
                          [&](long long b, long long k, std::complex<double> z) { y[b * p.out_line + k * p.out_step] = {z.real(), z.imag()}; });
  return CUFFT_SUCCESS;
}
cufftResult cufftExecD2Z(cufftHandle h, double* x, cufftDoubleComplex* y) {
  const transforms& p = plans[std::size_t(h)];
  REQUIRE(p.type == CUFFT_D2Z);
  transform_by_definition(p, p.n / 2 + 1, -1, [&](long long b, long long j) { return std::complex<double>(x[b * p.in_line + j * p.in_step]); },
                          [&](long long b, long long k, std::complex<double> z) { y[b * p.out_line + k * p.out_step] = {z.real(), z.imag()}; });
  return CUFFT_SUCCESS;
}
/// Overwrites what it reads, and takes the numbers at the ends as they are.
cufftResult cufftExecZ2D(cufftHandle h, cufftDoubleComplex* x, double* y) {
  const transforms& p = plans[std::size_t(h)];
  REQUIRE(p.type == CUFFT_Z2D);
  transform_by_definition(p, p.n, 1, [&](long long b, long long j) {
    const auto at = [&](long long k) { return number(x[b * p.in_line + k * p.in_step]); };
    if (j == 0 || 2 * j == p.n) REQUIRE(at(j).imag() == 0);
    return 2 * j <= p.n ? at(j) : std::conj(at(p.n - j));
  }, [&](long long b, long long k, std::complex<double> z) { y[b * p.out_line + k * p.out_step] = z.real(); });
  for (long long b = 0; b < p.batch; ++b) x[b * p.in_line] = {NAN, NAN};
  return CUFFT_SUCCESS;
}
}

namespace {

struct queue : ct::thrust_systems::queue {
  struct memory : ct::thrust_systems::queue::memory {
    memory(const queue& q, extent bytes) : ct::thrust_systems::queue::memory(q, bytes) {}
  };
  cublasHandle_t cublas() const { return ct::gpu::cublas_handle(0); }
  cusolverDnHandle_t cusolver() const { return ct::gpu::cusolver_handle(0); }
  extent cublas_workspace_bytes() const { return 0; }
  template <class Memory> void give_workspace(cublasHandle_t, const Memory&) const {}
};

using matrix = std::vector<double>;
matrix numbers(extent count, unsigned seed) {
  matrix x(std::size_t(count), 0.0);
  for (double& v : x) v = double((seed = seed * 1664525 + 1013904223) >> 8) / (1 << 23) - 1;
  return x;
}
/// a aᵀ + n, of each matrix.
matrix definite(extent n, extent count) {
  const matrix a = numbers(count * n * n, 3);
  matrix r(a.size());
  for (extent b = 0; b < count; ++b)
    for (extent i = 0; i < n; ++i)
      for (extent j = 0; j < n; ++j) {
        double sum = i == j ? double(n) : 0.0;
        for (extent k = 0; k < n; ++k) sum += a[std::size_t((b * n + i) * n + k)] * a[std::size_t((b * n + j) * n + k)];
        r[std::size_t((b * n + i) * n + j)] = sum;
      }
  return r;
}
double difference(const matrix& a, const matrix& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::isnan(a[i]) && std::isnan(b[i]) ? most : std::isnan(a[i] - b[i]) ? 1e300 : std::max(most, std::fabs(a[i] - b[i]));
  return most;
}
/// One matrix, a batch in one call, a batch of matrices too large for that.
const std::pair<extent, extent> sizes[] = {{19, 1}, {23, 4}, {520, 2}};

}  // namespace

TEST_CASE("cholesky factors the lower triangle, and makes NaN of what is not positive definite or not a number") {
  for (auto [n, count] : {sizes[0], sizes[1]}) {
    for (int bad = 0; bad < 3; ++bad) {
      matrix a = definite(n, count), l(a.size()), want(a.size());
      for (extent b = 0; b < count; ++b) a[std::size_t((b * n + 1) * n + n - 1)] = 1e9;  // above the diagonal: not read
      if (bad == 1) a[std::size_t((n - 3) * n + n - 3)] = -1;
      if (bad == 2) a[std::size_t(5 * n + 2)] = std::nan("");
      batches = 0;
      ct::gpu::cholesky(queue(), a.data(), l.data(), n, count);
      for (extent b = 0; b < count; ++b) ct::small_matrix::cholesky(a.data() + b * n * n, want.data() + b * n * n, n);
      CHECK(difference(l, want) < 1e-10);
      CHECK(std::isnan(l[0]) == (bad > 0));
      CHECK(batches == (count > 1));
    }
  }
}

TEST_CASE("triangles are solved for every kind of triangle") {
  for (auto [n, count] : sizes)
    for (extent m : {1, 5})
      for (int kind = 0; kind < 8; ++kind) {
        if (n > 100 && (kind != 3 || m != 5)) continue;
        const bool lower = kind & 1, transposed = kind & 2, unit = kind & 4;
        matrix a = definite(n, count);
        if (unit)
          for (double& v : a) v /= 100 * double(n);
        const matrix b = numbers(count * n * m, 5);
        matrix x(b.size()), want = b;
        ct::gpu::triangular_solve(queue(), a.data(), b.data(), x.data(), n, m, count, lower, transposed, unit);
        for (extent k = 0; k < count; ++k) ct::small_matrix::solve_triangular(a.data() + k * n * n, want.data() + k * n * m, n, m, lower, transposed, unit);
        CHECK(difference(x, want) < 1e-10);
      }
}

TEST_CASE("lu exchanges the rows that the CPU exchanges, and its solutions are the CPU's") {
  for (auto [n, count] : {sizes[0], sizes[1]}) {
    const matrix a = numbers(count * n * n, 7), b = numbers(count * n * 3, 2);
    matrix factors(std::size_t(count * (n + 1) * n), 0.0), want = factors;
    ct::gpu::lu(queue(), a.data(), factors.data(), n, count);
    for (extent k = 0; k < count; ++k) {
      double* const own = want.data() + k * (n + 1) * n;
      std::copy_n(a.data() + k * n * n, n * n, own);
      ct::small_matrix::lu(own, own + n * n, n);
    }
    CHECK(difference(factors, want) < 1e-10);
    for (bool transposed : {false, true}) {
      matrix x(b.size()), solution = b;
      ct::gpu::lu_solve(queue(), factors.data(), b.data(), x.data(), n, 3, count, transposed);
      for (extent k = 0; k < count; ++k) ct::small_matrix::solve_lu(want.data() + k * (n + 1) * n, solution.data() + k * n * 3, n, 3, transposed);
      CHECK(difference(x, solution) < 1e-8);
    }
  }
}

TEST_CASE("decompositions are the CPU's, and NaN for what is not a number") {
  for (auto [n, count] : {sizes[0], sizes[1]})
    for (bool bad : {false, true}) {
      const extent m = n + 3;
      matrix a = numbers(count * m * n, 11), symmetric = definite(n, count);
      for (extent b = 0; b < count; ++b) symmetric[std::size_t((b * n + 1) * n + n - 1)] = 1e9;  // above the diagonal: not read
      if (bad) a[7] = symmetric[std::size_t(3 * n)] = std::nan("");
      matrix parts(std::size_t(2 * count * m * n)), want(parts);
      if (!bad) {
        ct::gpu::qr(queue(), a.data(), parts.data(), m, n, count);
        for (extent b = 0; b < count; ++b) ct::small_matrix::qr<double>(a.data() + b * m * n, want.data() + 2 * b * m * n, want.data() + (2 * b + 1) * m * n, m, n);
        CHECK(difference(parts, want) < 1e-10);
      }
      parts.assign(std::size_t(3 * count * m * n), 1), want.assign(parts.size(), 0);
      ct::gpu::svd(queue(), a.data(), parts.data(), m, n, count);
      for (extent b = 0; b < count; ++b) {
        double* const u = want.data() + 3 * b * m * n;
        ct::small_matrix::svd<double>(a.data() + b * m * n, u, u + m * n, u + 2 * m * n, m, n);
      }
      CHECK(difference(parts, want) < 1e-10);
      parts.assign(std::size_t(count * (n + 1) * n), 1), want.assign(parts.size(), 0);
      matrix room(std::size_t(n * n));
      batches = 0;
      ct::gpu::eigh(queue(), symmetric.data(), parts.data(), n, count);
      for (extent b = 0; b < count; ++b) {
        double* const w = want.data() + b * (n + 1) * n;
        ct::small_matrix::eigh<double>(symmetric.data() + b * n * n, w, w + n, n, room.data());
      }
      CHECK(difference(parts, want) < 1e-10);
      CHECK(std::isnan(parts[0]) == bad);
      CHECK(batches == (count > 1));
    }
}

TEST_CASE("transforms along any axis are the CPU's, and leave what they read as it is") {
  for (const ct::fourier what : {ct::fourier::forward, ct::fourier::inverse, ct::fourier::real, ct::fourier::inverse_real})
    for (const extent n : {1, 6, 7})
      for (const auto& [before, behind] : {std::pair<extent, extent>(1, 1), {3, 1}, {1, 4}, {2, 5}}) {
        const bool of_reals = what == ct::fourier::real, to_reals = what == ct::fourier::inverse_real;
        const ct::shape of_x = to_reals ? ct::shape{before, n / 2 + 1, behind, 2} : of_reals ? ct::shape{before, n, behind} : ct::shape{before, n, behind, 2};
        const ct::shape of_y = of_reals ? ct::shape{before, n / 2 + 1, behind, 2} : to_reals ? ct::shape{before, n, behind} : of_x;
        matrix x = numbers(of_x.size(), 3), y(std::size_t(of_y.size())), want(y);
        const matrix given = x;
        const ct::axis_lines lines({before, n, behind}, 1);
        ct::gpu::transform(queue(), 0, cudaStream_t(), what, lines, x.data(), y.data());
        const ct::array_ref operand{x.data(), ct::dtype::float64, of_x}, result{want.data(), ct::dtype::float64, of_y};
        const extent attributes[] = {1, extent(what), n};
        ct::host::opaque<ct::fft_lines_p>::run<double>(&operand, result, attributes);
        INFO(int(what) << ", " << before << " x " << n << " x " << behind);
        CHECK(difference(y, want) < 1e-12);
        CHECK(x == given);
      }
}
