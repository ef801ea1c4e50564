/// Steps that work row by row run together, a block of rows at a time: the results are those of the steps one by one.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

constexpr auto softmax = [](auto x) { return ct::nn::softmax(x); };
constexpr auto normalized = [](auto x) {
  const auto d = x - ct::mean(x, ct::axis<1>, ct::keepdims);
  return d / ct::sqrt(ct::mean(d * d, ct::axis<1>, ct::keepdims) + 1e-3);
};
template <class F> struct pullback {
  template <class X, class G> constexpr auto operator()(const X& x, const G& g) const { return std::get<1>(ct::vjp(F{}, x))(g); }
};
constexpr pullback<decltype(softmax)> softmax_pullback;
constexpr pullback<decltype(normalized)> normalized_pullback;

/// exp(x_b W_b) and products with it, batch by batch.
constexpr auto products = [](auto x, auto w, auto shared) {
  const auto y = ct::exp(ct::einsum<"bij,bjk->bik">(ct::sin(x), w));
  const auto z = ct::einsum<"bik,bil->bkl">(y, x * 2.0);
  return std::tuple(ct::sum(y, ct::axis<1>), z, ct::einsum<"bik,kl->bil">(y - 1.0, shared));
};

template <class... A> bool runs_together(const A&... text) { return ((text.find("run together") != std::string::npos) && ...); }

}  // namespace

TEST_CASE("a few long rows are rows, not elements of instances along them") {
  const auto x = between<float, 40, 6000>(-1, 1);
  const auto softmax = ct::jit([](auto v) { return ct::nn::softmax(v); });
  CHECK(softmax.kernels(x).starts_with("steps 0 to 2 run together"));
}

TEMPLATE_TEST_CASE("normalizations of rows and their derivatives", "", float, double) {
  using T = TestType;
  constexpr double tolerance = std::is_same_v<T, float> ? 2e-5 : 1e-12;
  const auto x = between<T, 301, 303>(-2, 2);
  const auto g = between<T, 301, 303>(-1, 1, 1);
  CHECK(runs_together(ct::jit(softmax).kernels(x), ct::jit(normalized).kernels(x), ct::jit(softmax_pullback).kernels(x, g), ct::jit(normalized_pullback).kernels(x, g)));
  check_jit(softmax, tolerance, x);
  check_jit(normalized, tolerance, x);
  check_jit(softmax_pullback, tolerance, x, g);
  check_jit(normalized_pullback, tolerance, x, g);
}

TEST_CASE("rows whose number is known at run time only") {
  const auto some = between<double, 3000, 20>(-2, 2);
  for (const ct::extent n : {0, 1, 5, 64, 500, 3000}) {
    ct::array<double, ct::dyn, 20> x({n, 20});
    std::copy_n(some.data(), 20 * n, x.data());
    CHECK(runs_together(ct::jit(softmax).kernels(x)));
    const auto y = ct::jit(softmax)(x);
    REQUIRE(y.extent(0) == n);
    for (ct::extent i = 0; i < n; ++i) {
      double sum = 0;
      for (int j = 0; j < 20; ++j) sum += std::exp(x(i, j));
      for (int j = 0; j < 20; ++j) CHECK(std::abs(y(i, j) - std::exp(x(i, j)) / sum) <= 1e-14);
    }
  }
}

TEST_CASE("batches of matrix products with what stands before and behind them") {
  const auto x = between<double, 40, 33, 31>(-1, 1);
  const auto w = between<double, 40, 31, 37>(-0.2, 0.2, 1);
  const auto shared = between<double, 37, 5>(-1, 1, 2);
  CHECK(runs_together(ct::jit(products).kernels(x, w, shared)));
  check_jit(products, 1e-12, x, w, shared);
  const auto gradient = ct::grad([](auto x, auto w, auto shared) {
    const auto [a, b, c] = products(x, w, shared);
    return ct::sum(a * a) + ct::sum(ct::tanh(b)) + ct::sum(ct::sin(c));
  }, ct::wrt<0, 1, 2>);
  check_jit(gradient, 1e-11, x, w, shared);
}

TEST_CASE("results do not depend on the number of threads") {
  const auto x = between<float, 3001, 70>(-2, 2);
  const auto g = between<float, 3001, 70>(-1, 1, 1);
  ct::set_num_threads(1);
  const auto one = ct::jit(normalized_pullback)(x, g);
  for (const int threads : {2, 3}) {
    ct::set_num_threads(threads);
    CHECK(ct::jit(normalized_pullback)(x, g) == one);
  }
  ct::set_num_threads(2);
}

