/// Loops and branches of devices, against the CPU: inside a kernel, and run by the host.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

constexpr auto lorenz_step = [](auto s) {
  const auto [x, y, z] = s;
  const auto next = [](auto a, auto b) { return a + 0.01 * b; };
  return std::tuple(next(x, 10.0 * (y - x)), next(y, x * (28.0 - z) - y), next(z, x * y - 8.0 / 3.0 * z));
};
constexpr auto lorenz = [](auto s) { return ct::fori_loop<0, 37>([](auto, auto c) { return lorenz_step(c); }, s); };

/// The number of a loop's state whose root it finds.
constexpr auto a_of = [](auto s) { return std::get<1>(s); };

}  // namespace

TEST_CASE("loops inside a kernel: carries in registers, results stacked, both directions, the index, and their gradients") {
  const std::tuple many(between<double, 1001>(-1, 1, 1), between<double, 1001>(-1, 1, 2), between<double, 1001>(-1, 1, 3));
  check_devices(ct::vmap(lorenz), 1e-10, many);
  check_devices(ct::vmap(ct::grad([](auto s) { return std::get<0>(lorenz(s)); })), 1e-8, many);

  const auto scanned = [](auto c, auto xs) {
    return ct::scan([](auto v, auto x) { return std::pair(ct::sin(v) + x, std::pair(v * x, x + 1.0)); }, c, xs);
  };
  const auto backwards = [](auto c, auto xs) {
    return ct::scan([](auto v, auto x) { return std::pair(ct::sin(v) + x, v * x); }, c, xs, ct::reverse);
  };
  const auto c = between<double, 301>(-1, 1);
  const auto xs = between<double, 301, 9>(-1, 1, 2);
  check_devices(ct::vmap(scanned), 1e-12, c, xs);
  check_devices(ct::vmap(backwards), 1e-12, c, xs);
  check_devices(ct::vmap([](auto v) { return ct::fori_loop<3, 20>([](auto i, auto a) { return a * 0.9 + ct::astype<double>(i); }, v); }), 1e-12, c);
  check_devices(ct::vmap([](auto m) { return ct::fori_loop<0, 5>([](auto, auto a) { return ct::matmul(a, a) * 0.5; }, m); }), 1e-12, between<double, 130, 2, 2>(-1, 1));
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
  check_devices(ct::vmap(root), 1e-15, between<double, 300>(0.01, 1000));
  check_devices(root, 1e-15, ct::array<double>(17.0));
  const auto counted = [](auto x) {
    const auto turn = [](auto i, auto s) {
      const auto [v, on, n] = s;
      return std::tuple(ct::flip<0>(v) * 0.9 + ct::astype<double>(i), !on, n + ct::astype<std::int64_t>(on));
    };
    return ct::fori_loop<0, 9>(turn, std::tuple(x, x(ct::index<0>) > 0, ct::astype<std::int64_t>(0.0 * x(ct::index<0>))));
  };
  check_devices(counted, 1e-15, between<double, 3>(0, 1));
}

TEST_CASE("loops whose condition the host reads, and branches") {
  check_devices([](auto x) { return ct::while_loop([](auto s) { return ct::sum(s) < 100; }, [](auto s) { return s * 1.5 + 0.1; }, x); }, 1e-12, between<double, 20>(0, 1));
  check_devices([](auto p, auto x) { return ct::cond(ct::sum(p) > 0, [](auto v) { return ct::sin(v); }, [](auto v) { return v * v; }, x); }, 1e-12, between<double, 3>(0, 1), between<double, 20>(0, 1));
  const auto power = [](auto m, auto x) { return ct::scan([m](auto v, auto i) { return std::pair(ct::tanh(ct::matmul(m, v)) + i, ct::sum(v)); }, x, ct::iota<double, 6>()); };
  check_devices(power, 1e-12, between<double, 9, 9>(-1, 1), between<double, 9>(-1, 1));
}
