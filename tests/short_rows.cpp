/// Reductions of rows of few elements, and arrays of short vectors.

#include "check_derivatives.hpp"
#include "guarded_buffer.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
/// Pools and sums along short last axes, of views, of what is computed, and of what has other uses.
constexpr auto of_short_rows = [](auto x) {  // [n, 6, 8, 2, 3], reduced to rows of 8 and more
  const auto e = ct::exp(x);
  const auto shifted = x - ct::max(x, ct::axis<4>, ct::keepdims);
  const auto column = ct::expand_dims<-1>(x(ct::full_extent, ct::full_extent, ct::full_extent, ct::full_extent, ct::index<0>));
  return std::tuple(ct::max(x, ct::axis<3, 4>), ct::sum(ct::sin(x) * x, ct::axis<3, 4>), e / ct::sum(e, ct::axis<3, 4>, ct::keepdims), ct::prod(ct::flip<4>(x), ct::axis<3, 4>),
                    ct::min(ct::slice<ct::full_extent, ct::full_extent, ct::full_extent, ct::full_extent, ct::range<0, 3, 2>>(x), ct::axis<3, 4>), shifted,
                    ct::any(x > 0.9, ct::axis<3, 4>), ct::all(x > -0.9, ct::axis<3, 4>), ct::sum(ct::astype<std::int32_t>(x * 10.0), ct::axis<3, 4>), ct::mean(x * column, ct::axis<4, 3, 1>),
                    ct::sum(ct::where(ct::arange<std::int32_t, 3>() < 2, x, 0.5), ct::axis<3, 4>), ct::max(ct::transpose<0, 1, 4, 2, 3>(x), ct::axis<2, 4>), ct::argmax(x, ct::axis<4>),
                    ct::sum(ct::sum(x * x, ct::axis<4>), ct::axis<3>));
};
constexpr auto slopes_of_short_rows = ct::grad([](auto x) {
  const auto pooled = ct::max(ct::tanh(x), ct::axis<3, 4>);
  return ct::sum(ct::square(pooled)) + ct::sum(ct::prod(x, ct::axis<4>)) + ct::sum(ct::logsumexp(x, ct::axis<4>)) - ct::sum(ct::std_(x, ct::axis<4>));
});
/// Vectors of 3, with numbers per vector and per component.
constexpr auto of_vectors = [](auto x, auto w, auto v) {  // [n, 20, 3] [n, 20] [3]
  const auto each = ct::expand_dims<-1>(w);
  const auto scaled = x * ct::sin(each) + v;
  return std::tuple(x * each, scaled, ct::sum(x * each, ct::axis<1>), ct::sum(x * each), x - ct::mean(x, ct::axis<1>, ct::keepdims), ct::max(x * v, ct::axis<0, 1>), ct::sum(x * v, ct::axis<2>),
                    ct::where(x > each, scaled, 0.0), ct::transpose<2, 0, 1>(scaled), ct::prod(ct::cos(x), ct::axis<1>), ct::min(x - each), ct::argmin(x * v, ct::axis<1>),
                    x / ct::sqrt(ct::sum(x * x, ct::axis<2>, ct::keepdims) + 1.0), ct::sum(ct::roll<1, 1>(x) * v, ct::axis<1>));
};
constexpr auto slopes_of_vectors = ct::grad([](auto x, auto w, auto v) {
  const auto y = std::get<1>(of_vectors(x, w, v));
  return ct::sum(ct::square(y)) + ct::sum(ct::tanh(std::get<12>(of_vectors(x, w, v))));
}, ct::wrt<0, 1, 2>);
/// Colours of images by a small matrix, from both sides, of what is computed as well.
constexpr auto of_colours = [](auto x, auto m, auto v) {  // [h, w, 3] [3, 4] [3]
  return std::tuple(ct::matmul(x, m), ct::matmul(x, v), ct::clip(ct::matmul(ct::sin(x), m) + 0.1, 0.0, 1.0), ct::einsum<"hwc,dc->hwd">(x, ct::transpose(m)), ct::sum(ct::matmul(x * 2.0, v)),
                    ct::matmul(ct::astype<std::int32_t>(x * 10.0), ct::astype<std::int32_t>(m * 10.0)), x - ct::matmul(x, ct::expand_dims<1>(v)));
};
constexpr auto slopes_of_colours = ct::grad([](auto x, auto m, auto v) { return ct::sum(ct::square(ct::matmul(ct::tanh(x), m))) + ct::sum(ct::exp(ct::matmul(x, v))); }, ct::wrt<0, 1, 2>);
/// Planes put side by side: as they are, computed, with numbers per plane, of which views and other uses are made.
constexpr auto of_planes = [](auto x, auto v) {  // [n, 3, h, w] [3]
  const auto pixels = ct::transpose<0, 2, 3, 1>(x);
  const auto computed = ct::transpose<0, 2, 3, 1>(ct::exp(x) * 0.5);
  return std::tuple(pixels, computed, pixels * v, computed / ct::sum(computed, ct::axis<3>, ct::keepdims), ct::flip<3>(computed), ct::sum(pixels * v, ct::axis<3>),
                    ct::transpose<0, 3, 2, 1>(x), ct::transpose<2, 3, 0, 1>(x + 1.0), ct::sum(ct::sin(pixels), ct::axis<0, 1>), ct::matmul(computed, ct::outer(v, v)));
};
constexpr auto slopes_of_planes = ct::grad([](auto x, auto v) {
  const auto pixels = ct::transpose<0, 2, 3, 1>(ct::sin(x));
  return ct::sum(ct::square(pixels * v)) + ct::sum(ct::cumsum(pixels, ct::axis<3>));
}, ct::wrt<0, 1>);
constexpr auto pooled = [](auto x) { return ct::max(ct::reshape<4, 50, 2, 40, 2>(ct::exp(x)), ct::axis<2, 4>); };
}  // namespace