TEST_CASE("unrelated steps, donated arguments and loops around row blocks") {
  const auto mixed = [](auto x, auto y) {  // sums over rows lie between the row-wise steps of x and y
    const auto p = softmax(x);
    const auto m = ct::sum(ct::tanh(y), ct::axis<0>);
    const auto q = normalized(p + m);
    return std::tuple(ct::sum(q, ct::axis<0>), softmax(q * 3.0), ct::max(y));
  };
  const auto x = between<double, 300, 201>(-2, 2);
  const auto y = between<double, 300, 201>(-1, 1, 1);
  check_jit(mixed, 1e-12, x, y);
  const auto finished = [](auto x, auto w) {  // between them, a product with a step on its finished rows, which stay together
    const auto p = softmax(x);
    const auto t = ct::tanh(ct::matmul(ct::cos(x), w));
    return std::tuple(softmax(p * t), t, ct::sum(p, ct::axis<0>));
  };
  check_jit(finished, 1e-12, x, between<double, 201, 201>(-0.1, 0.1, 2));
  auto given = x;
  CHECK(ct::jit(softmax)(std::move(given)) == ct::jit(softmax)(x));
  const auto other_rows = ct::jit([](auto x) { return softmax(x + ct::transpose(x)) + softmax(x - ct::flip<0>(x)); });
  const auto square = between<double, 300, 300>(-2, 2);
  auto taken = square;
  CHECK(other_rows(std::move(taken)) == other_rows(square));
  const auto iterated = [](auto x) { return ct::fori_loop<0, 5>([](auto, auto c) { return softmax(c * 1.5); }, x); };
  auto expected = x;
  for (int i = 0; i < 5; ++i) expected = ct::jit([](auto c) { return softmax(c * 1.5); })(expected);
  CHECK(ct::jit(iterated)(x) == expected);
  const auto remat = ct::grad([](auto x) { return ct::sum(ct::square(ct::checkpoint(normalized)(ct::sin(softmax(x))))); });
  check_jit(remat, 1e-11, x);
}

namespace {
/// A layer norm with gain and bias, whose cotangents are sums over rows; sums of everything, extremes and counts beside them.
constexpr auto layer = [](auto x, auto gain, auto bias) { return normalized(x) * gain + bias; };
constexpr auto layer_both_ways = [](auto g, auto x, auto gain, auto bias) {
  const auto [y, pullback] = ct::vjp(layer, x, gain, bias);
  const auto [by_x, by_gain, by_bias] = pullback(g);
  return std::tuple(y, by_x, by_gain, by_bias, ct::sum(by_x * y), ct::max(by_x, ct::axis<0>), ct::sum(ct::astype<std::int32_t>(y > 0), ct::axis<0>), ct::any(y > 3.0, ct::axis<0>));
};
/// Sums over rows that are used row by row afterwards: of square arrays, whose sums look like rows.
constexpr auto used_sums = [](auto x) {
  const auto p = softmax(x);
  const auto columns = ct::sum(p * p, ct::axis<0>), rows = ct::sum(p * x, ct::axis<1>);
  return std::tuple(softmax(p * ct::expand_dims<1>(columns)), softmax(p + columns) + ct::expand_dims<1>(rows), ct::sum(p) * p);
};
}  // namespace

TEST_CASE("what reads other rows of a product waits for all of them") {
  const auto x = between<double, 257, 257>(-1, 1), w = between<double, 257, 257>(-1, 1, 2);
  const auto rolled = [](auto x, auto w) {
    const auto p = ct::matmul(x, w) * 0.1;
    return p + ct::roll<0>(p, 2);
  };
  check_jit(rolled, 1e-12, x, w);
  CHECK(ct::jit(rolled).kernels(x, w).find("finished rows") == std::string::npos);
  const auto derivatives = ct::grad([rolled](auto x, auto w) { return ct::sum(ct::square(ct::flip<0>(rolled(x, w) * ct::matmul(w, x)))); }, ct::wrt<0, 1>);
  check_jit(derivatives, 1e-10, x, w);
  // Along the rows there is nothing to wait for.
  const auto along = [](auto x, auto w) {
    const auto p = ct::matmul(x, w) * 0.1;
    return p + ct::roll<1>(p, 2);
  };
  check_jit(along, 1e-12, x, w);
  CHECK(ct::jit(along).kernels(x, w).find("finished rows") != std::string::npos);
}

