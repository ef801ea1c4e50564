/// NumPy's functions (numpy/), beside JAX 0.10.2: in a trace, on arrays, their derivatives, batches, run-time and empty extents.

#include "flat_results.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

constexpr double inf = INFINITY;
const ct::array<double, 6> x{0.5, -1, 3, 2, NAN, inf}, y{1, 2.5, -3, NAN, 4, -inf};
const ct::array<double, 3, 4> m{{1, 2, 3, 4}, {5, 6, 7, 9}, {-1, 0, 2, 11}};
const ct::array<double, 5> b{0, 1, 2, 4, 7};
const ct::array<double, 4> row{1, 2, 3, 4};
const ct::array<int, 7> k{1, 0, 3, 3, 5, 9, -2};

}  // namespace

TEST_CASE("numbers that are not finite, and comparisons") {
  const auto all = [](auto x, auto y, auto m, auto b, auto row, auto k) {
    static_cast<void>(x), static_cast<void>(y), static_cast<void>(m), static_cast<void>(b), static_cast<void>(row), static_cast<void>(k);
    return std::tuple_cat(
        std::tuple(ct::fmax(x, y), ct::fmin(x, y), ct::isnan(x), ct::isinf(x), ct::isneginf(y), ct::isposinf(x), ct::isfinite(x), ct::nan_to_num(x), ct::nan_to_num(y, 1.0, 2.0, 3.0), ct::isclose(x, x + 1e-9), ct::array_equal(m, m), ct::allclose(m, m + 1e-3), ct::equal(k, 3), ct::select(m > 3, m, 0 * m)));
  };
  check(flat(ct::jit(all)(x, y, m, b, row, k)), {1, 2.5, 3, 2, 4, inf, 0.5, -1, -3, 2, 4, -inf, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0.5, -1, 3, 2, 0, 1.79769313e+308, 1, 2.5, -3, 1, 4, 3, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 4, 5, 6, 7, 9, -0, 0, 0, 11});
}

TEST_CASE("functions") {
  const auto all = [](auto x, auto y, auto m, auto b, auto row, auto k) {
    static_cast<void>(x), static_cast<void>(y), static_cast<void>(m), static_cast<void>(b), static_cast<void>(row), static_cast<void>(k);
    return std::tuple_cat(
        std::tuple(ct::mod(k, 3), ct::power(m, 2), ct::rad2deg(b), ct::sinc(b / 3), ct::heaviside(y, 0.5), ct::logit(b / 8), ct::expit(b), ct::betaln(b + 1, 2.0), ct::xlogy(b, b), ct::xlog1py(b, b), ct::entr(b), ct::rel_entr(b, b + 1), ct::ndtr(b), ct::log_ndtr(-5 * b), ct::ndtri(b / 8), ct::gammaln(b + 0.5)));
  };
  check(flat(ct::jit(all)(x, y, m, b, row, k)), {1, 0, 0, 0, 2, 0, 1, 1, 4, 9, 16, 25, 36, 49, 81, 1, 0, 4, 121, 0, 57.2957795, 114.591559, 229.183118, 401.070457, 1, 0.826993343, 0.413496672, -0.206748336, 0.118141906, 1, 1, 0, NAN, 1, 0, -inf, -1.94591015, -1.09861229, 0, 1.94591015, 0.5, 0.731058579, 0.880797078, 0.98201379, 0.999088949, -0.693147181, -1.79175947, -2.48490665, -3.40119738, -4.27666612, 0, 0, 1.38629436, 5.54517744, 13.621371, 0, 0.693147181, 2.19722458, 6.43775165, 14.5560908, -0, -0, -1.38629436, -5.54517744, -13.621371, 0, -0.693147181, -0.810930216, -0.892574205, -0.934719748, 0.5, 0.841344746, 0.977249868, 0.999968329, 1, -0.693147181, -15.0649984, -53.2312852, -203.917155, -616.975101, -inf, -1.15034938, -0.67448975, 0, 1.15034938, 0.572364943, -0.120782238, 0.28468287, 2.45373657, 7.53436424});
}

