/// Arrays on devices and calls with them, against the CPU: on Thrust's systems (with COTANGENT_THRUST), or on CUDA devices (under
/// nvcc).

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

TEST_CASE("devices have names, the CPU is one, and a platform that is not there says why") {
  CHECK(ct::device().name() == "cpu:0");
  CHECK(ct::devices<ct::cpu>() == std::vector{ct::device()});
  CHECK(ct::devices().back() == ct::device());
  CHECK(ct::array<float, 3>().device() == ct::device());
  const std::vector<ct::device> all = tested_devices();
  REQUIRE(!all.empty());
  CHECK(all[0].name() == std::string(tested_backend::platform::name) + ":0");
  CHECK(!all[0].description().empty());
  CHECK(!(all[0] == ct::device()));
#ifndef __CUDACC__
  CHECK_THROWS_WITH(ct::devices<ct::cuda>(), "devices: this program was built without cuda; compile a part of it with nvcc");
#endif
}

TEST_CASE("arrays go to a device and come back: copies, moves, trees, none and run-time extents") {
  for (const ct::device& d : tested_devices()) {
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
  for (const ct::device& d : tested_devices()) {
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
  for (const ct::device& d : tested_devices()) {
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
    check_devices(f, 1e-12, x, y);
  }
  for (const ct::device& d : tested_devices()) {
    const auto x = ct::device_put(ct::array<double, ct::dyn>({3}), d), y = ct::device_put(ct::array<double, ct::dyn>({4}), d);
    CHECK_THROWS_AS(ct::jit([](auto a, auto b) { return a + b; })(x, y), ct::shape_error);
  }
}
