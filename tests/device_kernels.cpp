/// Kernels of devices, against the CPU: reductions, rows of several axes, running sums and per-instance programs.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

/// x rotated around w.
constexpr auto rotate = [](auto w, auto x) {
  const auto angle = ct::sqrt(ct::sum(w * w)) + 0.1;
  const auto axis = w / angle;
  return x * ct::cos(angle) + ct::cross(axis, x) * ct::sin(angle) + axis * (ct::dot(axis, x) * (1 - ct::cos(angle)));
};

/// Rows with several sums.
constexpr auto weighted = [](auto x, auto y) {
  const auto e = ct::exp(x - ct::max(x, ct::axis<-1>, ct::keepdims));
  return e * y / (ct::sum(e, ct::axis<-1>, ct::keepdims) + ct::sum(ct::square(y), ct::axis<-1>, ct::keepdims));
};

constexpr auto unit = [](auto x) { return x / ct::sqrt(ct::sum(x * x) + 1); };

}  // namespace

TEST_CASE("reductions of many shapes in one kernel: whole, rows, columns, several at once; blocks, chunks, odd sizes") {
  const auto f = [](auto x) {
    const auto y = ct::sin(x) + 1.5f;
    return std::tuple(ct::sum(y), ct::max(y, ct::axis<1>), ct::sum(y, ct::axis<0>), ct::sum(y, ct::axis<1>), y * 2);
  };
  check_devices(f, 2e-5, between<float, 1, 1>(-2, 2));
  check_devices(f, 2e-5, between<float, 3, 70000>(-2, 2));
  check_devices(f, 2e-5, between<float, 70001, 3>(-2, 2));
  check_devices(f, 2e-5, between<float, 257, 129>(-2, 2));
  check_devices([](auto x) { return std::tuple(ct::any(x > 0.999f), ct::all(x > -2), ct::argmax(x, ct::axis<1>)); }, 0, between<float, 40, 999>(-1, 1));
  check_devices([](auto x) { return ct::prod(x * 0.01f + 1); }, 2e-5, between<float, 4, 999>(-1, 1));
  check_devices([](auto x) { return ct::prod(x * 0.01 + 1); }, 1e-11, between<double, 40, 999>(-1, 1));  // as many roundings
  check_devices([](auto x) { return ct::sum(ct::transpose(x), ct::axis<0>) + ct::sum(x, ct::axis<1>); }, 2e-5, between<float, 300, 200>(-1, 1));
  check_devices([](auto x) { return std::tuple(ct::sum(x, ct::axis<1>), ct::sum(x, ct::axis<0, 2>)); }, 1e-12, between<double, 17, 31, 19>(-1, 1));
}

TEST_CASE("a reduction in place of what it reads, beside results of other shapes") {
  const auto f = ct::jit([](auto x) { return std::tuple(x * 2, ct::sum(x, ct::axis<0>), ct::sum(x, ct::axis<1>)); });
  const auto x = between<double, 100, 60>(-1, 1);
  const auto want = f(x);
  for (const ct::device& d : tested_devices()) CHECK(difference(tensors_of(ct::device_get(f(ct::device_put(x, d)))), tensors_of(want), 1e-12) == "");
}

TEST_CASE("row programs: rows of several axes, doubles, several sums, integers") {
  const ct::device d = tested_devices()[0];
  const auto y = ct::device_put(ct::array<float, 50, 20, 72>(), d);
  CHECK(ct::jit(weighted).kernels(y, y).find("kernel over [1000,72]") != std::string::npos);  // 1000 rows, and not 50
  check_devices(weighted, 2e-5, between<float, 50, 20, 72>(-2, 2), between<float, 50, 20, 72>(-2, 2, 1));
  check_devices(weighted, 1e-12, between<double, 50, 20, 72>(-2, 2), between<double, 50, 20, 72>(-2, 2, 1));
  check_devices(weighted, 1e-12, between<double, 999, 129>(-2, 2), between<double, 999, 129>(-2, 2, 1));
  check_devices([](auto x, auto y) { return ct::grad([](auto x, auto y) { return ct::sum(ct::sin(weighted(x, y))); }, ct::wrt<0, 1>)(x, y); }, 1e-11,
                between<double, 30, 7, 260>(-2, 2), between<double, 30, 7, 260>(-2, 2, 1));
  // Some kernels reduce along two axes, others along the last one.
  check_devices([](auto x) { return (x - ct::mean(x, ct::axis<1, 2>, ct::keepdims)) / (ct::sum(ct::abs(x), ct::axis<2>, ct::keepdims) + 1); }, 1e-12, between<double, 64, 30, 70>(-2, 2));
  check_devices([](auto x) { return x / (ct::sum(x, ct::axis<1>, ct::keepdims) + 1000) + ct::iota<std::int32_t, 512>(); }, 0, ct::full<std::int32_t, 300, 512>(77));
}