TEST_CASE("statistics") {
  const auto all = [](auto x, auto y, auto m, auto b, auto row, auto k) {
    static_cast<void>(x), static_cast<void>(y), static_cast<void>(m), static_cast<void>(b), static_cast<void>(row), static_cast<void>(k);
    return std::tuple_cat(
        std::tuple(ct::count_nonzero(k), ct::ptp(m, ct::axis<1>), ct::nansum(x), ct::nanmax(x), ct::nanmin(x), ct::nanvar(ct::where(m > 8, NAN, m), ct::axis<1>), ct::nanstd(ct::where(m > 8, NAN, m)), ct::nanprod(ct::where(m > 8, NAN, m), ct::axis<0>), ct::average(m, ct::slice<ct::range<1, 5>>(b), ct::axis<1>), ct::median(m), ct::median(m, ct::axis<0>), ct::quantile(m, 0.3, ct::axis<1>), ct::percentile(m, 75, ct::axis<0>, ct::keepdims), ct::quantile(x, 0.5), ct::cov(m), ct::corrcoef(m)));
  };
  check(flat(ct::jit(all)(x, y, m, b, row, k)), {6, 3, 4, 12, inf, inf, -1, 1.25, 0.666666667, 1.55555556, 2.46779254, -5, 0, 42, 4, 3.21428571, 7.71428571, 6, 3.5, 1, 2, 3, 9, 1.9, 5.9, -0.1, 3, 4, 5, 10, NAN, 1.66666667, 2.16666667, 6.33333333, 2.16666667, 2.91666667, 9, 6.33333333, 9, 30, 1, 0.98270763, 0.89566859, 0.98270763, 1, 0.962140471, 0.89566859, 0.962140471, 1});
}

TEST_CASE("series") {
  const auto all = [](auto x, auto y, auto m, auto b, auto row, auto k) {
    static_cast<void>(x), static_cast<void>(y), static_cast<void>(m), static_cast<void>(b), static_cast<void>(row), static_cast<void>(k);
    return std::tuple_cat(
        std::tuple(ct::diff(b), ct::diff<2, 0>(m), ct::trapezoid(m, 0.5), ct::trapezoid(b), ct::polyval(b, m), ct::searchsorted(b, m), ct::searchsorted(b, m, ct::right), ct::digitize(m, b), ct::digitize(m, b, ct::right), ct::interp(m, b, b * b), ct::bincount<6>(k), ct::bincount<6>(k, k * 0.5)),
        ct::histogram<4>(m),
        ct::histogram<3>(m, 0.0, 6.0),
        std::tuple(ct::convolve(b, row), ct::convolve(b, row, ct::same), ct::convolve(b, row, ct::valid), ct::correlate(b, row), ct::correlate(b, row, ct::same), ct::flatnonzero<4>(k), ct::flatnonzero<9>(k, -1), ct::unique<5>(k)));
  };
  check(flat(ct::jit(all)(x, y, m, b, row, k)), {1, 1, 2, 3, -10, -10, -9, -3, 3.75, 10, 3.5, 10.5, 14, 31, 64, 119, 202, 319, 476, 934, 4, 7, 31, 1624, 1, 2, 3, 3, 4, 4, 4, 5, 0, 0, 2, 5, 2, 3, 3, 4, 4, 4, 5, 5, 0, 1, 3, 5, 2, 3, 3, 4, 4, 4, 5, 5, 0, 1, 3, 5, 1, 2, 3, 3, 4, 4, 4, 5, 0, 0, 2, 5, 1, 4, 10, 16, 27, 38, 49, 49, 0, 0, 4, 49, 2, 1, 0, 2, 0, 1, -1, 0.5, 0, 3, 0, 2.5, 3, 4, 3, 2, -1, 2, 5, 8, 11, 2, 3, 3, 0, 2, 4, 6, 0, 1, 4, 11, 25, 34, 37, 28, 1, 4, 11, 25, 34, 11, 25, 24, 45, 4, 11, 24, 45, 31, 0, 2, 3, 4, 0, 2, 3, 4, 5, 6, -1, -1, -1, -2, 0, 1, 3, 5});
}