TEST_CASE("reductions of rows of few elements: pools, sums, extrema, of run-time extents, and their slopes") {
  const auto x = between<double, 3, 6, 8, 2, 3>(-1, 1);
  check_jit(of_short_rows, 1e-14, x);
  check_jit(of_short_rows, 1e-6, between<float, 3, 6, 8, 2, 3>(-1, 1));
  check_jit(slopes_of_short_rows, 1e-13, x);
  for (int n : {0, 1, 17}) {
    ct::array<double, ct::dyn, 6, 8, 2, 3> y({n, 6, 8, 2, 3});
    for (ct::extent i = 0; i < y.size(); ++i) y.data()[i] = std::sin(double(i) * i);
    check_jit(of_short_rows, 1e-14, y);
    check_jit(slopes_of_short_rows, 1e-12, y);
  }
  check_jit(pooled, 1e-14, between<double, 4, 100, 80>(-1, 1));
  check_jit(ct::grad([](auto v) { return ct::sum(ct::square(pooled(v))); }), 1e-13, between<double, 4, 100, 80>(-1, 1));
}

TEST_CASE("arrays of short vectors, with numbers per vector and per component") {
  const ct::array<double, 3> v{0.5, -2, 3};
  const auto x = between<double, 5, 20, 3>(-1, 1);
  const auto w = between<double, 5, 20>(-1, 1, 3);
  check_jit(of_vectors, 1e-13, x, w, v);
  check_jit(slopes_of_vectors, 1e-12, x, w, v);
  for (int n : {0, 1, 17}) {
    ct::array<double, ct::dyn, 20, 3> xs({n, 20, 3});
    ct::array<double, ct::dyn, 20> ws({n, 20});
    for (ct::extent i = 0; i < xs.size(); ++i) xs.data()[i] = std::sin(double(i) * i);
    for (ct::extent i = 0; i < ws.size(); ++i) ws.data()[i] = std::cos(double(i) * i);
    check_jit([](auto a, auto b, auto c) { return std::tuple(std::get<0>(of_vectors(a, b, c)), std::get<1>(of_vectors(a, b, c)), std::get<2>(of_vectors(a, b, c)), std::get<3>(of_vectors(a, b, c)), std::get<4>(of_vectors(a, b, c)), std::get<6>(of_vectors(a, b, c))); }, 1e-13, xs, ws, v);
    check_jit(slopes_of_vectors, 1e-12, xs, ws, v);
  }
  CHECK(ct::jit([](auto a, auto b) { return a * ct::expand_dims<-1>(b); }).kernels(x, w).find("over [5,20]") != std::string::npos);  // lanes are vectors
}

TEST_CASE("planes are put side by side whole vectors at a time") {
  const auto v = between<double, 3>(-1, 1);
  check_jit(of_planes, 1e-14, between<double, 5, 3, 9, 11>(-1, 1), v);
  check_jit(of_planes, 1e-6, between<float, 5, 3, 9, 11>(-1, 1), between<float, 3>(-1, 1));
  check_jit(slopes_of_planes, 1e-13, between<double, 5, 3, 9, 11>(-1, 1), v);
  for (int n : {0, 1, 7}) {
    ct::array<double, ct::dyn, 3, 16, 9> x({n, 3, 16, 9});
    for (ct::extent i = 0; i < x.size(); ++i) x.data()[i] = std::sin(double(i) * i);
    check_jit(of_planes, 1e-14, x, v);
  }
  const auto spaces = [](const auto& x) { return ct::jit([](auto x) { return ct::transpose<0, 2, 3, 1>(x / 0.25f); }).kernels(x); };
  CHECK(spaces(ct::array<float, 8, 3, 20, 20>()).find("kernel over [8,20,20]\n") != std::string::npos);
  CHECK(spaces(ct::array<float, 8, 16, 20, 20>()).find("kernel over [8,20,20,16]\n") != std::string::npos);
}

