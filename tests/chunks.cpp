/// What is done along a long axis, and ends in products that sum over it, is done chunk by chunk: the results are those of the whole.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

constexpr auto linear = [](auto w, auto x, auto y) { return ct::mean(ct::square(ct::matmul(x, w) - y)); };
constexpr auto network = [](auto w, auto b, auto v, auto x, auto y) {
  return ct::mean(ct::square(ct::matmul(ct::tanh(ct::matmul(x, w) + b), v) - y));
};
/// Samples in columns; each sample's error is a result, too.
constexpr auto errors_and_gradient = [](auto w, auto x) {
  const auto errors = [&](auto u) { return ct::square(ct::sum(ct::sin(ct::matmul(u, x)), ct::axis<0>) - 1.0); };
  return std::tuple(errors(w), ct::grad([&](auto u) { return ct::sum(errors(u)); })(w), ct::sin(x));
};
/// Other sums over the rows beside the product, rows that know their numbers, and integers.
constexpr auto statistics = [](auto w, auto x) {
  constexpr int n = int(x.extent(0));
  const auto z = ct::matmul(x, w) + 1e-3 * ct::expand_dims<1>(ct::astype<double>(ct::iota<std::int32_t, n>(x)));
  return std::tuple(ct::matmul(ct::transpose(x), ct::exp(-z)), ct::max(z, ct::axis<0>), ct::min(z), ct::prod(1.0 + 1e-6 * z, ct::axis<0>),
                    ct::any(z > 0.5, ct::axis<0>), ct::all(z > -9.0, ct::axis<0>), ct::sum(ct::astype<std::int32_t>(z * 10.0), ct::axis<0>));
};
/// The mean over all rows is needed before the rows can go on: two passes.
constexpr auto centred = [](auto w, auto x, auto y) {
  const auto h = ct::tanh(ct::matmul(x, w));
  return ct::sum(ct::square(h - ct::mean(h, ct::axis<0>)) * y);
};
/// Mixtures: a batch of triangular factors and all points.
constexpr auto mixture = [](auto q, auto centres, auto x) {
  const auto form = [](auto q, auto c, auto x) { return ct::sum(ct::square(ct::matmul(ct::tril(q), x - c))); };
  const auto forms = ct::vmap(ct::vmap(form, ct::in_axes<ct::none, ct::none, 0>), ct::in_axes<0, 0, ct::none>)(q, centres, x);
  return ct::sum(ct::logsumexp(-0.05 * forms, ct::axis<0>));
};

constexpr auto quartic = [](auto w, auto x, auto y) { return ct::mean(ct::square(ct::square(ct::matmul(x, w)) - y)); };
constexpr auto turned = [](auto w, auto direction, auto x, auto y) {
  return std::get<1>(ct::jvp([&](auto u) { return ct::grad(quartic)(u, x, y); }, std::tuple(w), std::tuple(direction)));
};

template <class F, class... A> std::string kernels(const F& f, const A&... x) { return ct::jit(f).kernels(x...); }
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEMPLATE_TEST_CASE("gradients of losses over many samples", "", float, double) {
  using T = TestType;
  constexpr double tolerance = std::is_same_v<T, float> ? 2e-5 : 1e-12;
  const auto x = between<T, 9000, 72>(-1, 1);
  const auto w = between<T, 72>(-1, 1, 1);
  const auto y = between<T, 9000>(-1, 1, 2);
  CHECK(has(kernels(ct::value_and_grad(linear), w, x, y), "chunk, "));
  check_jit(ct::value_and_grad(linear), tolerance, w, x, y);
  const auto v = between<T, 72, 24>(-0.3, 0.3, 3);
  const auto u = between<T, 24, 7>(-0.3, 0.3, 4);
  const auto b = between<T, 24>(-1, 1, 5);
  const auto z = between<T, 9000, 7>(-1, 1, 6);
  const auto by_weights = ct::value_and_grad(network, ct::wrt<0, 1, 2>);
  CHECK(has(kernels(by_weights, v, b, u, x, z), "chunk, "));
  check_jit(by_weights, tolerance, v, b, u, x, z);
  check_jit(ct::grad(network, ct::wrt<0, 3>), tolerance, v, b, u, x, z);  // one cotangent per sample
}

