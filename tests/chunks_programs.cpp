/// Programs around products that sum over rows: what stands beside them, in loops, branches and batches, in chunks too.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

template <class F, class... A> void check_chunks(double tolerance, const F& f, const A&... x) {
  CHECK(ct::jit(f).kernels(x...).find("chunk") != std::string::npos);
  check_jit(f, tolerance, x...);
}

constexpr auto two_sets = [](auto w, auto x, auto y) {
  return ct::grad([&](auto w) { return ct::sum(ct::sin(ct::matmul(x, w))) + ct::sum(ct::cos(ct::matmul(y, w))); })(w);
};
constexpr auto places = [](auto w, auto x) {
  const auto z = ct::matmul(x, w);
  return std::tuple(ct::matmul(ct::transpose(x), ct::tanh(z)), ct::argmax(z, ct::axis<0>), ct::argmin(z, ct::axis<1>), ct::max(z, ct::axis<1>));
};
constexpr auto embed = [](auto table, auto w, auto index, auto x) {
  return ct::grad([&](auto table, auto w) { return ct::sum(ct::square(ct::matmul(ct::take<0>(table, index), w) - x)); }, ct::wrt<0, 1>)(table, w);
};
constexpr auto read_samples = [](auto w, auto v, auto x, auto index) {
  return ct::grad([&](auto w, auto v) { return ct::mean(ct::sin(ct::matmul(ct::tanh(ct::matmul(x(index), w)), v))); }, ct::wrt<0, 1>)(w, v);
};
constexpr auto pieces = [](auto w, auto x) {
  const auto f = [&](auto w) {
    const auto z = ct::concatenate<1>(ct::sin(x), ct::slice<ct::full_extent, ct::range<3, 9>>(x), ct::flip<1>(x));
    const auto p = ct::pad<ct::low<0, 1>, ct::high<0, 2>>(z, 0.5);
    return ct::sum(ct::logsumexp(ct::matmul(p, w), ct::axis<1>)) + ct::sum(ct::max(ct::matmul(p, w), ct::axis<1>));
  };
  return ct::value_and_grad(f)(w);
};
constexpr auto descent = [](auto w, auto x, auto y) {
  const auto loss = [&](auto w) { return ct::mean(ct::square(ct::tanh(ct::matmul(x, w)) - y)); };
  return ct::fori_loop<0, 3>([&](auto, auto w) { return w - 0.1 * ct::grad(loss)(w); }, w);
};
constexpr auto sets = [](auto w, auto x) {
  return ct::vmap(ct::grad([](auto w, auto x) { return ct::sum(ct::sin(ct::matmul(x, w))); }), ct::in_axes<ct::none, 0>)(w, x);
};
constexpr auto product = [](auto a, auto b) { return ct::matmul(ct::transpose(a), b); };
constexpr auto rolled = [](auto w, auto x) {
  return ct::grad([&](auto w) { return ct::sum(ct::sin(ct::matmul(x + 0.5 * ct::roll<0>(x, 1), w)) * ct::expand_dims<1>(ct::cumsum(ct::sum(x, ct::axis<1>), ct::axis<0>))); })(w);
};
constexpr auto sorted = [](auto w, auto x) { return ct::grad([&](auto w) { return ct::sum(ct::sin(ct::matmul(ct::sort<1>(x), w))); })(w); };
constexpr auto middle = [](auto w, auto x) {  // [5, n, 40]
  return ct::grad([&](auto w) { return ct::sum(ct::sin(ct::einsum<"bnj,jk->bnk">(x, w))); })(w);
};
constexpr auto choice = [](auto w, auto x) {
  return ct::grad([&](auto w) { return ct::sum(ct::cond(ct::sum(w) > 0.0, [](auto w, auto x) { return ct::sin(ct::matmul(x, w)); }, [](auto w, auto x) { return ct::cos(ct::matmul(x, w)); }, w, x)); })(w);
};

constexpr auto powers = [](auto w, auto x) { return ct::grad([&](auto w) { return ct::sum(ct::pow(1.0 + 1e-4 * ct::matmul(x, w), 2049)); })(w); };

}  // namespace

TEST_CASE("losses of two sets of samples, and places of extrema beside products") {
  const auto w = between<double, 40, 20>(-0.3, 0.3);
  const auto x = between<double, 6000, 40>(-1, 1, 1);
  check_chunks(1e-11, two_sets, w, x, between<double, 4500, 40>(-1, 1, 2));
  check_chunks(1e-11, places, w, x);
}

TEST_CASE("rows of tables, parts of rows, sorted rows, neighbouring rows and sums up to a row") {
  const auto w = between<double, 40, 20>(-0.3, 0.3);
  const auto x = between<double, 6000, 40>(-1, 1, 1);
  ct::array<std::int32_t, 6000> index;
  for (int i = 0; i < 6000; ++i) index(i) = i * 7 % 50;
  check_chunks(1e-11, embed, between<double, 50, 40>(-1, 1, 3), w, index, between<double, 6000, 20>(-1, 1, 4));
  check_chunks(1e-11, pieces, between<double, 89, 20>(-0.3, 0.3, 5), x);
  check_chunks(1e-11, sorted, w, x);
  check_chunks(1e-10, rolled, w, x);
}

TEST_CASE("rows of a table, where only the run knows how many rows there are and how many are read") {
  const auto w = between<double, 3, 32>(-0.3, 0.3);
  const auto v = between<double, 32, 32>(-0.3, 0.3, 1);
  const auto all_x = between<double, 700, 3>(-1, 1, 2);
  for (const auto& [rows, n] : {std::pair{700, 5000}, {700, 3}, {1, 300}, {300, 300}}) {
    ct::array<double, ct::dyn, 3> x({rows, 3});
    std::copy_n(all_x.data(), x.size(), x.data());
    ct::array<std::int32_t, ct::dyn> index({n});
    for (ct::extent i = 0; i < n; ++i) index(i) = std::int32_t(i * 37 % rows) - (i % 3 == 0 ? rows : 0);
    check_chunks(1e-12, read_samples, w, v, x, index);
  }
}

TEST_CASE("in loops, branches and batches") {
  const auto w = between<double, 40, 20>(-0.3, 0.3);
  const auto x = between<double, 6000, 40>(-1, 1, 1);
  check_chunks(1e-11, descent, w, x, between<double, 6000, 20>(-1, 1, 4));
  check_chunks(1e-11, choice, w, x);
  check_chunks(1e-11, sets, w, between<double, 3, 2048, 40>(-1, 1, 6));
  check_chunks(1e-11, middle, w, between<double, 5, 2000, 40>(-1, 1, 9));
}

TEST_CASE("integers, two axes of one extent, and an exponent that is the number of rows") {
  ct::array<std::int32_t, 9000, 40> i;
  for (ct::extent k = 0; k < i.size(); ++k) i.data()[k] = std::int32_t(k * 13 % 17) - 8;
  check_chunks(0, product, i, i);
  check_chunks(1e-11, powers, between<double, 40, 20>(-0.3, 0.3), between<double, 2048, 40>(-1, 1, 1));
  check_jit(product, 1e-11, between<double, 512, 512>(-1, 1, 7), between<double, 512, 64>(-1, 1, 8));
}