TEMPLATE_TEST_CASE("sums over rows beside row by row steps", "", float, double) {
  using T = TestType;
  constexpr double tolerance = std::is_same_v<T, float> ? 3e-5 : 1e-12;
  const auto x = between<T, 1501, 130>(-2, 2), g = between<T, 1501, 130>(-1, 1, 1);
  const auto gain = between<T, 130>(0.5, 2, 2), bias = between<T, 130>(-1, 1, 3);
  const std::string text = ct::jit(layer_both_ways).kernels(g, x, gain, bias);
  CHECK(text.starts_with("steps 0 to "));
  check_jit(layer_both_ways, tolerance, g, x, gain, bias);
  ct::set_num_threads(1);
  const auto one = ct::jit(layer_both_ways)(g, x, gain, bias);
  for (const int threads : {2, 3}) {
    ct::set_num_threads(threads);
    CHECK(ct::jit(layer_both_ways)(g, x, gain, bias) == one);
  }
  ct::set_num_threads(2);
  check_jit(used_sums, tolerance, between<T, 300, 300>(-2, 2));
}

TEST_CASE("sums over rows whose number is known at run time only") {
  const auto some = between<double, 2000, 40>(-2, 2);
  const auto gain = between<double, 40>(0.5, 2, 2);
  for (const ct::extent n : {0, 1, 3, 100, 2000}) {
    ct::array<double, ct::dyn, 40> x({n, 40});
    std::copy_n(some.data(), 40 * n, x.data());
    check_jit([](auto x, auto gain) { return layer_both_ways(ct::cos(x), x, gain, gain); }, 1e-11, x, gain);
  }
}

TEST_CASE("rows whose length is known at run time only, and their sums") {
  const auto some = between<float, 90000>(-2, 2);
  const auto filled = [&]<class X>(X x) {
    std::copy_n(some.data(), x.size(), x.data());
    return x;
  };
  const auto check = [&](const auto& x, const auto& gain) {
    CHECK(runs_together(ct::jit(softmax).kernels(x), ct::jit(softmax_pullback).kernels(x, x), ct::jit(layer_both_ways).kernels(x, x, gain, gain)));
    check_jit(softmax, 2e-5, x);
    if (x.size() > 0) check_jit([](auto x, auto gain) { return layer_both_ways(ct::cos(x), x, gain, gain); }, 3e-5, x, gain);
  };
  for (const ct::extent m : {1, 5, 64, 700, 40000}) {
    const auto gain = filled(ct::array<float, ct::dyn>({m}));
    if (m <= 1000) check(filled(ct::array<float, 64, ct::dyn>({64, m})), gain);
    check(filled(ct::array<float, ct::dyn, ct::dyn>({m > 1000 ? 2 : 70, m})), gain);
  }
  check(ct::array<float, ct::dyn, ct::dyn>({0, 5}), filled(ct::array<float, ct::dyn>({5})));
  check(ct::array<float, 64, ct::dyn>({64, 0}), ct::array<float, ct::dyn>({0}));
}

