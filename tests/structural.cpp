/// broadcast_in_dim reshape transpose slice reverse pad concatenate roll, and what NumPy makes of them.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
constexpr auto shapes = [](auto x) {  // [4,6]
  return std::tuple(ct::reshape<8, 3>(x), ct::reshape<2, ct::dyn, 3>(x), ct::ravel(x), ct::transpose(x), ct::transpose<1, 0>(x), ct::expand_dims<1>(x),
                    ct::expand_dims<-1>(x), ct::squeeze<0>(ct::expand_dims<0>(x)), ct::squeeze(ct::reshape<1, 4, 1, 6>(x)), ct::broadcast_to<2, 4, 6>(x), ct::flip<0>(x),
                    ct::flip(x), ct::roll<1, 2>(x), ct::roll<0, -1>(x), ct::tile<2, 1>(x), ct::tile<2, 2, 1>(x), ct::repeat<3, 0>(x), ct::repeat<2, -1>(x));
};
constexpr auto slices = [](auto x) {  // [5,9]
  return std::tuple(ct::slice<ct::range<1, 4>, ct::range<0, 9, 2>>(x), ct::slice<ct::range<4, 0, -2>>(x), ct::slice<ct::full_extent, ct::range<-3, -1>>(x),
                    ct::slice<ct::range<2, 2>>(x), ct::slice<ct::range<-100, 100>>(x), ct::slice<ct::range<8, -100, -3>, ct::range<100, -100, -4>>(x),
                    ct::slice<ct::index<-1>>(x), ct::slice<ct::index<2>, ct::range<1, 8, 3>>(x), x(ct::index<1>, ct::full_extent), x(ct::full_extent, ct::index<-2>),
                    x(ct::range<0, 2>, ct::range<3, 5>));
};
constexpr auto joins = [](auto x, auto y) {  // [2,3] [2,4]
  const auto halves = ct::split<2, 1>(y);
  return std::tuple(ct::concatenate<1>(x, y), ct::concatenate<-1>(y, x, y), ct::concatenate<0>(x, ct::slice<ct::full_extent, ct::range<0, 3>>(y)), ct::stack<0>(x, x * 2.0),
                    ct::stack<-1>(x, x), halves[0], halves[1] * 3.0, ct::stack<1>(halves), ct::concatenate<0>(halves));
};
constexpr auto pads = [](auto x, auto v) {  // [2,3], scalar
  return std::tuple(ct::pad<ct::low<1, 0>, ct::high<0, 2>>(x, v), ct::pad<ct::low<-1, 1>, ct::high<0, -1>>(x, v), ct::pad<ct::low<0, 0>, ct::high<0, 0>>(x, v),
                    ct::pad<ct::low<-1, 0>, ct::high<3, 0>>(x, 0.0));
};
}  // namespace

TEST_CASE("derivatives of reshapes, transposes and repeats") {
  check_rules_of(shapes, std::tuple(between<double, 4, 6>(-1, 1)));
  check_jit(shapes, 0, between<double, 4, 6>(-1, 1));
}

TEST_CASE("derivatives of slices, with steps, negative and empty ones") {
  check_rules_of(slices, std::tuple(between<double, 5, 9>(-1, 1)));
  check_jit(slices, 0, between<float, 5, 9>(-1, 1));
}

TEST_CASE("slices follow NumPy's rules") {
  const auto r = ct::jit([](auto x) {
    return std::tuple(ct::slice<ct::range<8, 0, -2>>(x), ct::slice<ct::range<-3, 100>>(x), ct::slice<ct::range<100, -100, -3>>(x), ct::slice<ct::range<5, 2>>(x), x(ct::index<-1>),
                      ct::roll<0, 3>(x), ct::repeat<2, 0>(ct::slice<ct::range<0, 2>>(x)), ct::tile<2>(ct::slice<ct::range<0, 2>>(x)));
  })(ct::arange<float, 10>());
  CHECK(std::get<0>(r) == ct::array<float, 4>{8, 6, 4, 2});
  CHECK(std::get<1>(r) == ct::array<float, 3>{7, 8, 9});
  CHECK(std::get<2>(r) == ct::array<float, 4>{9, 6, 3, 0});
  CHECK(std::get<3>(r).size() == 0);
  CHECK(std::get<4>(r) == 9);
  CHECK(std::get<5>(r) == ct::array<float, 10>{7, 8, 9, 0, 1, 2, 3, 4, 5, 6});
  CHECK(std::get<6>(r) == ct::array<float, 4>{0, 0, 1, 1});
  CHECK(std::get<7>(r) == ct::array<float, 4>{0, 1, 0, 1});
}

