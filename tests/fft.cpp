/// Fourier transforms: all lengths and places of the axis against the definition, derivatives, and jnp.fft's conventions.

#include <complex>
#include <numbers>
#include <vector>

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;
using namespace std::complex_literals;

namespace {

using c64 = std::complex<float>;
using c128 = std::complex<double>;

template <class T> using dynamic = ct::array<std::complex<T>, ct::dyn, ct::dyn, ct::dyn>;

template <class T> dynamic<T> numbers_of(ct::extent before, ct::extent n, ct::extent behind) {
  dynamic<T> x({before, n, behind});
  numbers random;
  for (std::complex<T>& z : x) z = {T(random()), T(random())};
  return x;
}
/// The n-th roots of 1.
std::vector<std::complex<long double>> roots_of_unity(ct::extent n) {
  std::vector<std::complex<long double>> r;
  for (ct::extent k = 0; k < n; ++k) r.push_back(std::polar(1.0L, 2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n)));
  return r;
}
/// Number k of a line by the definition.
template <class X> std::complex<long double> by_definition(const X& x, ct::extent i, ct::extent k, ct::extent j, const std::vector<std::complex<long double>>& roots, bool inverse) {
  const ct::extent n = x.extent(1);
  std::complex<long double> sum = 0;
  for (ct::extent m = 0; m < n; ++m) {
    const auto root = roots[std::size_t(m * k % n)];
    sum += std::complex<long double>(x(i, m, j)) * (inverse ? root : std::conj(root));
  }
  return sum;
}
constexpr auto forward = [](auto x) { return ct::fft::fft(x, ct::axis<1>); };
constexpr auto inverse = [](auto x) { return ct::fft::ifft(x, ct::axis<1>, ct::fft::forward); };
constexpr auto of_reals = [](auto x) { return ct::fft::rfft(ct::real(x), ct::axis<1>); };
constexpr auto there_and_back = [](auto x) { return ct::fft::irfft(ct::fft::rfft(x, ct::axis<1>), ct::axis<1>); };

/// Transforms of the shape, their root mean square errors relative to what is right.
template <class T> void check_lines(ct::extent before, ct::extent n, ct::extent behind) {
  const auto x = numbers_of<T>(before, n, behind);
  const auto y = ct::jit(forward)(x), back = ct::jit(inverse)(x), half = ct::jit(of_reals)(x);
  dynamic<T> real_x = x;
  for (auto& z : real_x) z = z.real();
  REQUIRE(half.shape() == ct::shape{before, n / 2 + 1, behind});
  long double errors[3] = {}, all[3] = {};
  const auto roots = roots_of_unity(n);
  const auto compare = [&](int which, std::complex<long double> got, std::complex<long double> want) { errors[which] += std::norm(got - want), all[which] += std::norm(want); };
  for (ct::extent line = 0; line < before * behind; line += 1 + before * behind / 7)
    for (ct::extent k = 0; k < n; k += 1 + n / 60) {
      const ct::extent i = line / behind, j = line % behind;
      compare(0, std::complex<long double>(y(i, k, j)), by_definition(x, i, k, j, roots, false));
      compare(1, std::complex<long double>(back(i, k, j)), by_definition(x, i, k, j, roots, true));
      if (k <= n / 2) compare(2, std::complex<long double>(half(i, k, j)), by_definition(real_x, i, k, j, roots, false));
    }
  INFO(before << " x " << n << " x " << behind);
  for (int which = 0; which < 3; ++which) CHECK(std::sqrt(errors[which] / (all[which] + 1e-300L)) <= 2 * std::numeric_limits<T>::epsilon() * (1 + std::log2(double(n))));
  if (n % 2 != 0) return;
  ct::array<T, ct::dyn, ct::dyn, ct::dyn> r({before, n, behind});
  for (ct::extent i = 0; i < r.size(); ++i) r.data()[i] = x.data()[i].real();
  CHECK(difference(tensors_of(ct::jit(there_and_back)(r)), tensors_of(r), 20 * std::numeric_limits<T>::epsilon()) == "");
}

// Of parts, so that finite differences are taken of real arrays.
constexpr auto complex_transforms = [](auto x, auto y) {
  const auto z = ct::complex(x, y);  // [4, 6]
  const auto both = std::tuple(ct::fft::fft(z), ct::fft::ifft(z, ct::axis<0>), ct::fft::fft(z, ct::length<4>, ct::fft::ortho), ct::fft::fft(z, ct::length<9>), ct::fft::ifft2(z), ct::fft::fftn(z, ct::fft::forward), ct::fft::fftshift(z));
  return std::apply([](auto... v) { return std::tuple((ct::real(v) - 2 * ct::imag(v))...); }, both);
};
constexpr auto real_transforms = [](auto x, auto y) {
  const auto z = ct::complex(x, y);
  const auto halves = std::tuple(ct::fft::rfft(x), ct::fft::rfft(x, ct::axis<0>), ct::fft::rfft(x, ct::length<5>, ct::fft::ortho), ct::fft::rfft2(y), ct::fft::rfftn(y, ct::axis<1, 0>));
  const auto wholes = std::tuple(ct::fft::irfft(z), ct::fft::irfft(z, ct::axis<0>), ct::fft::irfft(z, ct::length<7>), ct::fft::irfft(z, ct::length<16>, ct::fft::ortho), ct::fft::irfft2(z), ct::fft::irfftn(z, ct::fft::forward));
  return std::tuple_cat(std::apply([](auto... v) { return std::tuple((ct::real(v) - 2 * ct::imag(v))...); }, halves), wholes);
};
/// A spectral derivative, a convolution, and what may be fused with them.
constexpr auto filtered = [](auto x, auto y) {
  const auto k = ct::fft::rfftfreq<6>(1.0 / 6);
  const auto slope = ct::fft::irfft(ct::fft::rfft(ct::sin(x)) * (1if * k));
  const auto blurred = ct::vmap([](auto a, auto b) { return ct::fft::irfft(ct::fft::rfft(a) * ct::fft::rfft(b)); })(x, y);
  return std::tuple(ct::exp(slope), ct::sum(blurred * blurred, ct::axis<1>), ct::fft::fftshift(ct::abs(ct::fft::fft2(x))));
};

}  // namespace

