/// Scatters on devices, against the CPU: in order, and within an atomic_scatter_scope.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

TEST_CASE("scatters of many updates: in order, repeated, outside") {
  ct::array<std::int32_t, 5000> at;
  for (ct::extent i = 0; i < 5000; ++i) at(i) = std::int32_t(i * 7919 % 313 - 5);
  check_devices([](auto x, auto i, auto u) { return std::tuple(ct::at(x, i).add(u), ct::at(x, i).set(u), ct::at(x, i).max(u)); }, 0, between<double, 300, 3>(-1, 1), at,
         between<double, 5000, 3>(-1, 1, 1));
  check_devices([](auto x, auto i, auto u) { return ct::at(x, i).add(u); }, 0, between<float, 300>(-1, 1), at, between<float, 5000>(-1, 1, 1));
}

TEST_CASE("scatters within an atomic_scatter_scope: the same results but for the order of sums") {
  ct::array<std::int32_t, 5000> at;
  for (ct::extent i = 0; i < 5000; ++i) at(i) = std::int32_t(i * 7919 % 313 - 5);
  const auto of_order = [](auto x, auto i, auto u) { return std::tuple(ct::at(x, i).add(u), ct::at(x, i).multiply(u * 1e-3f + 1), ct::at(x, i).set(u)); };
  const auto exact = [](auto x, auto i, auto u) { return std::tuple(ct::at(x, i).add(u), ct::at(x, i).min(u), ct::at(x, i).max(u)); };
  ct::array<std::int32_t, 7, 5> some;
  ct::array<std::int64_t, 7, 5> wide;
  ct::array<std::int32_t, 3, 5> changes;
  ct::array<std::int64_t, 3, 5> wide_changes;
  for (int i = 0; i < 35; ++i) some.data()[i] = i * 31 % 17, wide.data()[i] = std::int64_t(i) << 33;
  for (int i = 0; i < 15; ++i) changes.data()[i] = i * 7 % 19 - 9, wide_changes.data()[i] = -(std::int64_t(i * 7 % 19 - 9) << 34);
  const auto unsigned_numbers = ct::jit([](auto x) { return ct::astype<std::uint64_t>(x); });
  const ct::array<std::int32_t, 3> places{6, 1, 6};
  const ct::atomic_scatter_scope scope;
  check_devices(of_order, 1e-11, between<double, 300, 3>(-1, 1), at, between<double, 5000, 3>(-1, 1, 1));
  check_devices(of_order, 1e-4, between<float, 300>(-1, 1), at, between<float, 5000>(-1, 1, 1));
  check_devices(exact, 0, some, places, changes);
  check_devices(exact, 0, wide, places, wide_changes);
  check_devices(exact, 0, unsigned_numbers(wide), places, unsigned_numbers(wide_changes));
  check_devices(of_order, 0, between<float, 4>(-1, 1), ct::array<std::int32_t, 1>{9}, ct::array<float, 1>{1});  // outside
  check_devices(of_order, 0, between<float, 4>(-1, 1), ct::array<std::int32_t, 0>(), ct::array<float, 0>());
}