TEST_CASE("derivatives of concatenate, stack and split") {
  check_derivatives<orders::second, orders::first>(joins, std::tuple(between<double, 2, 3>(-1, 1), between<double, 2, 4>(-1, 1, 9)));
}

TEST_CASE("derivatives of pad, negative too, and of its value") {
  check_rules_of(pads, std::tuple(between<double, 2, 3>(-1, 1), ct::array<double>(0.7)));
  check_jit(pads, 0, between<double, 2, 3>(-1, 1), ct::array<double>(0.7));
}

TEST_CASE("shape operations on empty and on single elements") {
  constexpr auto f = [](auto x, auto y) {
    return std::tuple(ct::transpose(x), ct::flip(x), ct::ravel(x), ct::concatenate<0>(x, x), ct::reshape<5, 0>(x), ct::broadcast_to<2, 0, 5>(x), ct::pad<ct::low<1, 0>, ct::high<1, 0>>(x, 2.0),
                      ct::transpose(y), ct::tile<3, 1>(y), ct::broadcast_to<2, 3>(y), ct::concatenate<0>(y, y), ct::slice<ct::range<0, 1, 2>>(y));
  };
  check_rules_of(f, std::tuple(ct::array<double, 0, 5>(), between<double, 1, 1>(-1, 1)));
  check_jit(f, 0, ct::array<double, 0, 5>(), between<double, 1, 1>(-1, 1));
}

TEST_CASE("shape operations over run-time extents") {
  constexpr auto f = [](auto x) {
    return std::tuple(ct::transpose(x), ct::flip(x), ct::ravel(x), ct::concatenate<0>(x, x * 2.0), ct::reshape<3, ct::dyn>(x), ct::tile<2, 1>(x), ct::expand_dims<0>(x),
                      ct::stack<1>(x, x), ct::pad<ct::low<1, 0>, ct::high<2, 1>>(x, 0.5), ct::slice<ct::full_extent, ct::range<1, 3>>(x), x - ct::mean(x, ct::axis<0>));
  };
  ct::array<double, ct::dyn, 3> x({5, 3});
  std::copy_n(between<double, 15>(-1, 1).data(), 15, x.data());
  check_rules(graph_of(f, x), tensors_of(x));
  check_jit(f, 1e-13, x);
  check_jit(f, 1e-13, ct::array<double, ct::dyn, 3>({0, 3}));
}

namespace {
constexpr auto rolls = [](auto x, auto shift) { return std::tuple(ct::roll<0>(x, shift), ct::roll<-1>(x, shift), ct::roll<1>(x, 2), ct::roll<1>(x, -9)); };
}  // namespace

