/// Complex numbers, and Fourier transforms beside FFTW's where it is installed (on Debian: libfftw3-dev), by plans that it measured.

#include <complex>
#include <vector>

#ifdef BENCH_FFTW
#include <fftw3.h>
#endif

#include "arrays.hpp"

namespace arrays {
namespace {

using c64 = std::complex<float>;
constexpr int count = 1 << 20;
using numbers = ct::array<c64, count>;
using matrix = ct::array<c64, 1024, 1024>;

template <int PerMille> constexpr auto complex_between = [](bench::source& s, auto&... a) {
  const auto fill = [&](auto& x) {
    ct::array<float, 2 * count> parts;
    s.uniform(-0.001 * PerMille, 0.001 * PerMille, parts);
    for (ct::extent i = 0; i < x.size(); ++i) x.data()[i] = {parts(2 * i % (2 * count)), parts((2 * i + 1) % (2 * count))};
  };
  (fill(a), ...);
};

constexpr auto complex_numbers = complex_between<1000>;
constexpr auto small_numbers = complex_between<1>;
/// Numbers whose roots Newton's method finds fast.
constexpr auto right_half = [](bench::source& s, auto& a) {
  complex_numbers(s, a);
  for (c64& z : a) z += 1.5f;
};

typedef float floats __attribute__((vector_size(64)));

/// Square roots by Newton's method.
constexpr auto roots = [](auto c) {
  return ct::vmap([](auto c) { return ct::fori_loop<0, 20>([c](auto, auto z) { return 0.5f * (z + c / z); }, c); })(c);
};

#ifdef BENCH_FFTW
/// A plan of transforms along an axis of [before, n, behind], for memory that is there when it is made.
class plan {
 public:
  plan(int before, int n, int behind, int sign) : before_(before), n_(n), behind_(behind), sign_(sign) {}
  void operator()(c64* y, const c64* x) const {
    if (!plan_) make(x, y);
    fftwf_execute_dft(plan_, numbers_of(x), numbers_of(y));
  }

 private:
  int before_, n_, behind_, sign_;
  mutable fftwf_plan plan_ = nullptr;
  static fftwf_complex* numbers_of(const c64* x) { return reinterpret_cast<fftwf_complex*>(const_cast<c64*>(x)); }
  void make(const c64* x, c64* y) const {
    const std::vector<c64> kept(x, x + before_ * n_ * behind_);  // measuring writes to it
    const fftwf_iodim along{n_, behind_, behind_}, lines[] = {{before_, n_ * behind_, n_ * behind_}, {behind_, 1, 1}};
    plan_ = fftwf_plan_guru_dft(1, &along, 2, lines, numbers_of(x), numbers_of(y), sign_, FFTW_MEASURE);
    std::copy(kept.begin(), kept.end(), const_cast<c64*>(x));
  }
};
class real_plan {
 public:
  void operator()(c64* y, const float* x, int n) const {
    if (!plan_) {
      const std::vector<float> kept(x, x + n);
      plan_ = fftwf_plan_dft_r2c_1d(n, const_cast<float*>(x), reinterpret_cast<fftwf_complex*>(y), FFTW_MEASURE);
      std::copy(kept.begin(), kept.end(), const_cast<float*>(x));
    }
    fftwf_execute_dft_r2c(plan_, const_cast<float*>(x), reinterpret_cast<fftwf_complex*>(y));
  }

 private:
  mutable fftwf_plan plan_ = nullptr;
};
#endif

}  // namespace

void add_transforms() {
  row<numbers, numbers>("z^2 w + 1 of 1 M complex64", [](auto z, auto w) { return z * z * w + 1; }, [](c64* y, const numbers& z, const numbers& w) {
    const float *a = reinterpret_cast<const float*>(z.data()), *b = reinterpret_cast<const float*>(w.data());
    float* const to = reinterpret_cast<float*>(y);
    for (int i = 0; i < count; ++i) {
      const float re = a[2 * i] * a[2 * i] - a[2 * i + 1] * a[2 * i + 1], im = 2 * a[2 * i] * a[2 * i + 1];
      to[2 * i] = re * b[2 * i] - im * b[2 * i + 1] + 1, to[2 * i + 1] = re * b[2 * i + 1] + im * b[2 * i];
    }
  }, complex_numbers);
  row<numbers>("20 turns of Newton's method for roots of 1 M complex64", roots, [](c64* y, const numbers& c) {
    for (int i = 0; i < count; i += 32) {
      floats re[2], im[2], x[2], z[2];
      for (int v = 0; v < 2; ++v)
        for (int l = 0; l < 16; ++l) x[v][l] = re[v][l] = c(i + 16 * v + l).real(), z[v][l] = im[v][l] = c(i + 16 * v + l).imag();
      for (int turn = 0; turn < 20; ++turn)
        for (int v = 0; v < 2; ++v) {
          const floats scale = 1.0f / (x[v] * x[v] + z[v] * z[v]);
          const floats a = (re[v] * x[v] + im[v] * z[v]) * scale, b = (im[v] * x[v] - re[v] * z[v]) * scale;
          x[v] = 0.5f * (x[v] + a), z[v] = 0.5f * (z[v] + b);
        }
      for (int v = 0; v < 2; ++v)
        for (int l = 0; l < 16; ++l) y[i + 16 * v + l] = {x[v][l], z[v][l]};
    }
  }, right_half);
#ifdef BENCH_FFTW
  constexpr auto rows = [](auto x) { return ct::fft::fft(x); };
  row<matrix>("Fourier transforms of the rows of [1024, 1024], beside FFTW's", rows, [p = plan(1024, 1024, 1, FFTW_FORWARD)](c64* y, const matrix& x) { p(y, x.data()); }, small_numbers);
  row<ct::array<c64, 10000, 64>>("Fourier transforms of the rows of [10000, 64], beside FFTW's", rows, [p = plan(10000, 64, 1, FFTW_FORWARD)](c64* y, const ct::array<c64, 10000, 64>& x) { p(y, x.data()); },
                                 small_numbers);
  row<matrix>("Fourier transforms of the columns of [1024, 1024], beside FFTW's", [](auto x) { return ct::fft::fft(x, ct::axis<0>); },
              [p = plan(1, 1024, 1024, FFTW_FORWARD)](c64* y, const matrix& x) { p(y, x.data()); }, small_numbers);
  row<numbers>("a Fourier transform of 1 M, beside FFTW's", rows, [p = plan(1, count, 1, FFTW_FORWARD)](c64* y, const numbers& x) { p(y, x.data()); }, small_numbers);
  row<ct::array<c64, 4096>>("a Fourier transform of 4096, beside FFTW's", rows, [p = plan(1, 4096, 1, FFTW_FORWARD)](c64* y, const ct::array<c64, 4096>& x) { p(y, x.data()); }, small_numbers);
  row<ct::array<float, count>>("a Fourier transform of 1 M real numbers, beside FFTW's", [](auto x) { return ct::fft::rfft(x); },
                               [p = real_plan()](c64* y, const ct::array<float, count>& x) { p(y, x.data(), count); }, [](bench::source& s, auto& a) { s.uniform(-0.001, 0.001, a); });
#endif
}

}  // namespace arrays
