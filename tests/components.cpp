/// Arrays that are put together of parts, of which parts are taken again: each part goes its own way.

#include <string>

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

/// Products of spinors [..., 2] beside each other, as those of lattice fields.
constexpr auto product = [](auto a, auto b) {
  const auto x = a(ct::ellipsis, ct::index<0>), y = a(ct::ellipsis, ct::index<1>), u = b(ct::ellipsis, ct::index<0>), v = b(ct::ellipsis, ct::index<1>);
  return ct::stack<-1>(x * u - y * v, x * v + y * u);
};
constexpr auto lattice = [](auto u) {
  const auto conjugate = [](auto a) { return a * ct::array<float, 2>{1, -1}; };
  const auto p = product(product(u, ct::roll<0>(u, 1)), conjugate(product(u, ct::roll<1>(u, -1))));
  return ct::sum(ct::exp(p(ct::ellipsis, ct::index<0>)));
};
/// Parts of a concatenation of extents 2, 3 and 1, and of what is padded: within one part, across several, with strides, outside.
constexpr auto parts = [](auto x, auto y) {  // [5,2], [5,3]
  const auto all = ct::concatenate<1>(ct::sin(x), y, ct::expand_dims<1>(ct::sum(x, ct::axis<1>)));
  const auto twice = 2 * all;
  const auto padded = ct::exp(ct::roll<0>(ct::pad<ct::low<0, 2>, ct::high<0, 1>>(y), 2));
  constexpr auto rows = ct::full_extent;
  return std::tuple(twice(rows, ct::range<0, 2>), twice(rows, ct::range<2, 5, 2>), twice(rows, ct::index<5>), all(rows, ct::range<1, 4>), all(ct::range<1, 4>, ct::range<3, 4>), padded(rows, ct::index<0>),
                    padded(rows, ct::range<2, 4>), padded(rows, ct::range<1, 3>), padded(rows, ct::index<5>), ct::expand_dims<0>(all)(ct::index<0>, ct::index<4>, ct::index<1>));
};
/// Of a whole that is used itself as well, and one of which the same part is taken again and again.
constexpr auto whole = [](auto x) {
  const auto both = ct::stack<1>(x, x * x);
  const auto more = ct::cos(ct::roll<0>(both, 1));
  return ct::sum(both) + ct::sum(more(ct::full_extent, ct::index<1>) * more(ct::full_extent, ct::index<1>) * x) + ct::sum(ct::max(more, ct::axis<1>));
};
constexpr auto loop = [](auto u) {
  return ct::sum(std::get<0>(ct::scan([](auto u, auto) { return std::tuple(0.9f * product(u, ct::roll<0>(u, 1)), ct::none); }, u, ct::none, ct::length<3>)));
};

}  // namespace

TEST_CASE("components of a lattice field and their cotangents are computed where they are used") {
  const auto u = between<float, 6, 9, 2>(-1, 1);
  check_jit(lattice, 1e-5, u);
  check_jit(ct::grad(lattice), 1e-5, u);
  const std::string kernels = ct::jit(ct::grad(lattice)).kernels(u);
  INFO(kernels);
  CHECK(kernels.find("arena+0 [6,9,2]") == std::string::npos);
  CHECK(kernels.find("over [6,9,2]") == std::string::npos);
  ct::array<float, ct::dyn, ct::dyn, 2> v({6, 9, 2});
  std::copy(u.data(), u.data() + u.size(), v.data());
  const ct::array<float, ct::dyn, ct::dyn, 2> of_run_time = ct::jit(ct::grad(lattice))(v);
  const auto r = ct::jit(ct::grad(lattice))(u);
  for (int i = 0; i < u.size(); ++i) CHECK(of_run_time.data()[i] == Approx(r.data()[i]).epsilon(1e-5).margin(1e-6));
}

TEST_CASE("parts within, across and outside of what an array is put together of") {
  check_jit(parts, 1e-13, between<double, 5, 2>(-1, 1), between<double, 5, 3>(-1, 1, 20));
  check_rules_of(parts, std::tuple(between<double, 5, 2>(-1, 1), between<double, 5, 3>(-1, 1, 20)));
}

TEST_CASE("an array of parts that is used as a whole too") {
  const auto x = between<double, 7>(-1, 1);
  check_jit(whole, 1e-13, x);
  check_jit(ct::grad(whole), 1e-13, x);
  check_jit(ct::vmap(ct::grad(whole)), 1e-13, between<double, 3, 7>(-1, 1));
}

TEST_CASE("parts in the body of a loop") {
  const auto u = between<float, 5, 2>(-1, 1);
  check_jit(loop, 1e-5, u);
  check_jit(ct::grad(loop), 1e-5, u);
}
