/// jit: results, donation, into, run-time extents, allocations, threads, and what a program says of itself.

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"

namespace ct = cotangent;

// GCC takes the replaced operators for mismatched ones where it has inlined only one of them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace {
std::atomic<long> allocations{0};
}
#if !defined(__clang__) || !defined(COTANGENT_THREAD_SANITIZER)  // clang's thread sanitizer brings operators of its own: nothing is counted
void* operator new(std::size_t n) {
  ++allocations;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t n, std::align_val_t a) {
  ++allocations;
  if (void* p = std::aligned_alloc(std::size_t(a), (n + std::size_t(a) - 1) / std::size_t(a) * std::size_t(a))) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
#endif

namespace {

constexpr auto polynomial = [](auto a, auto b) { return ct::sin(a * b) + a * a * b; };
constexpr auto of_vectors = [](auto a, auto b) { return ct::sum(a * b) * ct::sum(ct::sin(a)); };
constexpr auto chain = [](auto x) {
  const auto y = ct::exp(-x * x) + 1;
  return std::tuple(ct::cumsum(y, ct::axis<0>) * 2, ct::sum(y));
};
constexpr auto descend = [](auto p, auto g) { return p - 0.1 * g; };
constexpr auto centered = [](auto x, auto w) { return (x - ct::mean(x, ct::axis<0>)) * w; };

template <class T, ct::extent... E> ct::array<T, E...> wavy(double step = 0.37) {
  ct::array<T, E...> a;
  double t = 0.1;
  for (T& x : a) x = T(std::sin(t)), t += step;
  return a;
}

}  // namespace

TEST_CASE("scalars and small arrays go through jit, and calls on them allocate nothing") {
  const auto f = ct::jit(polynomial);
  const auto df = ct::jit(ct::grad(polynomial, ct::wrt<0, 1>));
  const ct::array<double, 3> u{1, 2, 3}, v{4, 5, 6};
  const auto g = ct::jit(ct::grad(of_vectors, ct::wrt<0, 1>));
  const long before = allocations;
  const double value = f(1.5, 0.5);
  const auto [da, db] = df(1.5, 0.5);
  const auto [du, dv] = g(u, v);
  CHECK(allocations == before);
  CHECK(value == Approx(std::sin(0.75) + 1.125));
  CHECK(double(da) == Approx(0.5 * std::cos(0.75) + 1.5));
  CHECK(double(db) == Approx(1.5 * std::cos(0.75) + 2.25));
  const double s = std::sin(1.0) + std::sin(2.0) + std::sin(3.0);
  CHECK(dv(1) == Approx(2 * s));
  CHECK(du(2) == Approx(6 * s + 32 * std::cos(3.0)));
}

TEST_CASE("steady-state calls allocate nothing: into, donated and returned arrays") {
  const auto x = wavy<float, 100000>();
  const auto f = ct::jit(chain);
  auto out = f(x);
  auto p = wavy<float, 300, 40>();
  const auto g = wavy<float, 300, 40>(0.11);
  const auto step = ct::jit(descend);
  p = step(std::move(p), g);
  { const auto dropped = f(x); }
  const long before = allocations;
  for (int i = 0; i < 3; ++i) {
    f.into(out)(x);
    p = step(std::move(p), g);
    const auto dropped = f(x);
  }
#ifndef COTANGENT_THREAD_SANITIZER  // there, plain threads run the tasks, and making a thread allocates
  CHECK(allocations == before);
#else
  CHECK(allocations >= before);
#endif
}

TEST_CASE("an rvalue array gives its memory to the result, an lvalue keeps its elements") {
  auto p = wavy<float, 300, 40>();
  const auto kept = p;
  const auto g = wavy<float, 300, 40>(0.11);
  const auto step = ct::jit(descend);
  const auto fresh = step(p, g);
  CHECK(p == kept);
  const float* memory = p.data();
  const auto reused = step(std::move(p), g);
  CHECK(reused.data() == memory);
  CHECK(reused == fresh);
  CHECK_THROWS_WITH(step(p, g), Catch::Contains("moved-from"));
}

TEST_CASE("a donated array is not overwritten before its last read in the same kernel") {
  const ct::array<double, 3> c{0.5, -0.25, 1}, x{1, 2, 3};
  constexpr auto f = [](auto c, auto x) { return std::tuple(ct::sin(ct::matmul(ct::outer(x, x), c)) + x, ct::cos(c), c * 1.0 + x, c); };
  const auto want = ct::jit(f)(c, x);
  auto given = c;
  const auto got = ct::jit(f)(std::move(given), x);
  CHECK(std::get<0>(got) == std::get<0>(want));
  CHECK(std::get<1>(got) == std::get<1>(want));
  CHECK(std::get<2>(got) == std::get<2>(want));
  CHECK(std::get<3>(got) == c);
}

TEST_CASE("a donated array that is read again later, in another order, is not overwritten too early") {
  const auto f = ct::jit([](auto x) { return ct::flip<0>(x) + ct::sum(x); });
  const auto x = wavy<double, 5000>();
  const auto expected = f(x);
  auto y = x;
  CHECK(f(std::move(y)) == expected);
}

TEST_CASE("into writes into views and checks shapes and overlap first") {
  const auto x = wavy<float, 64, 8>(), w = wavy<float, 64, 8>(0.2);
  const auto f = ct::jit(centered);
  const auto expected = f(x, w);
  std::vector<float> memory(512);
  ct::view<float, 64, 8> v(memory);
  f.into(v)(x, w);
  for (int i = 0; i < 512; ++i) REQUIRE(memory[std::size_t(i)] == expected.data()[i]);
  ct::array<float, ct::dyn, 8> wrong({63, 8});
  CHECK_THROWS_WITH(f.into(wrong)(x, w), Catch::Contains("[63,8]") && Catch::Contains("[64,8]"));
  auto y = x;
  CHECK_THROWS_WITH(f.into(y)(y, w), Catch::Contains("overlaps"));
}

TEST_CASE("into writes into temporaries that refer to memory, and takes expressions as arguments") {
  const ct::array<double, 3> x{1, 2, 3};
  ct::array<double, 3> twice;
  ct::array<double> sum;
  const auto f = ct::jit([](auto v) { return std::tuple(2.0 * v, ct::sum(v)); });
  f.into(std::tie(twice, sum))(x + x);
  CHECK(twice == ct::array<double, 3>{4, 8, 12});
  CHECK(sum() == 12);
  f.into(std::pair<ct::array<double, 3>&, ct::array<double>&>(twice, sum))(x);
  CHECK(twice == ct::array<double, 3>{2, 4, 6});
  std::vector<double> memory(3);
  ct::jit([](auto v) { return v + 1.0; }).into(ct::view<double, 3>(memory))(x);
  CHECK(memory == std::vector<double>{2, 3, 4});
  const auto again = ct::jit([](auto v) { return 3.0 * v; }).into(twice);
  again(x);
  CHECK(twice == ct::array<double, 3>{3, 6, 9});
}

TEST_CASE("one program serves every run-time extent, and says which extents disagree") {
  const auto f = ct::jit(centered);
  for (ct::extent n : {0, 1, 2, 17, 1000}) {
    ct::array<double, ct::dyn, 3> x({n, 3}), w({n, 3});
    double t = 0;
    for (double& e : x) e = std::cos(t += 0.3);
    for (double& e : w) e = std::cos(t += 0.7);
    const auto y = f(x, w);
    REQUIRE(y.extent(0) == n);
    for (ct::extent j = 0; j < 3; ++j) {
      double mean = 0;
      for (ct::extent i = 0; i < n; ++i) mean += x(i, j) / double(n);
      for (ct::extent i = 0; i < n; ++i) CHECK(y(i, j) == Approx((x(i, j) - mean) * w(i, j)).margin(1e-13));
    }
  }
  const ct::array<double, ct::dyn, 3> x({4, 3}), w({5, 3});
  CHECK_THROWS_AS(f(x, w), ct::shape_error);
  CHECK_THROWS_WITH(f(x, w), Catch::Contains("4") && Catch::Contains("5") && Catch::Contains("axis 0"));
}

TEST_CASE("results are bitwise the same for every number of threads") {
  const auto x = wavy<float, 700, 300>();
  const auto w = wavy<float, 300, 200>(0.23);
  const auto f = ct::jit(ct::value_and_grad([](auto a, auto b) { return ct::sum(ct::square(ct::tanh(ct::matmul(a, b)))); }, ct::wrt<0, 1>));
  ct::set_num_threads(1);
  const auto [value, gradients] = f(x, w);
  for (int threads : {2, 3, 5}) {
    ct::set_num_threads(threads);
    const auto [again, other] = f(x, w);
    CHECK(float(again) == float(value));
    CHECK(std::get<0>(other) == std::get<0>(gradients));
    CHECK(std::get<1>(other) == std::get<1>(gradients));
  }
  ct::set_num_threads(2);
}

TEST_CASE("compiled functions may be called from several threads at once") {
  const auto x = wavy<float, 200, 150>();
  const auto w = wavy<float, 150, 90>(0.23);
  const auto f = ct::jit([](auto a, auto b) { return ct::tanh(ct::matmul(a, b)) * 2; });
  const auto expected = f(x, w);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) wrong += !(f(x, w) == expected);
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a program tells its graph, its kernels and its costs") {
  const ct::array<float, 32, 16> x;
  const ct::array<float, 16, 8> w;
  const auto f = ct::jit([](auto a, auto b) { return ct::tanh(ct::matmul(a, b) + 1); });
  CHECK_THAT(f.graph(x, w), Catch::Contains("dot_general") && Catch::Contains("float32[32,8] = tanh"));
  CHECK_THAT(f.dot(x, w), Catch::StartsWith("digraph"));
  CHECK_THAT(f.kernels(x, w), Catch::Contains("gemm") && Catch::Contains("finished rows"));
  constexpr auto cost = decltype(f)::cost(ct::array<float, 4, 16>{}, ct::array<float, 16, 8>{});  // small arrays are constexpr
  static_assert(cost.kernels == 2);
  static_assert(cost.flops >= 2.0 * 4 * 16 * 8);
  static_assert(cost.peak_bytes == 2 * 4 * 8 * 4);  // the product, and the result
}

TEST_CASE("pointwise code, its reduction and its gradient are one kernel") {
  const auto f = ct::value_and_grad([](auto x, auto w) { return ct::sum(ct::sin(x * w) + x); }, ct::wrt<0, 1>);
  const ct::array<float, 5000> x, w;
  CHECK(ct::jit(f).cost(x, w).kernels == 1);
}