TEST_CASE("roll by a run-time shift of either sign and any size is that of a loop, and its derivatives") {
  const auto in = []<class T, class I>(T, I) {
    const auto x = between<T, 5, 3>(-1, 1);
    for (std::int64_t shift : {std::int64_t(0), std::int64_t(1), std::int64_t(-1), std::int64_t(7), std::int64_t(-23), std::int64_t(std::numeric_limits<I>::min()), std::int64_t(std::numeric_limits<I>::max())}) {
      const auto [rows, columns, two, minus_nine] = ct::jit(rolls)(x, ct::array<I>(I(shift)));
      for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 3; ++j) {
          CHECK(rows(int(((i + shift % 5) % 5 + 5) % 5), j) == x(i, j));
          CHECK(columns(i, int(((j + shift % 3) % 3 + 3) % 3)) == x(i, j));
          CHECK(two(i, (j + 2) % 3) == x(i, j));
          CHECK(minus_nine(i, j) == x(i, j));
        }
    }
  };
  in(float(), std::int32_t());
  in(double(), std::int64_t());
  for (int shift : {2, -1, 101})
    check_rules_of(rolls, std::tuple(between<double, 4, 3>(-1, 1)), std::tuple(ct::array<std::int32_t>(shift)));
  constexpr auto one = [](auto x, auto shift) { return ct::roll<0>(x, shift); };
  check_compiled<double, orders::first, batching::no>(one, std::tuple(between<double, 5>(-1, 1)), std::tuple(ct::array<std::int32_t>(-2)));
  check_compiled<float, orders::first, batching::yes>(one, std::tuple(between<float, 5>(-1, 1)), std::tuple(ct::array<std::int64_t>(98)));
  check_jit(rolls, 0, ct::array<double, 0, 3>(), ct::array<std::int32_t>(4));
  check_rules_of(rolls, std::tuple(ct::array<double, 2, 0>()), std::tuple(ct::array<std::int32_t>(3)));
  for (int n : {0, 1, 5}) {
    ct::array<double, ct::dyn, 3> x({n, 3});
    std::copy_n(between<double, 15>(-1, 1).data(), 3 * n, x.data());
    check_jit([](auto v, auto s) { return std::tuple(ct::roll<0>(v, s), ct::roll<0>(v, -2), ct::vmap([](auto w, auto t) { return ct::roll<0>(w, t); }, ct::in_axes<ct::none, 0>)(v, ct::stack<0>(s, s + 1))); }, 0, x, ct::array<std::int32_t>(-7));
    check_rules(graph_of(rolls, x, ct::array<std::int32_t>(3)), tensors_of(x, ct::array<std::int32_t>(3)));
  }
}

namespace {
constexpr auto moved_ones = [](auto x, auto y) {  // [7] [3,1,5]
  const auto row = ct::expand_dims<0>(ct::sin(x));
  const auto column = ct::expand_dims<1>(ct::cos(x));
  const auto square = ct::squeeze(y * y);
  const auto first = ct::slice<ct::range<0, 1>>(square * 2.0);
  return std::tuple(row + 1.0, ct::transpose(column) * row, row * column, ct::matmul(row, column), ct::sum(row * 3.0, ct::axis<1>), x / ct::sum(ct::exp(x), ct::axis<0>, ct::keepdims),
                    ct::reshape<5, 1, 3>(y * 0.5), ct::transpose<2, 1, 0>(ct::exp(y)) + 1.0, ct::sum(ct::reshape<3, 5>(ct::sin(y)), ct::axis<0>), first,
                    ct::stack<0>(ct::sum(x * x), ct::max(x)), ct::concatenate<1>(y * 2.0, ct::expand_dims<1>(square)), ct::expand_dims<0>(ct::arange<double, 7>()) + row,
                    ct::take<0>(ct::reshape<3, 5>(y), ct::arange<int, 1>()) - first, ct::slice<ct::full_extent, ct::range<2, 5>>(ct::expand_dims<0>(ct::roll<0, 2>(x))) * 2.0);
};
constexpr auto windows_of_ones = [](auto x, auto y) {  // [7] [3,1,5]: windows look elsewhere along axes of one element
  const auto below = ct::pad<ct::low<0, 1, 0>, ct::high<0, 0, 2>>(y, 0.0);  // [3,2,7]
  const auto row = ct::expand_dims<0>(ct::sin(x));
  return std::tuple(ct::slice<ct::full_extent, ct::range<1, 2>>(below) * 2.0, ct::slice<ct::full_extent, ct::range<0, 1>>(below) + 1.0, ct::roll<1, 1>(y) * y,
                    ct::slice<ct::full_extent, ct::range<2, 3>>(ct::roll<1, -1>(row)) + x(ct::index<0>), row + ct::expand_dims<0>(ct::roll<0, 1>(x)), ct::slice<ct::full_extent, ct::range<2, 5>>(ct::expand_dims<0>(ct::roll<0, 2>(x))) * 2.0);
};
}  // namespace

