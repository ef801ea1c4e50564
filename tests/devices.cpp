/// Arrays on devices and programs that run there, against the CPU: on Thrust's systems (with COTANGENT_THRUST), or on CUDA devices
/// (under nvcc).

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

std::vector<ct::device> tested() { return ct::devices<tested_backend::platform>(); }

/// jit(f) on every device against jit(f) on the CPU.
template <class F, class... A> void agrees(const F& f, double tolerance, const A&... arguments) {
  const tensors want = tensors_of(ct::jit(f)(arguments...));
  for (const ct::device& d : tested()) {
    INFO("on " << d.name());
    CHECK(difference(tensors_of(run_on(d, f, arguments...)), want, tolerance) == "");
  }
}

constexpr auto layer_norm = [](auto x) {
  const auto c = x - ct::mean(x, ct::axis<-1>, ct::keepdims);
  return c / ct::sqrt(ct::mean(ct::square(c), ct::axis<-1>, ct::keepdims) + 1e-5f);
};

constexpr auto lorenz_step = [](auto s) {
  const auto [x, y, z] = s;
  const auto next = [](auto a, auto b) { return a + 0.01 * b; };
  return std::tuple(next(x, 10.0 * (y - x)), next(y, x * (28.0 - z) - y), next(z, x * y - 8.0 / 3.0 * z));
};
constexpr auto lorenz = [](auto s) { return ct::fori_loop<0, 37>([](auto, auto c) { return lorenz_step(c); }, s); };

/// The number of a loop's state whose root it finds.
constexpr auto a_of = [](auto s) { return std::get<1>(s); };

/// x rotated around w.
constexpr auto rotate = [](auto w, auto x) {
  const auto angle = ct::sqrt(ct::sum(w * w)) + 0.1;
  const auto axis = w / angle;
  return x * ct::cos(angle) + ct::cross(axis, x) * ct::sin(angle) + axis * (ct::dot(axis, x) * (1 - ct::cos(angle)));
};

}  // namespace

TEST_CASE("devices have names, the CPU is one, and a platform that is not there says why") {
  CHECK(ct::device().name() == "cpu:0");
  CHECK(ct::devices<ct::cpu>() == std::vector{ct::device()});
  CHECK(ct::devices().back() == ct::device());
  CHECK(ct::array<float, 3>().device() == ct::device());
  const std::vector<ct::device> all = tested();
  REQUIRE(!all.empty());
  CHECK(all[0].name() == std::string(tested_backend::platform::name) + ":0");
  CHECK(!all[0].description().empty());
  CHECK(!(all[0] == ct::device()));
#ifndef __CUDACC__
  CHECK_THROWS_WITH(ct::devices<ct::cuda>(), "devices: this program was built without cuda; compile a part of it with nvcc");
#endif
}

TEST_CASE("arrays go to a device and come back: copies, moves, trees, none and run-time extents") {
  for (const ct::device& d : tested()) {
    const auto x = between<double, 3, 5>(-1, 1);
    const ct::device_array<double, 3, 5> y = ct::device_put(x, d);
    CHECK(y.device() == d);
    CHECK(y.shape() == x.shape());
    CHECK(ct::device_get(y) == x);
    ct::device_array<double, 3, 5> copy = y, moved = std::move(copy);
    CHECK(moved.get() == x);
    CHECK_THROWS_WITH(copy.get(), "device_get: device_array<float64,[3,5]> has no elements: nothing was assigned to it, or it was moved from");
    copy = moved;
    CHECK(ct::array<double, 3, 5>(copy) == x);
    CHECK(ct::device_put(y, ct::device()).device() == ct::device());
    CHECK(ct::device_put(ct::device_put(y, ct::device()), d).get() == x);

    const ct::array<float, ct::dyn, 2> none({0, 2});
    const auto tree = ct::device_put(std::tuple(x, none, 2.5f), d);
    const auto back = ct::device_get(ct::block_until_ready(tree));
    CHECK(std::get<0>(back) == x);
    CHECK(std::get<1>(back).shape() == none.shape());
    CHECK(float(std::get<2>(back)) == 2.5f);
    std::ostringstream text, want;
    text << y, want << x;
    CHECK(text.str() == want.str());
  }
}