TEST_CASE("axes, stacks and diagonals") {
  const auto all = [](auto x, auto y, auto m, auto b, auto row, auto k) {
    static_cast<void>(x), static_cast<void>(y), static_cast<void>(m), static_cast<void>(b), static_cast<void>(row), static_cast<void>(k);
    return std::tuple_cat(
        std::tuple(ct::unique<8>(k), ct::moveaxis<0, 1>(m), ct::swapaxes<0, -1>(m), ct::rot90(m), ct::rot90<2>(m), ct::rot90<3>(m), ct::vstack(b, b + 1), ct::vstack(m, row), ct::hstack(b, k), ct::hstack(m, m), ct::dstack(b, b)),
        ct::meshgrid(b, k),
        ct::meshgrid(ct::ij, b, k),
        ct::broadcast_arrays(m, row),
        std::tuple(ct::diagonal(m), ct::diagonal<1>(m), ct::diagonal<-2>(m), ct::diagonal<3>(m), ct::diag(b), ct::diag<1>(b), ct::diag<-2>(b), ct::diag(m), ct::trace(m), ct::fliplr(m), ct::flipud(m)));
  };
  check(flat(ct::jit(all)(x, y, m, b, row, k)), {-2, 0, 1, 3, 5, 9, -2, -2, 1, 5, -1, 2, 6, 0, 3, 7, 2, 4, 9, 11, 1, 5, -1, 2, 6, 0, 3, 7, 2, 4, 9, 11, 4, 9, 11, 3, 7, 2, 2, 6, 0, 1, 5, -1, 11, 2, 0, -1, 9, 7, 6, 5, 4, 3, 2, 1, -1, 5, 1, 0, 6, 2, 2, 7, 3, 11, 9, 4, 0, 1, 2, 4, 7, 1, 2, 3, 5, 8, 1, 2, 3, 4, 5, 6, 7, 9, -1, 0, 2, 11, 1, 2, 3, 4, 0, 1, 2, 4, 7, 1, 0, 3, 3, 5, 9, -2, 1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 9, 5, 6, 7, 9, -1, 0, 2, 11, -1, 0, 2, 11, 0, 0, 1, 1, 2, 2, 4, 4, 7, 7, 0, 1, 2, 4, 7, 0, 1, 2, 4, 7, 0, 1, 2, 4, 7, 0, 1, 2, 4, 7, 0, 1, 2, 4, 7, 0, 1, 2, 4, 7, 0, 1, 2, 4, 7, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 5, 5, 5, 5, 5, 9, 9, 9, 9, 9, -2, -2, -2, -2, -2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 7, 7, 7, 7, 7, 7, 7, 1, 0, 3, 3, 5, 9, -2, 1, 0, 3, 3, 5, 9, -2, 1, 0, 3, 3, 5, 9, -2, 1, 0, 3, 3, 5, 9, -2, 1, 0, 3, 3, 5, 9, -2, 1, 2, 3, 4, 5, 6, 7, 9, -1, 0, 2, 11, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 6, 2, 2, 7, 11, -1, 4, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 1, 6, 2, 9, 4, 3, 2, 1, 9, 7, 6, 5, 11, 2, 0, -1, -1, 0, 2, 11, 5, 6, 7, 9, 1, 2, 3, 4});
}


namespace {

constexpr auto smooth = [](auto v) {
  return ct::concatenate<0>(ct::sinc(v), ct::logit(ct::logistic(v)), ct::xlogy(v, v + 3), ct::xlog1py(v, v + 2), ct::rel_entr(v + 3, v + 4), ct::log_ndtr(12 * v), ct::ndtr(v), ct::betaln(v + 3, 2.0));
};
constexpr auto of_order = [](auto v) {
  const auto points = ct::arange<double, 7>() - 3.0;
  return ct::concatenate<0>(ct::diff<2>(v), ct::polyval(v, v), ct::interp(v, points, points * points), ct::convolve(v, ct::slice<ct::range<0, 3>>(v), ct::same), ct::expand_dims<0>(ct::trapezoid(v)),
                            ct::expand_dims<0>(ct::quantile(v, 0.3)), ct::expand_dims<0>(ct::median(v * v)));
};
constexpr auto of_matrices = [](auto a) {
  return ct::concatenate<0>(ct::diagonal<1>(a), ct::ravel(ct::diag(ct::diagonal(a))), ct::ravel(ct::rot90(a)), ct::ravel(ct::cov(a)), ct::expand_dims<0>(ct::trace(a)), ct::nanmean(a * a, ct::axis<0>), ct::nanvar(a, ct::axis<1>));
};

}  // namespace

