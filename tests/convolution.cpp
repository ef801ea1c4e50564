/// Convolutions: layouts, strides, dilations, padding, groups and numbers of axes against the definition, their derivatives, and JAX's conventions.

#include <complex>

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

/// Convolutions with these tags, and with the others that their derivatives are.
template <auto... Tags> struct convolve {
  constexpr auto operator()(auto x, auto kernel) const { return ct::conv(x, kernel, Tags...); }
};
template <auto... Tags> struct convolve_back {
  constexpr auto operator()(auto x, auto kernel) const { return ct::conv_transpose(x, kernel, Tags...); }
};
/// Value and derivatives in one program, beside the interpreter.
template <class F> struct with_derivatives {
  constexpr auto operator()(auto x, auto kernel) const {
    return ct::value_and_grad([](auto x, auto kernel) { return ct::sum(ct::sin(F{}(x, kernel))); }, ct::wrt<0, 1>)(x, kernel);
  }
};
template <class F, class X, class K> void check(const X& x, const K& kernel) {
  using T = typename X::value_type;
  check_jit(F{}, std::is_same_v<T, float> ? 1e-4 : 1e-11, x, kernel);
  check_jit(with_derivatives<F>{}, std::is_same_v<T, float> ? 1e-3 : 1e-10, x, kernel);
}
template <class T, ct::extent... E> ct::array<T, E...> some(std::uint64_t seed = 0) { return between<T, E...>(-1, 1, seed); }

constexpr auto all_sides = ct::padding<ct::low<1, 2>, ct::high<2, 0>>;

}  // namespace

TEST_CASE("derivatives and batches of convolutions") {
  check_derivatives(convolve<>{}, std::tuple(some<double, 2, 5, 2>(), some<double, 3, 2, 3>(1)));
  check_derivatives(convolve<ct::strides<2, 1>, all_sides, ct::rhs_dilation<1, 2>>{}, std::tuple(some<double, 2, 5, 6, 2>(), some<double, 2, 3, 2, 3>(1)));
  check_rules_of(convolve<ct::lhs_dilation<2, 3>, ct::padding<ct::low<-1, 2>, ct::high<2, -2>>>{}, std::tuple(some<double, 2, 4, 3, 2>(), some<double, 2, 3, 2, 3>(1)));
  check_rules_of(convolve<ct::strides<3, 2>, ct::lhs_dilation<2, 4>, ct::rhs_dilation<2, 3>, ct::padding<ct::low<3, 4>, ct::high<2, 4>>>{}, std::tuple(some<double, 1, 4, 4, 1>(), some<double, 3, 2, 1, 2>(1)));
  check_rules_of(convolve<ct::feature_groups<2>, ct::same>{}, std::tuple(some<double, 2, 4, 4>(), some<double, 3, 2, 6>(1)));
  check_derivatives(convolve<ct::feature_groups<3>, ct::strides<2>, ct::same>{}, std::tuple(some<double, 2, 5, 3>(), some<double, 3, 1, 3>(1)));
  check_rules_of(convolve<>{}, std::tuple(some<double, 1, 3, 3, 4, 2>(), some<double, 2, 1, 3, 2, 2>(1)));
  check_rules_of(convolve_back<ct::strides<2, 3>, ct::same>{}, std::tuple(some<double, 2, 3, 2, 2>(), some<double, 3, 2, 2, 3>(1)));
}

TEST_CASE("convolutions of a batch with one kernel, of one array with several, and of each with its own") {
  const auto x = some<double, 4, 2, 7, 4>();
  const auto kernel = some<double, 4, 3, 2, 6>(1);
  constexpr auto f = convolve<ct::feature_groups<2>, ct::strides<2>>{};
  check_jit(ct::vmap(f, ct::in_axes<0, ct::none>), 1e-12, x, some<double, 3, 2, 6>(1));
  check_jit(ct::vmap(f, ct::in_axes<ct::none, 0>), 1e-12, some<double, 2, 7, 4>(), kernel);
  const auto y = ct::jit(ct::vmap(f))(x, kernel);
  for (int b = 0; b < 4; ++b) {
    const auto one = ct::jit([](auto x, auto kernel, auto i) { return convolve<ct::feature_groups<2>, ct::strides<2>>{}(x(i), kernel(i)); })(x, kernel, ct::array<int>(b));
    for (ct::extent i = 0; i < one.size(); ++i) CHECK(std::abs(y.data()[b * one.size() + i] - one.data()[i]) <= 1e-13);
  }
}