TEST_CASE("a call runs where its arguments are: results, numbers, donation, into, and devices that differ") {
  const auto f = ct::jit([](auto x, auto s) { return std::pair(ct::tanh(x) * s, ct::sum(x)); });
  const auto x = between<float, 1000>(-2, 2);
  const auto [want, want_sum] = f(x, 0.5f);
  for (const ct::device& d : tested()) {
    auto on = ct::device_put(x, d);
    const auto [y, sum] = f(on, 0.5f);
    CHECK(y.device() == d);
    CHECK(sum.device() == d);
    CHECK(difference(tensors_of(y.get(), sum.get()), tensors_of(want, want_sum), 2e-5) == "");

    std::pair<ct::device_array<float, 1000>, ct::device_array<float>> out{ct::device_put(x, d), ct::device_put(0.0f, d)};
    const float* const place = out.first.data();
    f.into(out)(on, ct::device_put(0.5f, d));
    CHECK(out.first.data() == place);
    CHECK(out.first.get() == y.get());

    const float* const given = on.data();
    const auto kept = f(std::move(on), 0.5f);
    CHECK(kept.first.data() == given);
    CHECK(kept.first.get() == y.get());

    const auto there = ct::device_put(x, d), here = ct::device_put(x, ct::device());
    CHECK(f(here, 0.5f).first.device() == ct::device());
    CHECK(f(here, 0.5f).first.get() == want);
    const auto add = ct::jit([](auto a, auto b) { return a + b; });
    CHECK_THROWS_WITH(add(there, here), "jit: argument leaf 0 is on " + d.name() + " and argument leaf 1 on cpu:0; move one of them with ct::device_put");
    ct::device_array<float, 1000> elsewhere = here;
    CHECK_THROWS_AS(add.into(elsewhere)(there, there), ct::device_error);
    CHECK(elsewhere.get() == x);
  }
}

TEST_CASE("expressions of device_arrays run where they are, and functions may capture them") {
  for (const ct::device& d : tested()) {
    const auto x = between<double, 300>(-1, 1), y = between<double, 300>(-1, 1, 1);
    const auto on_x = ct::device_put(x, d), on_y = ct::device_put(y, d);
    const ct::device_array<double, 300> z = 2.0 * on_x + ct::sin(on_y);
    const ct::array<double, 300> want = 2.0 * x + ct::sin(y);
    CHECK(z.device() == d);
    CHECK(difference(tensors_of(z.get()), tensors_of(want), 1e-12) == "");
    CHECK(double(ct::sum(on_x * on_y)) == Approx(double(ct::sum(x * y))));
    const auto near = [&](auto v) { return ct::sum(ct::square(v - on_y)); };
    const auto slope = ct::grad(near)(on_x);
    CHECK(slope.device() == d);
    CHECK(difference(tensors_of(slope.get()), tensors_of(ct::array<double, 300>(2.0 * (x - y))), 1e-12) == "");
  }
}

TEST_CASE("run-time extents: one program for every size, and sizes that disagree") {
  const auto f = [](auto x, auto y) { return std::tuple(ct::sum(x * y, ct::axis<0>), ct::sum(x * y, ct::axis<1>), ct::sum(x * y), x - y); };
  for (const auto& [m, n] : {std::pair<ct::extent, ct::extent>{0, 3}, {1, 1}, {3, 0}, {7, 33}, {1000, 5}, {5, 3000}}) {
    ct::array<double, ct::dyn, ct::dyn> x({m, n}), y({m, n});
    numbers random;
    for (double& v : x) v = random();
    for (double& v : y) v = random();
    agrees(f, 1e-12, x, y);
  }
  for (const ct::device& d : tested()) {
    const auto x = ct::device_put(ct::array<double, ct::dyn>({3}), d), y = ct::device_put(ct::array<double, ct::dyn>({4}), d);
    CHECK_THROWS_AS(ct::jit([](auto a, auto b) { return a + b; })(x, y), ct::shape_error);
  }
}