TEST_CASE("axes of one element come and go anywhere") {
  check_rules_of(moved_ones, std::tuple(between<double, 7>(0.1, 1), between<double, 3, 1, 5>(-1, 1)));
  check_jit(moved_ones, 1e-14, between<double, 7>(0.1, 1), between<double, 3, 1, 5>(-1, 1));
  check_jit(windows_of_ones, 1e-15, between<double, 7>(-1, 1), between<double, 3, 1, 5>(-1, 1));
  check_rules_of(windows_of_ones, std::tuple(between<double, 7>(-1, 1), between<double, 3, 1, 5>(-1, 1)));
  constexpr auto gradients = ct::vmap(ct::grad([](auto x, auto y) { return ct::sum(ct::exp(ct::expand_dims<0>(x) - ct::expand_dims<1>(y)) * ct::expand_dims<0>(x)); }));
  check_jit(gradients, 1e-13, between<double, 1, 4>(-1, 1), between<double, 1, 3>(-1, 1));
  check_jit(gradients, 1e-13, between<double, 70, 4>(-1, 1), between<double, 70, 3>(-1, 1));
  for (int n : {0, 1, 40}) {
    ct::array<double, ct::dyn> x({n});
    std::copy_n(between<double, 40>(-1, 1).data(), n, x.data());
    check_jit([](auto v) { return std::tuple(ct::expand_dims<0>(ct::sin(v)) * 2.0, ct::transpose(ct::expand_dims<1>(v * v)) + v, ct::sum(ct::expand_dims<0>(v) * v), ct::stack<0>(v, v + 1.0)); }, 1e-13, x);
  }
}

TEST_CASE("a column of an array of run-time extents is a view of it") {
  constexpr auto means = [](auto x) {  // [n, 6, 8, 2, 3]
    const auto column = ct::expand_dims<-1>(x(ct::full_extent, ct::full_extent, ct::full_extent, ct::full_extent, ct::index<0>));
    return ct::mean(x * column, ct::axis<4, 3, 1>);
  };
  for (int n : {0, 1, 40}) {
    ct::array<double, ct::dyn, 6, 8, 2, 3> x({n, 6, 8, 2, 3});
    for (ct::extent i = 0; i < x.size(); ++i) x.data()[i] = std::sin(double(i));
    check_jit(means, 1e-13, x);
  }
  check_jit(means, 1e-13, ct::array<double, 0, 6, 8, 2, 3>());
}

TEST_CASE("axes of one element do not end a kernel") {
  const auto kernels = [](const auto& f, const auto&... x) { return occurrences("kernel over", ct::jit(f).kernels(x...)); };
  const ct::array<float, 1000> x;
  CHECK(kernels([](auto v) { return ct::expand_dims<0>(ct::sin(v)) + 1.0f; }, x) == 1);
  CHECK(kernels([](auto v) { return ct::squeeze(ct::exp(ct::expand_dims<1>(ct::sin(v)))) * v; }, x) == 1);
  CHECK(kernels([](auto v) { return ct::sum(ct::exp(ct::expand_dims<0>(v * v)), ct::axis<1>); }, x) == 1);
  CHECK(kernels([](auto v) { return ct::transpose(ct::expand_dims<1>(v * v)) + ct::expand_dims<0>(v); }, x) == 1);
  // A reshape of a view is a view where strides allow it.
  CHECK(kernels([](auto m) { return ct::reshape<4, 5, 5>(ct::slice<ct::full_extent, ct::range<5, 30>>(m)) + 1.0f; }, ct::array<float, 4, 50>()) == 1);
}

TEST_CASE("layout changes larger than a vector block keep every element in place") {
  constexpr auto f = [](auto x) { return std::tuple(ct::transpose(x) * 2.0f, ct::flip<1>(ct::transpose(x)) + 1.0f, ct::roll<1, 7>(x), ct::reshape<65, 37>(x) * 3.0f); };
  check_jit(f, 0, between<float, 37, 65>(-1, 1));
}