TEST_CASE("compiled convolutions: sizes around vectors and blocks, float and double") {
  check<convolve<ct::same>>(some<float, 3, 17, 19, 5>(), some<float, 3, 3, 5, 7>(1));                  // elements by terms
  check<convolve<ct::same>>(some<float, 2, 33, 40, 16>(), some<float, 3, 3, 16, 24>(1));               // by pixels, several blocks
  check<convolve<ct::strides<2, 2>, ct::same>>(some<double, 2, 13, 14, 9>(), some<double, 3, 3, 9, 4>(1));  // phases on the way back
  check<convolve<ct::strides<3, 2>, all_sides>>(some<double, 2, 13, 14, 3>(), some<double, 2, 5, 3, 4>(1));
  check<convolve<ct::rhs_dilation<2, 3>, ct::same>>(some<double, 1, 12, 13, 8>(), some<double, 3, 3, 8, 5>(1));
  check<convolve<>>(some<double, 1, 4, 5, 200>(), some<double, 3, 3, 200, 3>(1));                      // more terms than a block has
  check<convolve<>>(some<double, 1, 3, 3, 600>(), some<double, 2, 2, 600, 2>(1));                      // one tap has
  check<convolve<>>(some<double, 2, 1, 1, 3>(), some<double, 1, 1, 3, 1>(1));
  check<convolve<ct::feature_groups<2>, ct::same>>(some<double, 2, 9, 20>(), some<double, 3, 10, 6>(1));
  check<convolve<ct::strides<2, 1, 2>>>(some<double, 2, 5, 6, 7, 2>(), some<double, 2, 3, 3, 2, 4>(1));
  check<convolve<ct::strides<3, 1>, ct::lhs_dilation<3, 1>, ct::padding<ct::low<1, 3>, ct::high<2, 3>>>>(some<double, 2, 7, 5, 2>(), some<double, 4, 2, 2, 3>(1));  // one phase, of a third of the kernel
  check<convolve_back<ct::strides<2, 2>, ct::same>>(some<double, 2, 6, 7, 9>(), some<double, 3, 3, 9, 4>(1));
  check<convolve_back<ct::strides<3, 2>>>(some<double, 2, 6, 7, 3>(), some<double, 2, 4, 3, 4>(1));    // larger strides than the kernel leave zeros
}

TEST_CASE("channels that are alone in their groups") {
  check<convolve<ct::same>>(some<float, 1, 40, 67, 1>(), some<float, 5, 7, 1, 1>(1));                  // filters of images
  check<convolve<>>(some<double, 2, 500, 1>(), some<double, 33, 1, 1>(1));
  check<convolve<ct::strides<2, 2>, ct::same>>(some<double, 2, 21, 23, 1>(), some<double, 3, 3, 1, 1>(1));
  check<convolve<ct::feature_groups<19>, ct::same>>(some<float, 2, 12, 13, 19>(), some<float, 3, 3, 1, 19>(1));
  check<convolve<ct::feature_groups<8>, ct::strides<2, 2>, ct::same>>(some<double, 2, 12, 13, 8>(), some<double, 3, 3, 1, 8>(1));
  check<convolve<ct::feature_groups<3>, ct::lhs_dilation<2>, ct::padding<ct::low<1>, ct::high<1>>>>(some<double, 2, 12, 3>(), some<double, 4, 1, 3>(1));
  check<convolve<ct::feature_groups<4>>>(some<double, 2, 12, 4>(), some<double, 4, 1, 8>(1));          // two features of each
}