TEST_CASE("reductions of many shapes in one kernel: whole, rows, columns, several at once; blocks, chunks, odd sizes") {
  const auto f = [](auto x) {
    const auto y = ct::sin(x) + 1.5f;
    return std::tuple(ct::sum(y), ct::max(y, ct::axis<1>), ct::sum(y, ct::axis<0>), ct::sum(y, ct::axis<1>), y * 2);
  };
  agrees(f, 2e-5, between<float, 1, 1>(-2, 2));
  agrees(f, 2e-5, between<float, 3, 70000>(-2, 2));
  agrees(f, 2e-5, between<float, 70001, 3>(-2, 2));
  agrees(f, 2e-5, between<float, 257, 129>(-2, 2));
  agrees([](auto x) { return std::tuple(ct::any(x > 0.999f), ct::all(x > -2), ct::argmax(x, ct::axis<1>), ct::prod(x * 0.01f + 1)); }, 2e-5, between<float, 40, 999>(-1, 1));
  agrees([](auto x) { return ct::sum(ct::transpose(x), ct::axis<0>) + ct::sum(x, ct::axis<1>); }, 2e-5, between<float, 300, 200>(-1, 1));
  agrees([](auto x) { return std::tuple(ct::sum(x, ct::axis<1>), ct::sum(x, ct::axis<0, 2>)); }, 1e-12, between<double, 17, 31, 19>(-1, 1));
}

TEST_CASE("a reduction in place of what it reads, beside results of other shapes") {
  const auto f = ct::jit([](auto x) { return std::tuple(x * 2, ct::sum(x, ct::axis<0>), ct::sum(x, ct::axis<1>)); });
  const auto x = between<double, 100, 60>(-1, 1);
  const auto want = f(x);
  for (const ct::device& d : tested()) CHECK(difference(tensors_of(ct::device_get(f(ct::device_put(x, d)))), tensors_of(want), 1e-12) == "");
}

TEST_CASE("row programs: softmax, layer normalization and their gradients") {
  const auto softmax = [](auto x) { return ct::nn::softmax(x); };
  // On a device whole rows go through all steps; only there sums over rows and products of matrices are steps of their own.
  const auto y = ct::device_put(ct::array<float, 700, 300>(), tested()[0]);
  CHECK(ct::jit(softmax).kernels(y).starts_with("steps 0 to 2 run together"));
  const auto check = [&](const auto& x) {
    agrees(softmax, 2e-5, x);
    agrees(layer_norm, 2e-5, x);
    agrees(ct::grad([](auto v) { return ct::sum(ct::square(layer_norm(v) + 0.5f)); }), 1e-3, x);
  };
  check(between<float, 5, 7>(-2, 2));
  check(between<float, 3, 5000>(-2, 2));
  check(between<float, 40, 6000>(-2, 2));  // few rows, long ones
  check(between<float, 700, 100>(-2, 2));
}

TEST_CASE("loops inside a kernel: carries in registers, results stacked, both directions, the index, and their gradients") {
  const std::tuple many(between<double, 1001>(-1, 1, 1), between<double, 1001>(-1, 1, 2), between<double, 1001>(-1, 1, 3));
  agrees(ct::vmap(lorenz), 1e-10, many);
  agrees(ct::vmap(ct::grad([](auto s) { return std::get<0>(lorenz(s)); })), 1e-8, many);

  const auto scanned = [](auto c, auto xs) {
    return ct::scan([](auto v, auto x) { return std::pair(ct::sin(v) + x, std::pair(v * x, x + 1.0)); }, c, xs);
  };
  const auto backwards = [](auto c, auto xs) {
    return ct::scan([](auto v, auto x) { return std::pair(ct::sin(v) + x, v * x); }, c, xs, ct::reverse);
  };
  const auto c = between<double, 301>(-1, 1);
  const auto xs = between<double, 301, 9>(-1, 1, 2);
  agrees(ct::vmap(scanned), 1e-12, c, xs);
  agrees(ct::vmap(backwards), 1e-12, c, xs);
  agrees(ct::vmap([](auto v) { return ct::fori_loop<3, 20>([](auto i, auto a) { return a * 0.9 + ct::astype<double>(i); }, v); }), 1e-12, c);
  agrees(ct::vmap([](auto m) { return ct::fori_loop<0, 5>([](auto, auto a) { return ct::matmul(a, a) * 0.5; }, m); }), 1e-12, between<double, 130, 2, 2>(-1, 1));
}