TEST_CASE("records: every instance writes a row of its own") {
  check_devices(ct::vmap(unit), 1e-6, between<float, 1000, 3>(-1, 1));
  check_devices(ct::vmap(unit), 1e-6, between<float, 1, 2>(-1, 1));
  check_devices(ct::vmap(ct::jacfwd(unit)), 1e-12, between<double, 257, 4>(-1, 1));
  check_devices([](auto x) { return std::tuple(ct::vmap(unit)(x), ct::vmap([](auto v) { return ct::sum(v); })(x)); }, 1e-6, between<float, 130, 5>(-1, 1));
  // In place of the argument.
  const auto f = ct::jit(ct::vmap(unit));
  const auto x = between<double, 300, 3>(-1, 1);
  for (const ct::device& d : tested_devices()) {
    auto y = ct::device_put(x, d);
    y = f(std::move(y));
    CHECK(difference(tensors_of(ct::device_get(y)), tensors_of(f(x)), 1e-12) == "");
  }
}

TEST_CASE("running sums of long lines are cut into parts") {
  check_devices([](auto x) { return std::tuple(ct::cumsum(x, ct::axis<0>), ct::cumprod(x * 1e-3 + 1, ct::axis<0>), ct::cummax(x, ct::axis<0>)); }, 1e-11, between<double, 20011>(-1, 1));
  check_devices([](auto x) { return std::tuple(ct::cumsum(x, ct::axis<1>), ct::cumsum(x, ct::axis<0>)); }, 1e-11, between<double, 33, 1500>(-1, 1));
  // The derivative of a running product is a recurrence, whose first factor counts for nothing.
  const auto slope = [](auto x, auto t) { return std::get<1>(ct::jvp([](auto v) { return ct::cumprod(v, ct::axis<0>); }, std::tuple(x), std::tuple(t))); };
  const ct::array<double, 4> x{INFINITY, 2, -1, 0.5}, t{1, 0, 0, 0};
  CHECK(ct::jit(slope)(x, t)(0) == 1);
  check_devices(slope, 0, x, t);
}

TEST_CASE("per-instance programs: small matrices, Jacobians, indexed rows") {
  check_devices(ct::vmap(ct::jacfwd(rotate)), 1e-12, between<double, 333, 3>(-1, 1), between<double, 333, 3>(-1, 1, 1));
  ct::array<std::int32_t, 777> index;
  for (ct::extent i = 0; i < 777; ++i) index(i) = std::int32_t(i * 31 % 50);
  check_devices(ct::vmap([](auto i, auto table, auto x) { return rotate(ct::take<0>(table, i), x); }, ct::in_axes<0, ct::none, 0>), 1e-12, index, between<double, 50, 3>(-1, 1),
         between<double, 777, 3>(-1, 1, 1));
}

TEST_CASE("random numbers, and integers of other widths") {
  const auto f = [](auto key, auto image) {
    const auto [a, b] = ct::random::split(key);
    const auto noise = ct::random::normal<float, 70, 33>(a) * (image / 255.0f);
    return std::tuple(noise, ct::sum(noise, ct::axis<1>), ct::random::randint<std::int16_t, 50>(b, -3, 1000), ct::random::bits<std::uint64_t, 9>(b), ct::sum(image), ct::sign(image), (image >> 3) ^ image);
  };
  ct::array<std::uint8_t, 70, 33> image;
  for (int i = 0; i < 70 * 33; ++i) image.data()[i] = std::uint8_t(i * 31);
  check_devices(f, 2e-6, ct::random::key(5), image);
}