TEST_CASE("derivatives") {
  check_derivatives(smooth, std::tuple(between<double, 9>(-1.9, 1.9)));
  check_derivatives(of_order, std::tuple(between<double, 8>(-2.9, 2.9)));
  check_derivatives(of_matrices, std::tuple(between<double, 3, 5>(-1, 1)));
  // Where a choice is made, no NaN comes from the other side.
  const auto slope = ct::grad([](auto v) { return ct::sum(ct::sinc(v)) + ct::sum(ct::xlogy(v, v)); });
  CHECK(slope(ct::array<double, 1>{1e-300})(0) == Approx(std::log(1e-300) + 1));
  CHECK(ct::grad([](auto v) { return ct::sum(ct::sinc(v)); })(ct::array<double, 1>{0})(0) == 0);
  CHECK(ct::grad(ct::grad([](auto v) { return ct::sinc(v); }))(ct::array<double>(0)) == Approx(-3.14159265358979 * 3.14159265358979 / 3));
  CHECK(ct::grad([](auto v) { return ct::nansum(v * v); })(ct::array<double, 2>{NAN, 3})(1) == 6);
  const auto far = ct::grad([](auto v) { return ct::sum(ct::sinc(v)); })(ct::array<float, 2>{1e9f, 1e12f});  // jax.grad(jnp.sinc)
  CHECK((far(0) == Approx(-7.9e-10).epsilon(0.01) && far(1) == Approx(-4.98e-13).epsilon(0.01)));
}

TEST_CASE("quantiles of the normal distribution far from its middle") {
  const auto values = ct::jit([](auto p) { return std::tuple(ct::ndtri(p), ct::grad([](auto v) { return ct::sum(ct::ndtri(v)); })(p)); });
  const ct::array<double, 10> p{1e-300, 1e-20, 1e-16, 1e-12, 1e-5, 0.03, 0.049999, 0.05, 0.97, 1 - 1e-10};
  const double want[] = {-37.0470962993612, -9.262340089798409, -8.222082216130435, -7.034483825301131, -4.264890793922825, -1.880793608151251, -1.644863322998064, -1.644853626951473, 1.880793608151251, 6.361340889697422};  // scipy.special.ndtri
  const auto [x, slopes] = values(p);
  for (int i = 0; i < 10; ++i) {
    CHECK(x(i) == Approx(want[i]).epsilon(1e-14));
    CHECK(slopes(i) == Approx(std::sqrt(2 * 3.14159265358979323846) * std::exp(want[i] * want[i] / 2)).epsilon(1e-12));
  }
  const ct::array<float, 5> q{1e-38f, 1e-10f, 1e-7f, 0.02f, 0.9999f};
  const auto [y, slopes_of_floats] = values(q);
  const float want_floats[] = {-12.9623593f, -6.3613409f, -5.19933758f, -2.05374892f, 3.71897457f};
  for (int i = 0; i < 5; ++i) CHECK(y(i) == Approx(want_floats[i]).epsilon(3e-7));
  CHECK(slopes_of_floats(1) == Approx(1.5357e9).epsilon(1e-4));
  const auto ends = ct::array<double, 4>(ct::ndtri(ct::array<double, 4>{0, 1, -0.1, 1.5}));
  CHECK((ends(0) == -INFINITY && ends(1) == INFINITY && std::isnan(ends(2)) && std::isnan(ends(3))));
  check_derivatives([](auto v) { return ct::ndtri(v * v); }, std::tuple(between<double, 9>(0.05, 0.98)));
}