TEST_CASE("while loops of instances, and loops of one point, inside a kernel") {
  const auto root = [](auto a) {
    const auto far = [](auto s) { return ct::abs(std::get<0>(s) * std::get<0>(s) - a_of(s)) > 1e-10 * a_of(s); };
    const auto step = [](auto s) {
      const auto [x, a, n, odd] = s;
      return std::tuple(0.5 * (x + a / x), a, n + 1, !odd);
    };
    return ct::while_loop(far, step, std::tuple(0.0 * a + 1.0, a, ct::astype<std::int32_t>(0.0 * a), a < 0));
  };
  agrees(ct::vmap(root), 1e-15, between<double, 300>(0.01, 1000));
  agrees(root, 1e-15, ct::array<double>(17.0));
  const auto counted = [](auto x) {
    const auto turn = [](auto i, auto s) {
      const auto [v, on, n] = s;
      return std::tuple(ct::flip<0>(v) * 0.9 + ct::astype<double>(i), !on, n + ct::astype<std::int64_t>(on));
    };
    return ct::fori_loop<0, 9>(turn, std::tuple(x, x(ct::index<0>) > 0, ct::astype<std::int64_t>(0.0 * x(ct::index<0>))));
  };
  agrees(counted, 1e-15, between<double, 3>(0, 1));
}

TEST_CASE("loops whose condition the host reads, and branches") {
  agrees([](auto x) { return ct::while_loop([](auto s) { return ct::sum(s) < 100; }, [](auto s) { return s * 1.5 + 0.1; }, x); }, 1e-12, between<double, 20>(0, 1));
  agrees([](auto p, auto x) { return ct::cond(ct::sum(p) > 0, [](auto v) { return ct::sin(v); }, [](auto v) { return v * v; }, x); }, 1e-12, between<double, 3>(0, 1), between<double, 20>(0, 1));
  const auto power = [](auto m, auto x) { return ct::scan([m](auto v, auto i) { return std::pair(ct::tanh(ct::matmul(m, v)) + i, ct::sum(v)); }, x, ct::iota<double, 6>()); };
  agrees(power, 1e-12, between<double, 9, 9>(-1, 1), between<double, 9>(-1, 1));
}

TEST_CASE("scatters of many updates: in order, repeated, outside") {
  ct::array<std::int32_t, 5000> at;
  for (ct::extent i = 0; i < 5000; ++i) at(i) = std::int32_t(i * 7919 % 313 - 5);
  agrees([](auto x, auto i, auto u) { return std::tuple(ct::at(x, i).add(u), ct::at(x, i).set(u), ct::at(x, i).max(u)); }, 0, between<double, 300, 3>(-1, 1), at,
         between<double, 5000, 3>(-1, 1, 1));
  agrees([](auto x, auto i, auto u) { return ct::at(x, i).add(u); }, 0, between<float, 300>(-1, 1), at, between<float, 5000>(-1, 1, 1));
}

TEST_CASE("running sums of long lines are cut into parts") {
  agrees([](auto x) { return std::tuple(ct::cumsum(x, ct::axis<0>), ct::cumprod(x * 1e-3 + 1, ct::axis<0>), ct::cummax(x, ct::axis<0>)); }, 1e-11, between<double, 20011>(-1, 1));
  agrees([](auto x) { return std::tuple(ct::cumsum(x, ct::axis<1>), ct::cumsum(x, ct::axis<0>)); }, 1e-11, between<double, 33, 1500>(-1, 1));
  // The derivative of a running product is a recurrence, whose first factor counts for nothing.
  const auto slope = [](auto x, auto t) { return std::get<1>(ct::jvp([](auto v) { return ct::cumprod(v, ct::axis<0>); }, std::tuple(x), std::tuple(t))); };
  const ct::array<double, 4> x{INFINITY, 2, -1, 0.5}, t{1, 0, 0, 0};
  CHECK(ct::jit(slope)(x, t)(0) == 1);
  agrees(slope, 0, x, t);
}

TEST_CASE("per-instance programs: small matrices, Jacobians, indexed rows") {
  agrees(ct::vmap(ct::jacfwd(rotate)), 1e-12, between<double, 333, 3>(-1, 1), between<double, 333, 3>(-1, 1, 1));
  ct::array<std::int32_t, 777> index;
  for (ct::extent i = 0; i < 777; ++i) index(i) = std::int32_t(i * 31 % 50);
  agrees(ct::vmap([](auto i, auto table, auto x) { return rotate(ct::take<0>(table, i), x); }, ct::in_axes<0, ct::none, 0>), 1e-12, index, between<double, 50, 3>(-1, 1),
         between<double, 777, 3>(-1, 1, 1));
}