namespace {
template <class T, ct::extent... E> void fill(ct::array<T, E...>& x) {
  for (ct::extent i = 0; i < x.size(); ++i) x.data()[i] = T(i * 7 % 1021 % (sizeof(T) == 1 ? 2 : 1021));
}
/// Whether y is x with axes i, j, k of it as its own.
template <class X, class Y> bool is_turned(const X& x, const Y& y, int i, int j, int k) {
  const ct::shape &from = x.shape(), &to = y.shape();
  bool same = to == ct::shape{from[i], from[j], from[k]};
  extent at[3];
  for (at[i] = 0; at[i] < from[i]; ++at[i])
    for (at[j] = 0; at[j] < from[j]; ++at[j])
      for (at[k] = 0; at[k] < from[k]; ++at[k]) same = same && y(at[i], at[j], at[k]) == x(at[0], at[1], at[2]);
  return same;
}
template <class T, ct::extent A, ct::extent B, ct::extent C> void check_turned() {
  ct::array<T, A, B, C> x;
  fill(x);
  const auto [a, b, c, d, e] = ct::jit([](auto x) {
    return std::tuple(ct::transpose<0, 2, 1>(x), ct::transpose<1, 0, 2>(x), ct::transpose<2, 1, 0>(x), ct::transpose<1, 2, 0>(x), ct::transpose<2, 0, 1>(x));
  })(x);
  INFO(x.shape()[0] << " x " << x.shape()[1] << " x " << x.shape()[2] << ", " << sizeof(T) << " bytes");
  CHECK((is_turned(x, a, 0, 2, 1) && is_turned(x, b, 1, 0, 2) && is_turned(x, c, 2, 1, 0) && is_turned(x, d, 1, 2, 0) && is_turned(x, e, 2, 0, 1)));
}
}  // namespace

TEST_CASE("arrays are copied with their rows turned, in blocks") {
  check_turned<float, 1, 300, 170>(), check_turned<float, 3, 64, 128>(), check_turned<float, 37, 9, 41>(), check_turned<double, 2, 131, 257>();
  check_turned<std::uint8_t, 2, 700, 33>(), check_turned<std::int16_t, 5, 64, 300>(), check_turned<bool, 1, 40, 1000>(), check_turned<float, 0, 300, 40>();
  for (const auto& [m, n] : {std::pair(0, 5), std::pair(1, 1), std::pair(1, 2000), std::pair(2000, 1), std::pair(130, 515), std::pair(4100, 2050)}) {  // the last one past the caches
    ct::array<float, ct::dyn, ct::dyn> x({m, n});
    fill(x);
    const auto y = ct::jit([](auto x) { return ct::transpose(x); })(x);
    bool same = y.shape() == ct::shape{n, m};
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) same = same && y(j, i) == x(i, j);
    CHECK(same);
  }
}

TEST_CASE("elements are repeated side by side") {
  ct::array<float, 37, 101> x;
  fill(x);
  const auto check = [](const auto& x) {
    const auto [twice, thrice, nine, stacked] = ct::jit([](auto x) { return std::tuple(ct::repeat<2, -1>(x), ct::repeat<3, 1>(x), ct::repeat<9, 1>(x), ct::stack<-1>(x, x, x)); })(x);
    bool same = true;
    for (extent i = 0; i < 37; ++i)
      for (extent j = 0; j < 101; ++j) {
        for (int k = 0; k < 2; ++k) same = same && twice(i, 2 * j + k) == x(i, j);
        for (int k = 0; k < 3; ++k) same = same && thrice(i, 3 * j + k) == x(i, j) && stacked(i, j, k) == x(i, j);
        for (int k = 0; k < 9; ++k) same = same && nine(i, 9 * j + k) == x(i, j);
      }
    CHECK(same);
  };
  check(x), check(ct::array<float, ct::dyn, ct::dyn>(x));
}