TEST_CASE("batches, run-time extents, no elements, and the whole line of dtypes") {
  const auto each = [](auto v, auto q) { return std::tuple(ct::quantile(v, q), ct::interp(q, ct::arange<double, 5>(), v), ct::searchsorted(ct::sort(v), q), ct::bincount<3>(ct::astype<int>(v))); };
  const auto rows = between<double, 6, 5>(0, 3);
  const auto qs = between<double, 6>(0, 1);
  const auto [quantiles, values, places, counts] = ct::jit(ct::vmap(each))(rows, qs);
  for (int i = 0; i < 6; ++i) {
    ct::array<double, 5> one;
    for (int j = 0; j < 5; ++j) one(j) = rows(i, j);
    const auto [q, v, p, c] = ct::jit(each)(one, ct::array<double>(qs(i)));
    CHECK((quantiles(i) == Approx(double(q)) && values(i) == Approx(double(v)) && places(i) == int(p)));
    for (int j = 0; j < 3; ++j) CHECK(counts(i, j) == c(j));
  }
  const ct::array<double, ct::dyn> open = ct::array<double, 5>{4, 1, 3, 5, 2};
  const auto of_open = ct::jit([](auto v) { return std::tuple(ct::median(v), ct::diff(v), ct::trapezoid(v), ct::nanmax(v), ct::diag(v), ct::convolve(v, ct::array<double, 2>{1, -1}, ct::valid), ct::unique<3>(v)); })(open);
  CHECK((std::get<0>(of_open) == 3 && std::get<2>(of_open) == 12 && std::get<3>(of_open) == 5));
  CHECK(std::get<1>(of_open) == ct::array<double, ct::dyn>(ct::array<double, 4>{-3, 2, 2, -3}));
  CHECK((std::get<4>(of_open)(3, 3) == 5 && std::get<4>(of_open)(3, 2) == 0));
  CHECK(std::get<5>(of_open) == std::get<1>(of_open));
  CHECK((std::get<6>(of_open) == ct::array<double, 3>{1, 2, 3}));

  const ct::array<float, 0> none;
  CHECK((ct::array<float>(ct::nansum(none)) == 0.0f && ct::array<float, 0>(ct::diff(none)).size() == 0 && ct::array<bool>(ct::allclose(none, none))));
  CHECK(ct::array<int, 3>(ct::bincount<3>(ct::array<int, 0>())) == ct::array<int, 3>());
  CHECK(ct::array<int, 2>(ct::searchsorted(none, ct::array<float, 2>{1, 2})) == ct::array<int, 2>());
  static_assert(std::is_same_v<decltype(ct::median(ct::array<int, 3>()).evaluate()), ct::array<float>>);
  CHECK((ct::array<float>(ct::median(ct::array<int, 3>{5, 1, 2})) == 2.0f && ct::array<std::uint8_t, 2>(ct::diff(ct::array<std::uint8_t, 3>{1, 3, 2})) == ct::array<std::uint8_t, 2>{2, 255}));
}

TEST_CASE("on arrays") {
  const ct::array<double, 6> numbers = ct::nan_to_num(x);
  CHECK((numbers(4) == 0 && numbers(5) == std::numeric_limits<double>::max()));
  CHECK((ct::array<bool, 7>(ct::equal(k, 3)) == ct::array<bool, 7>{false, false, true, true, false, false, false}));
  CHECK(bool(ct::array<bool>(ct::allclose(m, m))));
  CHECK((ct::ones_like(row) == ct::array<double, 4>{1, 1, 1, 1} && ct::zeros_like(row + 1) == ct::array<double, 4>() && ct::full_like(k, 3)(6) == 3));
  CHECK(ct::array<double>(ct::median(m)) == 3.5);
  CHECK((ct::array<double>(ct::quantile(m, 1.5)) == 11.0 && ct::array<double>(ct::quantile(m, -1)) == -1.0 && ct::jit([](auto v, auto q) { return ct::quantile(v, q); })(m, 2.0) == 11.0));
  const auto [counts, edges] = ct::histogram<4>(m);
  CHECK((ct::array<int, 4>(counts) == ct::array<int, 4>{3, 4, 3, 2} && ct::array<double, 5>(edges)(4) == 11));
  const auto [across, down] = ct::meshgrid(b, row);
  CHECK((ct::array<double, 4, 5>(across)(2, 3) == 4 && ct::array<double, 4, 5>(down)(2, 3) == 3));
  CHECK((ct::array<double, 7>(ct::convolve(row, row)) == ct::array<double, 7>{1, 4, 10, 20, 25, 24, 16}));
  CHECK(ct::array<int, 4>(ct::flatnonzero<4>(k)) == ct::array<int, 4>{0, 2, 3, 4});
}