TEST_CASE("products of short rows with small matrices are multiply-adds of elements") {
  const auto m = between<double, 3, 4>(-1, 1);
  const ct::array<double, 3> v{0.5, -0.25, 1};
  const auto x = between<double, 13, 21, 3>(-1, 1);
  check_jit(of_colours, 1e-13, x, m, v);
  check_jit(slopes_of_colours, 1e-12, x, m, v);
  check_jit(of_colours, 1e-5, as<float>(x), as<float>(m), as<float>(v));
  for (int n : {0, 1, 19}) {
    ct::array<double, ct::dyn, ct::dyn, 3> y({n, 20, 3});
    for (ct::extent i = 0; i < y.size(); ++i) y.data()[i] = std::sin(double(i) * i);
    check_jit(of_colours, 1e-13, y, m, v);
    check_jit(slopes_of_colours, 1e-12, y, m, v);
  }
  // Of an image's bytes and of its two large axes as well: one kernel, without packets of one axis.
  const auto tint = [](auto image, auto m) { return ct::matmul(ct::astype<float>(image), m); };
  const ct::array<std::uint8_t, 300, 500, 3> image = ct::full<std::uint8_t, 300, 500, 3>(200);
  CHECK(ct::jit(tint).kernels(image, as<float>(m)).find("\n1 steps, arena of 0 bytes") != std::string::npos);
  CHECK(ct::jit(tint)(image, as<float>(m))(299, 499, 3) == Approx(200 * (m(0, 3) + m(1, 3) + m(2, 3))).margin(1e-4));
}

TEST_CASE("a pool is one kernel of what it pools, in which no lane is idle, and keeps NaN") {
  const ct::array<float, 4, 100, 80> x;
  const std::string kernels = ct::jit(pooled).kernels(x);
  CHECK(kernels.find("kernel over [4,50,40]") != std::string::npos);
  CHECK(kernels.find("reduce_max") == std::string::npos);
  CHECK(ct::jit(pooled).cost(x).kernels == 1);
  ct::array<double, 1, 2, 16, 2, 2> y;
  y(0, 1, 7, 1, 0) = std::nan("");
  const auto r = ct::jit([](auto v) { return ct::max(v, ct::axis<3, 4>); })(y);
  for (int i = 0; i < 32; ++i) CHECK(std::isnan(r.data()[i]) == (i == 23));
}

namespace {
/// [n,2] [n,3] [n,4] -> [n,3] [n,2] [n,4], whose last elements lie before pages that cannot be touched.
template <class T> void check_ends(ct::extent n) {
  const auto bytes = [n](int width) { return std::size_t(n * width) * sizeof(T); };
  const guarded_buffer a(bytes(2)), b(bytes(3)), c(bytes(4)), u(bytes(3)), v(bytes(2)), w(bytes(4));
  for (ct::extent i = 0; i < 4 * n; ++i) {
    const T x = T(std::sin(double(i * i)));
    c.as<T>()[i] = x;
    if (i < 3 * n) b.as<T>()[i] = x;
    if (i < 2 * n) a.as<T>()[i] = x;
  }
  const auto mixed = ct::vmap([](auto a, auto b, auto c) { return std::tuple(ct::cross(b, ct::stack<0>(a(0), a(1), c(3))), ct::stack<0>(b(0) * c(1), a(0)), c * ct::sum(b) + ct::stack<0>(a(0), b(1), b(2), c(0))); });
  const auto expected = mixed(ct::array<T, ct::dyn, 2>(ct::view<const T, ct::dyn, 2>(a.as<T>(), {n, 2})), ct::array<T, ct::dyn, 3>(ct::view<const T, ct::dyn, 3>(b.as<T>(), {n, 3})),
                              ct::array<T, ct::dyn, 4>(ct::view<const T, ct::dyn, 4>(c.as<T>(), {n, 4})));
  const std::tuple out(ct::view<T, ct::dyn, 3>(u.as<T>(), {n, 3}), ct::view<T, ct::dyn, 2>(v.as<T>(), {n, 2}), ct::view<T, ct::dyn, 4>(w.as<T>(), {n, 4}));
  ct::jit(mixed).into(out)(ct::view<const T, ct::dyn, 2>(a.as<T>(), {n, 2}), ct::view<const T, ct::dyn, 3>(b.as<T>(), {n, 3}), ct::view<const T, ct::dyn, 4>(c.as<T>(), {n, 4}));
  CHECK(std::equal(u.as<T>(), u.as<T>() + 3 * n, std::get<0>(expected).data()));
  CHECK(std::equal(v.as<T>(), v.as<T>() + 2 * n, std::get<1>(expected).data()));
  CHECK(std::equal(w.as<T>(), w.as<T>() + 4 * n, std::get<2>(expected).data()));
}
}  // namespace

TEST_CASE("rows side by side are read and written to their end and no further") {
  for (int n = 0; n <= 40; ++n) check_ends<float>(n), check_ends<double>(n);
}