namespace {

/// Layer normalization with a gain and a bias, and the cotangents of all three.
constexpr auto layer_norm = [](auto x, auto gain, auto bias) {
  const auto d = x - ct::mean(x, ct::axis<1>, ct::keepdims);
  return d * ct::rsqrt(ct::mean(ct::square(d), ct::axis<1>, ct::keepdims) + 1e-3) * gain + bias;
};
constexpr auto layer_norm_both_ways = [](auto g, auto x, auto gain, auto bias) {
  const auto [y, pull] = ct::vjp(layer_norm, x, gain, bias);
  return std::tuple(y, pull(g));
};
int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("layer normalization and its cotangents take three passes over the rows") {
  const auto x = between<double, 300, 256>(-2, 2), g = between<double, 300, 256>(-1, 1, 1);
  const auto gain = between<double, 256>(0.5, 1.5, 2), bias = between<double, 256>(-1, 1, 3);
  CHECK(count(ct::jit(layer_norm_both_ways).kernels(g, x, gain, bias), "kernel over [300,256]") == 3);
  check_jit(layer_norm_both_ways, 1e-12, g, x, gain, bias);
  check_jit(layer_norm_both_ways, 1e-12, between<double, 3, 7>(-1, 1, 1), between<double, 3, 7>(-2, 2), between<double, 7>(0.5, 1.5, 2), between<double, 7>(-1, 1, 3));
}

TEST_CASE("sums of terms with factors of their rows") {
  const auto sums = [](auto x, auto y, auto a, auto b) {
    const auto column = [](auto v) { return ct::expand_dims<1>(v); };
    return std::tuple(ct::sum(column(a) * x + column(b) * y, ct::axis<1>), ct::sum(column(a) * x - (column(b) * y + x * column(a * b)), ct::axis<1>), ct::sum(-(x * column(b) - y * column(a)), ct::axis<1>),
                      ct::sum(column(a) * x + y, ct::axis<1>), ct::sum(x * a(ct::index<0>) + y * b(ct::index<1>)), ct::sum(column(a) * x + column(b) * y, ct::axis<0>));
  };
  check_jit(sums, 1e-13, between<double, 6, 5>(-1, 1), between<double, 6, 5>(-1, 1, 1), between<double, 6>(-1, 1, 2), between<double, 6>(-1, 1, 3));
  check_rules_of(sums, std::tuple(between<double, 3, 4>(-1, 1), between<double, 3, 4>(-1, 1, 1), between<double, 3>(-1, 1, 2), between<double, 3>(-1, 1, 3)));
  // What is subtracted from a row is no factor: the differences are small, and their sum is exact.
  ct::array<float, 2, 64> far = ct::full<float, 2, 64>(3e7f);
  far(0, 3) += 8, far(1, 9) -= 16;
  const auto shifted = ct::jit([](auto x) { return ct::sum(x - ct::slice<ct::full_extent, ct::range<0, 1>>(x), ct::axis<1>); })(far);
  CHECK(shifted(0) == 8);
  CHECK(shifted(1) == -16);
}

namespace {
/// The sum of a product with quotients by what rows are reduced to; and of one whose other factor is a product of matrices.
constexpr auto shares = [](auto x, auto g) {
  const auto e = ct::exp(x), y = e / ct::sum(e, ct::axis<1>, ct::keepdims);
  return std::tuple(y, ct::sum(-g * (y / ct::sum(e, ct::axis<1>, ct::keepdims)), ct::axis<1>), ct::sum(y * (g * 3.0), ct::axis<1>));
};
constexpr auto mixed_shares = [](auto x, auto w) {
  const auto e = ct::exp(x), y = e / ct::sum(e, ct::axis<1>, ct::keepdims);
  return std::pair(y, ct::sum(y * ct::matmul(x, w), ct::axis<1>));
};
constexpr auto softmax_both_ways = [](auto x, auto g) {
  const auto [y, pull] = ct::vjp(softmax, x);
  return std::tuple(y, pull(g));
};
template <class T, ct::extent N, ct::extent M> void check_shares(double tolerance) {
  const auto x = between<T, N, M>(-2, 2), g = between<T, N, M>(-1, 1, 1);
  check_jit(shares, tolerance, x, g);
  check_jit(softmax_both_ways, tolerance, x, g);
}
}  // namespace

TEST_CASE("sums of quotients by what their rows are reduced to need not wait for it") {
  check_shares<float, 603, 1000>(2e-5);  // larger than the caches: the rows to come are asked for
  check_shares<double, 301, 900>(1e-12);
  check_shares<double, 7, 33>(1e-12);
  check_shares<float, 1, 5>(2e-5);
  check_shares<float, 40, 1>(2e-5);
  check_jit(mixed_shares, 1e-12, between<double, 50, 40>(-1, 1), between<double, 40, 40>(-1, 1, 1));
  using table = ct::array<float, ct::dyn, ct::dyn>;
  const auto some = between<float, 700, 900>(-2, 2);
  for (const auto& [n, m] : {std::pair{0, 7}, {1, 1}, {5, 31}, {64, 1000}, {700, 900}}) {
    table x({n, m}), g({n, m});
    for (ct::extent k = 0; k < x.size(); ++k) x.data()[k] = some.data()[k], g.data()[k] = some.data()[some.size() - 1 - k];
    check_jit(shares, 2e-5, x, g);
    check_jit(softmax_both_ways, 2e-5, x, g);
  }
  // The square of such a sum may be more than the largest number.
  ct::array<float, 20, 4> far, ones;
  std::fill_n(far.data(), far.size(), 60.0f), std::fill_n(ones.data(), ones.size(), 1.0f);
  check_jit(shares, 2e-5, far, ones);
  const auto x = between<float, 603, 1000>(-2, 2), g = between<float, 603, 1000>(-1, 1, 1);
  CHECK(count(ct::jit(softmax_both_ways).kernels(x, g), "kernel over [603,1000]") == 3);
  ct::set_num_threads(1);
  const tensors one = tensors_of(ct::jit(softmax_both_ways)(x, g));
  for (const int threads : {2, 7}) {
    ct::set_num_threads(threads);
    CHECK(difference(tensors_of(ct::jit(softmax_both_ways)(x, g)), one, 0) == "");
  }
  ct::set_num_threads(2);
}

TEST_CASE("a kernel that nothing waits for joins a later one, but not past what reads its results") {
  const auto x = between<double, 300, 256>(-1, 1);
  const auto apart = [](auto x) {  // the first kernel's result is a column's sum, which the second needs
    const auto y = ct::exp(x);
    return std::tuple(y, x * ct::sum(y, ct::axis<0>));
  };
  const auto together = [](auto x) {
    const auto centered = x - ct::mean(x, ct::axis<0>);
    return std::tuple(ct::sin(x) * 0.5, centered * centered);
  };
  const auto multiplied = [](auto x, auto w) {  // a matrix product reads what the first kernel makes
    const auto y = ct::sin(x);
    return std::tuple(x * ct::sum(ct::matmul(y, w)), x - ct::sum(ct::cumsum(y, ct::axis<1>)));
  };
  const auto w = between<double, 256, 40>(-1, 1, 1);
  check_jit(multiplied, 1e-12, x, w);
  CHECK(count(ct::jit(apart).kernels(x), "kernel over [300,256]") == 2);
  CHECK(count(ct::jit(together).kernels(x), "kernel over [300,256]") == 2);  // the sum's, and one for both results
  check_jit(apart, 1e-12, x);
  check_jit(together, 1e-12, x);
}

TEST_CASE("large results pass by the caches: any length, rows that are not aligned, extents known at run time") {
  const auto f = [](auto x) { return std::tuple(2.0f * x + 1.0f, ct::sum(x, ct::axis<0>)); };
  const auto check = [&](const auto& x) {
    const auto [y, sums] = ct::jit(f)(x);
    extent wrong = 0;
    for (extent k = 0; k < x.size(); ++k) wrong += y.data()[k] != 2.0f * x.data()[k] + 1.0f;
    CHECK(wrong == 0);
  };
  constexpr extent rows = 211, columns = 39773;  // more than 32 MiB
  const auto number = [](extent k) { return float(k % 1021) * 0.25f; };
  ct::array<float, rows, columns> x;
  ct::array<float, ct::dyn, ct::dyn> y({rows, columns});
  for (extent k = 0; k < x.size(); ++k) x.data()[k] = y.data()[k] = number(k);
  check(x);
  check(y);
  ct::array<double, 5000003> z;
  for (extent k = 0; k < z.size(); ++k) z(k) = double(k);
  const auto w = ct::jit([](auto v) { return ct::flip<0>(v) * 3.0; })(z);
  extent wrong = 0;
  for (extent k = 0; k < z.size(); ++k) wrong += w(k) != 3.0 * double(z.size() - 1 - k);
  CHECK(wrong == 0);
}

namespace {
/// Quadratic forms of points minus centres, as in a mixture of Gaussians: [k, d, d] factors, [k, d] centres, [n, d] points.
constexpr auto forms = [](auto q, auto centres, auto x) {
  return ct::vmap([](auto q, auto centre, auto x) { return ct::vmap([](auto q, auto c, auto x) { return ct::sum(ct::square(ct::matmul(ct::tril(q), x - c))); }, ct::in_axes<ct::none, ct::none, 0>)(q, centre, x); },
                  ct::in_axes<0, 0, ct::none>)(q, centres, x);
};
constexpr auto forms_loss = [](auto q, auto centres, auto x) { return ct::sum(ct::logsumexp(-0.05 * forms(q, centres, x), ct::axis<0>)); };
constexpr auto forms_gradient = ct::value_and_grad(forms_loss, ct::wrt<0, 1>);
}  // namespace

TEMPLATE_TEST_CASE("a large array that two products use is made for each of them, in its row blocks", "", float, double) {
  using T = TestType;
  const auto q = between<T, 18, 48, 48>(-0.5, 0.5);
  const auto centres = between<T, 18, 48>(-1, 1, 1);
  const auto x = between<T, 151, 48>(-1, 1, 2);
  const std::string text = ct::jit(forms_gradient).kernels(q, centres, x);
  const std::size_t first = text.find("made_for_product"), second = text.find("made_for_product", first + 1);
  REQUIRE(second != std::string::npos);
  for (const std::size_t at : {first, second}) CHECK(text.substr(text.find("writes", at), 20).find("block+") != std::string::npos);
  check_jit(forms_gradient, std::is_same_v<T, float> ? 2e-4 : 1e-11, q, centres, x);
  ct::set_num_threads(1);
  const auto one = ct::jit(forms_gradient)(q, centres, x);
  for (const int threads : {2, 3}) {
    ct::set_num_threads(threads);
    CHECK(ct::jit(forms_gradient)(q, centres, x) == one);
  }
  ct::set_num_threads(2);
}

TEST_CASE("batches of long matrices: operands in any layout, results that only some steps use, and sums of sums") {
  constexpr auto f = [](auto a, auto b, auto s) {  // [20, 700, 33] [20, 33, 31] [700]
    const auto y = ct::einsum<"bij,bjk->bik">(ct::sin(a), b);
    const auto z = ct::tanh(y) * ct::expand_dims<1>(s);
    const auto w = ct::einsum<"bik,bij->bkj">(z, a * 0.5);
    return std::tuple(w, ct::sum(z, ct::axis<1>), ct::sum(z, ct::axis<0, 1>), ct::max(z, ct::axis<2>), ct::einsum<"bkj,bj->bk">(w, ct::sum(a, ct::axis<1>)), ct::einsum<"bik,bil->bkl">(y, y));
  };
  check_jit(f, 1e-10, between<double, 20, 700, 33>(-1, 1), between<double, 20, 33, 31>(-0.2, 0.2, 1), between<double, 700>(-1, 1, 2));
  constexpr auto turned = [](auto a, auto b) {  // [17, 40, 640] [17, 640, 40]: contracted over what is not the outermost axis
    const auto p = ct::einsum<"bij,bkj->bik">(ct::exp(-a * a), a);
    const auto r = ct::einsum<"bij,bjk->bik">(ct::sin(b), ct::cos(a));
    return std::tuple(p, ct::sum(r, ct::axis<2>), ct::einsum<"bji,bjk->bik">(r, ct::sqrt(1.0 + b * b)));
  };
  check_jit(turned, 1e-10, between<double, 17, 40, 640>(-1, 1), between<double, 17, 640, 40>(-1, 1, 1));
}

TEST_CASE("sorts and sums along rows join the steps that make the rows and use them") {
  constexpr auto f = [](auto x, auto y) {  // [70] [150]: pairs
    const auto d = ct::abs(ct::expand_dims<1>(x) - ct::expand_dims<0>(y)) * ct::cos(ct::expand_dims<0>(y));
    const auto [nearest, places] = ct::top_k<5>(-d);
    return std::tuple(-nearest, places, ct::sum(ct::cumsum(d, ct::axis<1>) * d, ct::axis<1>), ct::slice<ct::full_extent, ct::range<0, 3>>(ct::sort(d)));
  };
  const auto x = between<double, 70>(-1, 1);
  const auto y = between<double, 150>(-1, 1, 1);
  const std::string text = ct::jit(f).kernels(x, y);
  CHECK(text.find("run together") < text.find("argsort(1,5"));
  CHECK(text.find("block+0 [70,150]") != std::string::npos);
  check_jit(f, 1e-12, x, y);
  const auto rows = [](auto x) {
    const auto p = softmax(x);
    return std::tuple(ct::argsort(p), ct::cumprod(p + 1.0, ct::axis<1>), ct::top_k<3>(p), ct::cumsum(p, ct::axis<0>));
  };
  check_jit(rows, 1e-12, between<double, 200, 40>(-1, 1));
  const auto inner = [](auto x) { return std::tuple(ct::cumsum(ct::exp(x), ct::axis<1>) * 2.0, ct::argsort<1>(ct::exp(x)), ct::cummax(ct::sin(x), ct::axis<2>)); };
  check_jit(inner, 1e-12, between<double, 60, 20, 30>(-1, 1));
  for (const ct::extent n : {0, 1, 7, 90}) {
    ct::array<float, ct::dyn, 50> z({n, 50});
    for (ct::extent k = 0; k < z.size(); ++k) z.data()[k] = float((k * 7919) % 1009) / 1009;
    check_jit([](auto z) { return std::tuple(ct::top_k<4>(ct::sin(z)), ct::cumsum(ct::sin(z), ct::axis<1>)); }, 1e-5, z);
  }
}