namespace {

constexpr auto of_square = [](auto a) {
  return std::tuple(ct::linalg::expm(3.0 * a), ct::linalg::matrix_power<3>(a), ct::linalg::matrix_power<-2>(a + 3.0 * ct::eye<double, 3>()), ct::linalg::pinv(a));
};
constexpr auto of_tall = [](auto a, auto b) { return std::tuple(ct::linalg::pinv(a), ct::linalg::lstsq(a, b)); };

}  // namespace

TEST_CASE("functions of matrices") {
  const ct::array<double, 3, 3> a{{1, 2, 0.5}, {-1, 0.3, 2}, {0.2, 1, -1}};
  const ct::array<double, 4, 3> tall{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 0, 2}}, poor{{1, 2, 3}, {2, 4, 6}, {-1, -2, -3}, {3, 6, 9}};
  const ct::array<double, 4> right{1, 2, 3, 5};
  check(flat(ct::jit([](auto a, auto tall, auto right) {
          return std::tuple(ct::linalg::expm(a), ct::linalg::expm(20.0 * a) * 1e-8, ct::linalg::matrix_power<5>(a), ct::linalg::matrix_power<-2>(a), ct::linalg::matrix_power<0>(a), ct::linalg::pinv(tall),
                            ct::linalg::lstsq(tall, right), ct::linalg::matrix_rank(tall), ct::linalg::cond(a));
        })(a, tall, right)),
        {0.7667814771, 3.8052021376, 2.7862738689, -1.532761482, 0.6156024868, 0.9602822392, -0.3648487996, 0.8499807064, 1.0013655952, -1.6843460935, -7.7363341874, -5.4676137509, 3.1559827115, -1.2501408096, -2.2579927856,
         0.66169202851, -1.8411807750, -1.7272566966, -1.687, -10.1633, -13.322, 2.9087, -5.06657, 6.5517, 3.363, 1.1029, -15.259, -0.0179177262, -0.6656035072, -0.3848308899, 0.2887770998, 0.0745032603, -0.3269523241,
         0.0221662593, -0.2075008158, 0.1668011009, 1, 0, 0, 0, 1, 0, 0, 0, 1, -7. / 9, -2. / 9, 1. / 3, 1. / 3, 2. / 9, 1. / 9, 0, -2. / 3, 7. / 18, 1. / 9, -1. / 6, 1. / 3, 13. / 9, -26. / 9, 16. / 9, 3, 3.6658693054},
        2e-9);
  const ct::array<double, 3, 4> of_poor = ct::linalg::pinv(poor);  // of rank one: its transpose over the sum of squares
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) CHECK(of_poor(i, j) == Approx(poor(j, i) / 210).margin(1e-15));
  CHECK(ct::array<int>(ct::linalg::matrix_rank(poor)) == 1);
  CHECK(ct::array<float, 2, 2>(ct::linalg::expm(ct::array<float, 2, 2>()))(0, 0) == 1);
  check_rules_of<orders::first>(of_square, std::tuple(between<double, 3, 3>(-1, 1)));
  check_rules_of<orders::first>(of_tall, std::tuple(between<double, 4, 3>(-1, 1), between<double, 4>(-1, 1)));
  const auto many = between<double, 5, 3, 3>(-1, 1);
  const ct::array<double, 5, 3, 3> at_once = ct::jit([](auto x) { return ct::linalg::expm(x); })(many), by_instance = ct::jit(ct::vmap([](auto x) { return ct::linalg::expm(x); }))(many);
  for (ct::extent i = 0; i < at_once.size(); ++i) CHECK(at_once.data()[i] == Approx(by_instance.data()[i]).epsilon(1e-12));
  CHECK((ct::array<double, 3>(ct::logspace<double, 3>(0, 2))(1) == Approx(10) && ct::array<float, 2, 3>(ct::tri<float, 2, 3>()) == ct::array<float, 2, 3>{{1, 0, 0}, {1, 1, 0}}));
}