TEST_CASE("run-time extents, other types and empty arrays") {
  const auto x = some<double, 3, 8, 9, 2>();
  const auto kernel = some<double, 3, 3, 2, 5>(1);
  const ct::array<double, ct::dyn, ct::dyn, ct::dyn, 2> dynamic_x(x);
  const ct::array<double, 3, 3, ct::dyn, ct::dyn> dynamic_kernel(kernel);
  constexpr auto f = with_derivatives<convolve<ct::strides<2, 1>, ct::padding<ct::low<1, 1>, ct::high<1, 1>>>>{};
  check_close(tensors_of(ct::jit(f)(dynamic_x, kernel)), tensors_of(ct::jit(f)(x, kernel)), 1e-12);
  check_close(tensors_of(ct::jit(convolve<ct::same>{})(dynamic_x, dynamic_kernel)), tensors_of(ct::jit(convolve<ct::same>{})(x, kernel)), 1e-12);
  const ct::array<double, ct::dyn, ct::dyn, ct::dyn, 2> small({1, 2, 9, 2});
  CHECK_THROWS_AS(ct::jit(convolve<>{})(small, kernel), ct::shape_error);
  const ct::array<double, ct::dyn, ct::dyn, ct::dyn, 2> none({0, 8, 9, 2});
  const auto gradient = ct::jit(f)(none, kernel);
  for (double v : std::get<1>(std::get<1>(gradient))) CHECK(v == 0);

  const ct::array<std::int32_t, 1, 5, 1> steps{{{1}, {2}, {3}, {4}, {5}}};
  const ct::array<std::int32_t, 3, 1, 1> weights{{{1}}, {{0}}, {{-1}}};
  const auto differences = ct::jit(convolve<>{})(steps, weights);
  for (std::int32_t v : differences) CHECK(v == -2);
  using c64 = std::complex<float>;
  ct::array<c64, 1, 6, 2> z;
  ct::array<c64, 2, 2, 1> w;
  for (int i = 0; i < 12; ++i) z.data()[i] = {float(i), float(i % 5) - 2};
  for (int i = 0; i < 4; ++i) w.data()[i] = {float(i - 2), 1};
  const auto of_complex = ct::jit(convolve<>{})(z, w);
  for (int o = 0; o < 5; ++o) {
    c64 sum = 0;
    for (int k = 0; k < 2; ++k)
      for (int c = 0; c < 2; ++c) sum += z(0, o + k, c) * w(k, c, 0);
    CHECK(of_complex(0, o, 0) == sum);
  }
  const auto halves = ct::jit([](auto x, auto kernel) { return ct::conv(ct::astype<ct::bfloat16>(x), ct::astype<ct::bfloat16>(kernel)); })(steps, weights);
  static_assert(std::is_same_v<decltype(halves), const ct::array<ct::bfloat16, 1, 3, 1>>);
  for (ct::bfloat16 v : halves) CHECK(float(v) == -2);
}

TEST_CASE("layouts in letters") {
  const auto x = some<double, 2, 3, 6, 7>();         // NCHW
  const auto kernel = some<double, 4, 3, 3, 2>(1);   // OIHW
  const auto y = ct::jit([](auto x, auto kernel) { return ct::conv<"NCHW,OIHW->NCHW">(x, kernel, ct::strides<2, 1>); })(x, kernel);
  static_assert(std::is_same_v<decltype(y), const ct::array<double, 2, 4, 2, 6>>);
  const auto last = ct::jit([](auto x, auto kernel) { return ct::conv(ct::transpose<0, 2, 3, 1>(x), ct::transpose<2, 3, 1, 0>(kernel), ct::strides<2, 1>); })(x, kernel);
  for (int n = 0; n < 2; ++n)
    for (int f = 0; f < 4; ++f)
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 6; ++j) CHECK(y(n, f, i, j) == last(n, i, j, f));
  // Spatial axes by their letters: ct::strides are in the order of x.
  const auto turned = ct::jit([](auto x, auto kernel) { return ct::conv<"NCHW,WHIO->CWNH">(x, ct::transpose<3, 2, 1, 0>(kernel), ct::strides<2, 1>); })(x, kernel);
  static_assert(std::is_same_v<decltype(turned), const ct::array<double, 4, 6, 2, 2>>);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 6; ++j) CHECK(turned(3, j, 1, i) == y(1, 3, i, j));
}