TEST_CASE("kernels read copies of what lies across their rows") {
  constexpr auto f = [](auto x, auto y) { return std::tuple(y + ct::transpose(x), ct::sum(ct::transpose(x) * y, ct::axis<-1>), ct::nn::softmax(ct::transpose(x * 0.01f) + y * 0.01f)); };
  const auto check = [&](const auto& x, const auto& y) {
    const auto [sum, products, rows] = ct::jit(f)(x, y);
    const extent m = y.shape()[0], n = y.shape()[1];
    for (extent i = 0; i < m; ++i) {
      double product = 0, exponentials = 0;
      for (extent j = 0; j < n; ++j) product += double(x(j, i)) * y(i, j), exponentials += std::exp(0.01 * (x(j, i) + y(i, j)));
      bool same = true;
      for (extent j = 0; j < n; ++j) same = same && sum(i, j) == x(j, i) + y(i, j) && std::fabs(rows(i, j) * exponentials / std::exp(0.01 * (x(j, i) + y(i, j))) - 1) < 1e-4;
      CHECK((same && products(i) == Approx(product)));
    }
  };
  ct::array<float, 512, 70> x;
  ct::array<float, 70, 512> y;
  fill(x), fill(y);
  check(x, y);
  check(ct::array<float, ct::dyn, ct::dyn>(x), ct::array<float, ct::dyn, ct::dyn>(y));
  // Chosen for its sizes: a small one is read where it lies.
  const auto kernels = [](const auto& z) { return ct::jit([](auto z) { return ct::exp(z) + ct::transpose(z); }).kernels(z); };
  CHECK(kernels(ct::array<float, 1024, 1024>()).find("2 steps") != std::string::npos);
  CHECK(kernels(ct::array<float, 64, 64>()).find("1 steps") != std::string::npos);
  const auto few = [](auto z, auto i) { return 2.0f * ct::take<0>(ct::transpose(z), i); };  // not all of it is read
  CHECK(ct::jit(few).kernels(ct::array<float, 1024, 1024>(), ct::array<int, 3>()).find("arena of 128 bytes") != std::string::npos);
}

TEST_CASE("ranges to the end of an axis, and of axes of run-time extent") {
  const auto ranges = [](auto x) {  // [n]
    return std::tuple(x(ct::range_from<1>) - x(ct::range<0, -1>), ct::slice<ct::range<2, -3>>(x), ct::slice<ct::range_from<0>>(x));
  };
  const auto squares = [=](auto x) { return ct::sum(ct::square(std::get<0>(ranges(x)))) + ct::sum(std::get<1>(ranges(x)) * 3.0f); };
  for (int n : {5, 6, 40}) {
    ct::array<float, ct::dyn> x({n});
    fill(x);
    const auto [steps, inner, all] = ct::jit(ranges)(x);
    const auto g = ct::jit(ct::grad(squares))(x);
    REQUIRE((steps.extent(0) == n - 1 && inner.extent(0) == n - 5 && all == x));
    for (int i = 0; i + 1 < n; ++i) CHECK(steps(i) == x(i + 1) - x(i));
    for (int i = 0; i < n - 5; ++i) CHECK(inner(i) == x(i + 2));
    for (int i = 0; i < n; ++i) CHECK(g(i) == Approx((i > 0 ? 2 * steps(i - 1) : 0) - (i + 1 < n ? 2 * steps(i) : 0) + (i >= 2 && i < n - 3 ? 3 : 0)));
  }
  CHECK_THROWS_WITH(ct::jit(ranges)(ct::array<float, ct::dyn>({4})), "slice: argument leaf 0 [4], axis 0: the extent is 4 where at least 5 is needed");
  const ct::array<int, 6> x{0, 1, 2, 3, 4, 5};
  const auto [from, steps, back, last] = ct::jit([](auto x) { return std::tuple(x(ct::range_from<4>), x(ct::range_from<1, 2>), x(ct::range_from<4, -2>), x(ct::range_from<-2>)); })(x);
  CHECK(from == ct::array<int, 2>{4, 5});
  CHECK(steps == ct::array<int, 3>{1, 3, 5});
  CHECK(back == ct::array<int, 3>{4, 2, 0});
  CHECK(last == ct::array<int, 2>{4, 5});
}