TEST_CASE("a number of rows that nothing divides") {
  const auto x = between<double, 9001, 72>(-1, 1);
  const auto w = between<double, 72>(-1, 1, 1);
  const auto y = between<double, 9001>(-1, 1, 2);
  CHECK(has(kernels(ct::grad(linear), w, x, y), "last chunk"));
  check_jit(ct::value_and_grad(linear), 1e-12, w, x, y);
}

TEST_CASE("rows whose number is known at run time only") {
  const auto f = ct::value_and_grad(network, ct::wrt<0, 1, 2>);
  const auto w = between<double, 12, 24>(-0.3, 0.3);
  const auto v = between<double, 24, 3>(-0.3, 0.3, 1);
  const auto b = between<double, 24>(-1, 1, 2);
  const auto all_x = between<double, 20000, 12>(-1, 1, 3);
  const auto all_y = between<double, 20000, 3>(-1, 1, 4);
  for (const ct::extent n : {0, 1, 2, 37, 4096, 20000}) {
    ct::array<double, ct::dyn, 12> x({n, 12});
    ct::array<double, ct::dyn, 3> y({n, 3});
    std::copy_n(all_x.data(), x.size(), x.data());
    std::copy_n(all_y.data(), y.size(), y.data());
    const std::string text = kernels(f, w, b, v, x, y);
    CHECK((has(text, "chunk") && text.find("gemm") > text.find("chunk")));  // all products
    if (n > 0) check_jit(f, 1e-12, w, b, v, x, y);
    else CHECK(std::isnan(std::get<0>(ct::jit(f)(w, b, v, x, y))()));  // the mean of nothing
  }
  const ct::array<double, ct::dyn, 12> none({0, 12});
  const auto sums = ct::grad([](auto w, auto x) { return ct::sum(ct::square(ct::matmul(x, w))); });
  CHECK(ct::jit(sums)(w, none) == ct::zeros<double, 12, 24>());
}

TEST_CASE("rows along another axis, and results of rows") {
  const auto w = between<double, 10, 16>(-1, 1);
  const auto x = between<double, 16, 12000>(-1, 1, 1);
  CHECK(has(kernels(errors_and_gradient, w, x), "chunk, "));
  check_jit(errors_and_gradient, 1e-12, w, x);
  const auto columns = between<double, 16, 12007>(-1, 1, 1);
  check_jit(errors_and_gradient, 1e-12, w, columns);
}

TEST_CASE("every kind of sum") {
  const auto w = between<double, 16, 24>(-0.2, 0.2);
  const auto x = between<double, 9600, 16>(-1, 1, 1);
  CHECK(has(kernels(statistics, w, x), "chunk, "));
  check_jit(statistics, 1e-11, w, x);
}

TEST_CASE("two passes where one needs the whole of the other") {
  const auto w = between<float, 16, 24>(-1, 1);
  const auto x = between<float, 12800, 16>(-1, 1, 1);
  const auto y = between<float, 12800, 24>(0, 1, 2);
  CHECK(has(kernels(ct::grad(centred), w, x, y), "chunk, "));
  check_jit(ct::value_and_grad(centred), 3e-5, w, x, y);
}

TEST_CASE("products that sum over the rows of what is there already") {
  constexpr auto product = [](auto a, auto b) { return ct::matmul(ct::transpose(a), b); };
  constexpr auto indexed = [](auto a, auto b) { return ct::einsum<"ni,nj->ij">(a, b); };
  constexpr auto covariance = [](auto a) {
    const auto c = a - ct::mean(a, ct::axis<0>);
    return ct::matmul(ct::transpose(c), c);
  };
  const auto x = between<float, 9000, 72>(-1, 1), y = between<float, 9000, 72>(-1, 1, 1);
  const auto z = between<double, 9007, 20>(-1, 1, 2);
  const auto v = between<float, 9000>(-1, 1, 3);
  CHECK(has(kernels(product, x, x), "chunk, "));
  CHECK(has(kernels(product, x, v), "chunk, "));
  CHECK(has(kernels(indexed, x, y), "chunk, "));
  CHECK(has(kernels(product, z, z), "last chunk"));
  CHECK(has(kernels(covariance, x), "chunk, "));
  check_jit(product, 2e-5, x, x);
  check_jit(product, 2e-5, x, v);
  check_jit(indexed, 2e-5, x, y);
  check_jit(product, 1e-12, z, z);
  check_jit(covariance, 2e-5, x);
  for (const ct::extent n : {0, 1, 63, 5000}) {
    ct::array<double, ct::dyn, 20> some({n, 20});
    std::copy_n(z.data(), some.size(), some.data());
    check_jit(product, 1e-12, some, some);
  }
}