/// Padding as jax.lax.conv_general_dilated and jax.lax.conv_transpose have it (JAX 0.10.2).
TEST_CASE("same and valid, and what transposed convolutions make of them") {
  const ct::array<float, 1, 5, 1> x{{{1}, {10}, {100}, {1000}, {10000}}};
  const auto with = [&](auto f, const auto& kernel) {
    const auto y = ct::jit(f)(x, kernel);
    return std::vector<float>(y.begin(), y.end());
  };
  const ct::array<float, 2, 1, 1> two{{{1}}, {{2}}};
  const ct::array<float, 3, 1, 1> three{{{1}}, {{2}}, {{3}}};
  const ct::array<float, 4, 1, 1> four{{{1}}, {{2}}, {{3}}, {{4}}};
  CHECK(with(convolve<ct::strides<1>, ct::same>{}, two) == std::vector<float>{21, 210, 2100, 21000, 10000});
  CHECK(with(convolve<ct::strides<1>, ct::valid>{}, two) == std::vector<float>{21, 210, 2100, 21000});
  CHECK(with(convolve<ct::strides<2>, ct::same>{}, two) == std::vector<float>{21, 2100, 10000});
  CHECK(with(convolve<ct::strides<2>, ct::valid>{}, two) == std::vector<float>{21, 2100});
  CHECK(with(convolve<ct::strides<3>, ct::same>{}, two) == std::vector<float>{21, 21000});
  CHECK(with(convolve<ct::strides<3>, ct::valid>{}, two) == std::vector<float>{21, 21000});
  CHECK(with(convolve<ct::strides<1>, ct::same>{}, three) == std::vector<float>{32, 321, 3210, 32100, 21000});
  CHECK(with(convolve<ct::strides<1>, ct::valid>{}, three) == std::vector<float>{321, 3210, 32100});
  CHECK(with(convolve<ct::strides<2>, ct::same>{}, three) == std::vector<float>{32, 3210, 21000});
  CHECK(with(convolve<ct::strides<2>, ct::valid>{}, three) == std::vector<float>{321, 32100});
  CHECK(with(convolve<ct::strides<2>, ct::same>{}, four) == std::vector<float>{432, 43210, 21000});
  CHECK(with(convolve<ct::strides<2>, ct::valid>{}, four) == std::vector<float>{4321});
  CHECK(with(convolve<ct::strides<3>, ct::same>{}, four) == std::vector<float>{432, 32100});
  CHECK(with(convolve<ct::strides<3>, ct::valid>{}, four) == std::vector<float>{4321});
  CHECK(with(convolve_back<ct::strides<1>, ct::same>{}, two) == std::vector<float>{2, 21, 210, 2100, 21000});
  CHECK(with(convolve_back<ct::strides<1>, ct::valid>{}, two) == std::vector<float>{2, 21, 210, 2100, 21000, 10000});
  CHECK(with(convolve_back<ct::strides<2>, ct::same>{}, two) == std::vector<float>{2, 1, 20, 10, 200, 100, 2000, 1000, 20000, 10000});
  CHECK(with(convolve_back<ct::strides<2>, ct::valid>{}, two) == std::vector<float>{2, 1, 20, 10, 200, 100, 2000, 1000, 20000, 10000});
  CHECK(with(convolve_back<ct::strides<3>, ct::same>{}, two) == std::vector<float>{2, 1, 0, 20, 10, 0, 200, 100, 0, 2000, 1000, 0, 20000, 10000, 0});
  CHECK(with(convolve_back<ct::strides<3>, ct::valid>{}, two) == std::vector<float>{2, 1, 0, 20, 10, 0, 200, 100, 0, 2000, 1000, 0, 20000, 10000, 0});
  CHECK(with(convolve_back<ct::strides<1>, ct::same>{}, three) == std::vector<float>{32, 321, 3210, 32100, 21000});
  CHECK(with(convolve_back<ct::strides<1>, ct::valid>{}, three) == std::vector<float>{3, 32, 321, 3210, 32100, 21000, 10000});
  CHECK(with(convolve_back<ct::strides<2>, ct::same>{}, three) == std::vector<float>{3, 2, 31, 20, 310, 200, 3100, 2000, 31000, 20000});
  CHECK(with(convolve_back<ct::strides<2>, ct::valid>{}, three) == std::vector<float>{3, 2, 31, 20, 310, 200, 3100, 2000, 31000, 20000, 10000});
  CHECK(with(convolve_back<ct::strides<3>, ct::same>{}, three) == std::vector<float>{3, 2, 1, 30, 20, 10, 300, 200, 100, 3000, 2000, 1000, 30000, 20000, 10000});
  CHECK(with(convolve_back<ct::strides<3>, ct::valid>{}, three) == std::vector<float>{3, 2, 1, 30, 20, 10, 300, 200, 100, 3000, 2000, 1000, 30000, 20000, 10000});
  CHECK(with(convolve_back<ct::strides<1>, ct::same>{}, four) == std::vector<float>{43, 432, 4321, 43210, 32100});
  CHECK(with(convolve_back<ct::strides<1>, ct::valid>{}, four) == std::vector<float>{4, 43, 432, 4321, 43210, 32100, 21000, 10000});
  CHECK(with(convolve_back<ct::strides<2>, ct::same>{}, four) == std::vector<float>{3, 42, 31, 420, 310, 4200, 3100, 42000, 31000, 20000});
  CHECK(with(convolve_back<ct::strides<2>, ct::valid>{}, four) == std::vector<float>{4, 3, 42, 31, 420, 310, 4200, 3100, 42000, 31000, 20000, 10000});
  CHECK(with(convolve_back<ct::strides<3>, ct::same>{}, four) == std::vector<float>{4, 3, 2, 41, 30, 20, 410, 300, 200, 4100, 3000, 2000, 41000, 30000, 20000});
  CHECK(with(convolve_back<ct::strides<3>, ct::valid>{}, four) == std::vector<float>{4, 3, 2, 41, 30, 20, 410, 300, 200, 4100, 3000, 2000, 41000, 30000, 20000, 10000});
}