TEST_CASE("arrays and expressions at indices") {
  const ct::array<float, 6> x{0, 1, 2, 3, 4, 5};
  CHECK(ct::array<float, 3>(x(ct::range<1, 4>)) == ct::array<float, 3>{1, 2, 3});
  CHECK(float(x(ct::index<2>)) == 2);
  CHECK(ct::array<float, 2>(x(ct::array<int, 2>{5, -6})) == ct::array<float, 2>{5, 0});
  CHECK(ct::array<float, 3>((2 * x)(ct::range_from<3>)) == ct::array<float, 3>{6, 8, 10});
  CHECK(float((2 * x)(3)) == 6);
  // In a trace, where constants are arguments of loops and transforms whose functions capture its variables.
  const auto loops = [](auto y) {  // [6]
    constexpr ct::array<float, 2, 6> table{{1, 2, 3, 4, 5, 6}, {2, 2, 2, 2, 2, 2}};
    const auto moved = [y](auto c) { return ct::at(c, ct::range<1, 6>).set(c(ct::range<0, 5>) + y(ct::range_from<1>)); };
    const auto turns = ct::fori_loop<0, 3>([=](auto, auto c) { return moved(c); }, ct::zeros<float, 6>());
    const auto until = std::get<0>(ct::while_loop([](auto s) { const auto [c, i] = s; return (c(5) >= 0.0f) & (i < 3); }, [=](auto s) { const auto [c, i] = s; return std::tuple(moved(c), i + 1); }, std::tuple(ct::zeros<float, 6>(), 0)));
    const auto rows = ct::vmap([y](auto t) { return y(ct::range<0, 2>) * t(ct::index<0>); })(ct::ones<float, 4, 3>());
    const auto slope = ct::grad([y](auto t) { return ct::sum(y * t * t(ct::index<0>)); })(ct::ones<float, 6>());
    return std::tuple(turns, until, rows, slope, y * table(ct::index<1>), y(ct::range_from<3>) * ct::exp(ct::arange<float, 6>())(ct::range<0, 3>));
  };
  const auto [turns, until, rows, slope, doubled, tail] = ct::jit(loops)(x);
  const ct::array<float, 6> sums{0, 1, 3, 6, 9, 12};  // of up to three neighbours
  CHECK(turns == sums);
  CHECK(until == sums);
  CHECK(rows == ct::array<float, 4, 2>{{0, 1}, {0, 1}, {0, 1}, {0, 1}});
  CHECK(slope == ct::array<float, 6>{15, 1, 2, 3, 4, 5});
  CHECK(doubled == ct::array<float, 6>(2 * x));
  for (int i = 0; i < 3; ++i) CHECK(tail(i) == Approx((i + 3) * std::exp(double(i))));
}

TEST_CASE("diagonals and traces of matrices that are square when the program runs") {
  ct::array<float, ct::dyn, ct::dyn> m({3, 3});
  fill(m);
  const auto both = [](auto m) { return std::tuple(ct::diag(m), ct::trace(m)); };
  const auto [diagonal, trace] = ct::jit(both)(m);
  CHECK(diagonal == ct::array<float, ct::dyn>{m(0, 0), m(1, 1), m(2, 2)});
  CHECK(double(trace()) == Approx(m(0, 0) + m(1, 1) + m(2, 2)));
  CHECK_THROWS_WITH(ct::jit(both)(ct::array<float, ct::dyn, ct::dyn>({3, 2})), "diagonal: extents that must be equal differ: argument leaf 0 [3,2], axis 0 is 3 and argument leaf 0 [3,2], axis 1 is 2");
  const ct::array<float, ct::dyn> x{1, 2, 3};
  CHECK(float(ct::jit([](auto x) { return ct::trace(ct::outer(x, x)); })(x)) == 14);
}