TEST_CASE("batches of products with triangles") {
  const auto q = between<double, 7, 24, 24>(-0.5, 0.5);
  const auto centres = between<double, 7, 24>(-1, 1, 1);
  const auto x = between<double, 1500, 24>(-1, 1, 2);
  const std::string made = kernels(ct::grad(mixture, ct::wrt<0, 1>), q, centres, x);
  CHECK(has(made, "chunk, "));
  CHECK(has(made, "gemm(0,1,2,0,1,2,0,2,0)"));  // each chunk has the factors in rows
  check_jit(ct::value_and_grad(mixture, ct::wrt<0, 1>), 1e-12, q, centres, x);
}

TEST_CASE("triangles along the rows") {
  const auto x = between<double, 2500, 32>(-1, 1);
  const auto upper = [](auto x) {  // [32, 2500], of which chunks have some columns
    const auto y = ct::transpose(ct::sin(x));
    return ct::sum(ct::sin(0.02 * ct::matmul(ct::triu<0>(y) * y, ct::transpose(y))));
  };
  CHECK(has(kernels(ct::value_and_grad(upper), x), "chunk, "));
  check_jit(ct::value_and_grad(upper), 1e-10, x);
  const auto lower = [](auto x) { return ct::matmul(ct::transpose(ct::tril<0>(ct::sin(x))), ct::exp(x)); };
  check_jit(lower, 1e-11, x);
  check_jit(ct::grad([=](auto x) { return ct::sum(ct::square(lower(x))); }), 1e-11, x);
}

TEST_CASE("derivatives of gradients, and batches of them") {
  const auto x = between<double, 9000, 72>(-1, 1);
  const auto w = between<double, 72>(-1, 1, 1), direction = between<double, 72>(-1, 1, 2), other = between<double, 72>(-1, 1, 3);
  const auto y = between<double, 9000>(-1, 1, 2);
  CHECK(has(kernels(turned, w, direction, x, y), "chunk, "));
  check_jit(turned, 1e-12, w, direction, x, y);
  const auto dot = [](const auto& a, const auto& b) { return ct::jit([](auto a, auto b) { return ct::sum(a * b); })(a, b)(); };
  CHECK(dot(other, ct::jit(turned)(w, direction, x, y)) == Approx(dot(direction, ct::jit(turned)(w, other, x, y))).epsilon(1e-12));
  const auto many = between<double, 5, 72>(-1, 1, 4);
  const auto of_many = ct::vmap(ct::grad(quartic), ct::in_axes<0, ct::none, ct::none>);
  CHECK(has(kernels(of_many, many, x, y), "chunk, "));
  check_jit(of_many, 1e-12, many, x, y);
}

TEST_CASE("the results do not depend on the number of threads") {
  const auto f = ct::value_and_grad(network, ct::wrt<0, 1, 2>);
  const auto x = between<float, 20011, 16>(-1, 1);
  const auto w = between<float, 16, 24>(-0.3, 0.3, 1);
  const auto v = between<float, 24, 3>(-0.3, 0.3, 2);
  const auto b = between<float, 24>(-1, 1, 3);
  const auto y = between<float, 20011, 3>(-1, 1, 4);
  ct::set_num_threads(1);
  const auto one = ct::jit(f)(w, b, v, x, y);
  for (const int threads : {2, 3, 7}) {
    ct::set_num_threads(threads);
    CHECK(ct::jit(f)(w, b, v, x, y) == one);
  }
  ct::set_num_threads(2);
}

TEST_CASE("what gains nothing is done as before") {
  const auto few = between<double, 200, 32>(-1, 1);  // in the cache anyway
  CHECK(!has(kernels(ct::grad(linear), between<double, 32>(-1, 1), few, between<double, 200>(-1, 1)), "chunk"));
  const auto wide = between<float, 2048, 640>(-1, 1);  // weights as large as the samples
  CHECK(!has(kernels(ct::grad([](auto w, auto x) { return ct::sum(ct::square(ct::matmul(x, w))); }), between<float, 640, 1280>(-1, 1), wide), "chunk"));
  const auto terms_last = [](auto a, auto b) { return ct::matmul(a, ct::transpose(b)); };  // a row's terms lie together
  CHECK(!has(kernels(terms_last, between<float, 16, 9000>(-1, 1), between<float, 24, 9000>(-1, 1)), "chunk"));
}