TEMPLATE_TEST_CASE("transforms of all kinds of lengths and lines", "", float, double) {
  using T = TestType;
  for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 15, 16, 17, 22, 34, 64, 97, 100, 128, 210, 512})
    for (const auto& [before, behind] : {std::pair(1, 1), {3, 1}, {17, 1}, {2, 3}, {20, 2}, {1, 37}, {3, 16}}) check_lines<T>(before, n, behind);
  for (const int n : {1000, 1009, 1024, 1155, 2018, 4096, 20000}) check_lines<T>(1, n, 1), check_lines<T>(9, n, 1), check_lines<T>(1, n, 5);
  check_lines<T>(1, 1 << 17, 1);
  CHECK(ct::jit(forward)(dynamic<T>({0, 4, 3})).shape() == ct::shape{0, 4, 3});
  CHECK_THROWS_AS(ct::jit(of_reals)(dynamic<T>({2, 0, 3})), ct::shape_error);
}

TEST_CASE("derivatives and batches of transforms") {
  const auto x = between<double, 4, 6>(-1, 1, 1), y = between<double, 4, 6>(-1, 1, 2);
  check_rules_of(complex_transforms, std::tuple(x, y));
  check_rules_of(real_transforms, std::tuple(x, y));
  check_jit(complex_transforms, 1e-13, x, y);
  check_jit(real_transforms, 1e-13, x, y);
  check_derivatives(filtered, std::tuple(x, y));
}

TEST_CASE("transforms have jnp.fft's types and conventions") {
  static_assert(std::is_same_v<decltype(ct::jit([](auto x) { return ct::fft::fft(x); })(std::declval<ct::array<float, 3, 4>>())), ct::array<c64, 3, 4>>);
  static_assert(std::is_same_v<decltype(ct::jit([](auto x) { return ct::fft::rfft(x, ct::axis<0>); })(std::declval<ct::array<double, 6, 4>>())), ct::array<c128, 4, 4>>);
  static_assert(std::is_same_v<decltype(ct::jit([](auto x) { return ct::fft::irfft(x); })(std::declval<ct::array<c64, 3, 5>>())), ct::array<float, 3, 8>>);
  static_assert(std::is_same_v<decltype(ct::jit([](auto x) { return ct::fft::rfft(x); })(std::declval<ct::array<ct::half, 6>>())), ct::array<c64, 4>>);
  static_assert(std::is_same_v<decltype(ct::jit([](auto x) { return ct::fft::fft(x); })(std::declval<ct::array<std::int32_t, 6>>())), ct::array<c64, 6>>);
  CHECK(ct::array<c64, 4>(ct::fft::fft(ct::array<float, 4>{1, 0, 0, 0})) == ct::array<c64, 4>{c64(1), c64(1), c64(1), c64(1)});
  CHECK(ct::fft::fftfreq<5>(0.1) == ct::array<float, 5>{0, 2, 4, -4, -2});
  CHECK(ct::fft::fftfreq<4, double>() == ct::array<double, 4>{0, 0.25, -0.5, -0.25});
  CHECK(ct::fft::rfftfreq<6>(0.5) == ct::array<float, 4>{0, float(1.0 / 3), float(2.0 / 3), 1});
  CHECK(ct::jit([](auto x) { return x * ct::fft::fftfreq<1000>(0.001); })(ct::ones<float, 1000>()) == ct::fft::fftfreq<1000>(0.001));
  CHECK(ct::array<int, 5>(ct::fft::fftshift(ct::arange<int, 5>())) == ct::array<int, 5>{3, 4, 0, 1, 2});
  CHECK(ct::array<int, 5>(ct::fft::ifftshift(ct::fft::fftshift(ct::arange<int, 5>()))) == ct::arange<int, 5>());
  CHECK_THROWS_AS(ct::jit([](auto x, auto y) { return ct::fft::rfft(x) + y; })(ct::array<float, ct::dyn>({6}), ct::array<float, ct::dyn>({5})), ct::shape_error);
}

TEST_CASE("transforms on devices") {
  const auto x = between<float, 4, 6>(-1, 1, 1), y = between<float, 4, 6>(-1, 1, 2);
  check_devices(complex_transforms, 2e-6, x, y);
  check_devices(real_transforms, 2e-6, x, y);
  check_devices([](auto x) { return ct::fft::irfft(ct::fft::rfft(x, ct::axis<1>), ct::axis<1>); }, 2e-6, between<float, 5, 60, 3>(-1, 1, 3));
}
