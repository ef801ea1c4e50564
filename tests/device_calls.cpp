/// Calls on devices, again and again, and what is told about their programs: on Thrust's systems (with COTANGENT_THRUST), or on CUDA
/// devices (under nvcc).

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

template <class F, class... A> constexpr bool waits_for_results(const F&, const A&...) {
  return ct::reads_on_host<ct::program<tested_backend, F, 0, ct::traced_tree<A>...>>();
}

}  // namespace

TEST_CASE("the same call again and again: other arrays, numbers and extents, and arrays that are given away") {
  const auto f = ct::jit([](auto x, auto s) {
    const auto centred = x - ct::mean(x, ct::axis<1>, ct::keepdims);
    return std::tuple(centred * s, ct::sum(ct::square(centred)) + s, ct::matmul(x, ct::transpose(x)));
  });
  const auto numbers_in = [](ct::extent rows, double scale) {
    ct::array<double, ct::dyn, 40> x({rows, 40});
    numbers random;
    for (double& v : x) v = scale * random();
    return x;
  };
  for (const ct::device& d : tested_devices()) {
    INFO("on " << d.name());
    const ct::array<double, ct::dyn, 40> host[] = {numbers_in(30, 1), numbers_in(30, 2), numbers_in(70, 3)};
    const auto x = ct::device_put(std::tuple(host[0], host[1], host[2]), d);
    const auto check = [&](const auto& on, const auto& here, double number) {
      CHECK(difference(tensors_of(ct::device_get(f(on, number))), tensors_of(f(here, number)), 1e-12) == "");
    };
    for (int turn = 0; turn < 6; ++turn) {
      check(std::get<0>(x), host[0], turn);
      check(std::get<1>(x), host[1], 0.5);
      check(std::get<2>(x), host[2], -turn);
    }

    const auto step = ct::jit([](auto w, auto v, auto rate) { return w - rate * ct::grad([](auto p, auto q) { return ct::mean(ct::square(ct::matmul(p, q))); })(w, v); });
    auto here = between<double, 9, 9>(-1, 1);
    const auto v = between<double, 9, 5>(-1, 1);
    auto on = ct::device_put(here, d);
    const auto on_v = ct::device_put(v, d);
    for (int turn = 0; turn < 8; ++turn) {
      here = step(here, v, 0.1 / (turn + 1));
      on = step(std::move(on), on_v, 0.1 / (turn + 1));
    }
    CHECK(difference(tensors_of(on.get()), tensors_of(here), 1e-12) == "");
  }
}

TEST_CASE("kernels() tells what each kernel needs of a GPU") {
  const auto f = ct::jit([](auto x) {
    const auto turns = ct::fori_loop<0, 3>([](auto, auto v) { return ct::sin(v); }, x);
    return std::pair(ct::sum(turns, ct::axis<0>), ct::nn::softmax(x));
  });
  const auto x = ct::device_put(between<float, 300, 40>(-1, 1), tested_devices()[0]);
  const std::string text = f.kernels(x);
  const auto count = [&](const std::string& part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
#ifdef __CUDACC__
  CHECK(count("threads in a block, ") >= 4);  // the loop, a sum, a maximum, and what is left of softmax
#else
  CHECK(count("threads in a block, ") == 0);
#endif
  CHECK(count("step ") >= 3);
}

TEST_CASE("which programs wait for results that the host reads") {
  constexpr ct::array<double, 20> x;
  constexpr auto until = [](auto v) { return ct::while_loop([](auto s) { return ct::sum(s) < 100; }, [](auto s) { return s * 1.5 + 0.1; }, v); };
  STATIC_REQUIRE(waits_for_results(until, x));
  STATIC_REQUIRE(waits_for_results([](auto v) { return ct::fori_loop<0, 3>([](auto, auto s) { return s + decltype(until){}(s) * ct::sum(s); }, v); }, x));
  STATIC_REQUIRE(waits_for_results([](auto v) { return ct::cond(ct::sum(v) > 0, [](auto s) { return ct::sin(s); }, [](auto s) { return s * s; }, v); }, x));
  STATIC_REQUIRE(!waits_for_results([](auto v) { return ct::fori_loop<0, 3>([](auto, auto s) { return s * ct::sum(s); }, v); }, x));
  STATIC_REQUIRE(!waits_for_results([](auto v) { return ct::vmap([](auto a) { return ct::while_loop([](auto s) { return s < 100; }, [](auto s) { return s * 1.5 + 0.1; }, a); })(v); }, x));
}

TEST_CASE("large matrices are factored and solved as on the CPU, and what is not positive definite is NaN") {
  const auto f = [](auto a, auto b) {
    const auto l = ct::linalg::cholesky(ct::matmul(a, ct::transpose(a)));
    return std::tuple(l, ct::linalg::cho_solve(l, b), ct::linalg::solve(a, b), ct::linalg::cholesky(a));
  };
  const auto a = between<double, 37, 37>(-1, 1);
  const auto b = between<double, 37, 5>(-1, 1);
  const auto many_a = between<double, 3, 20, 20>(-1, 1);
  const auto many_b = between<double, 3, 20, 2>(-1, 1);
  const auto solve = ct::vmap([](auto x, auto y) { return ct::linalg::solve(x, y); });
  const auto of_small = ct::grad([](auto a, auto b) { return ct::sum(ct::linalg::cholesky(ct::matmul(a, ct::transpose(a))) * b); });
  const auto small_a = between<double, 5, 5>(-1, 1), small_b = between<double, 5, 5>(-1, 1, 1);
  for (const ct::device& d : tested_devices()) {
    CHECK(difference(tensors_of(run_on(d, f, a, b)), tensors_of(ct::jit(f)(a, b)), 1e-7) == "");
    CHECK(difference(tensors_of(run_on(d, solve, many_a, many_b)), tensors_of(ct::jit(solve)(many_a, many_b)), 1e-7) == "");
    CHECK(difference(tensors_of(run_on(d, of_small, small_a, small_b)), tensors_of(ct::jit(of_small)(small_a, small_b)), 1e-7) == "");
  }
}
