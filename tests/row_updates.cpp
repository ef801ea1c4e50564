/// Many updates that kernels make, combined row block by row block.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
/// Updates that a kernel makes: they are combined row block by row block, and never exist as a whole.
constexpr auto energy_of_lists = [](auto x, auto from, auto lists) {  // [m,3] [n,3] [n,k]
  const auto d = ct::expand_dims<1>(from) - ct::take<0>(x, lists);
  return ct::sum(ct::exp(-ct::sum(d * d, ct::axis<2>)));
};
constexpr auto combined = [](auto x, auto u, auto list) {  // [m,16] [n,16] [n]
  const auto v = ct::tanh(u * 2);
  return std::tuple(ct::at(x, list).set(v), ct::at(x, list).min(v), ct::at(x, list).max(v * 3), ct::at(x, list).multiply(v + 1), ct::sum(v, ct::axis<0>));
};
constexpr auto onto_what_is_read = [](auto x, auto list) { return ct::at(x, list).add(ct::sin(ct::take<0>(x, list))); };

/// Indices 0, ..., m - 1 in a long cycle, with runs of equal ones, negative ones and perhaps some outside, where reads are NaN.
void fill_places(auto& places, int m, bool some_outside) {
  int k = 0;
  for (std::int32_t& i : places) i = some_outside && k % 101 == 0 ? m + k % 7 : k % 53 < 5 ? 4 % m : (k * 7 + k / 13) % m - (k % 3 == 0 ? m : 0), ++k;
}
/// Whether the program's scatters are in a group of steps, as many of them as there are `of_all`.
bool scatter_in_rows(const std::string& kernels, int of_all) {
  int found = 0, last = -1;
  for (std::size_t line = 0; line < kernels.size(); line = kernels.find('\n', line) + 1) {
    const std::string text = kernels.substr(line, kernels.find('\n', line) - line);
    if (text.find("run together") != std::string::npos) last = std::stoi(text.substr(text.find(" to ") + 4));
    if (text.find(": scatter") != std::string::npos) found += std::stoi(text.substr(5)) <= last;
  }
  return found == of_all;
}
template <class F, class... A> void check_any_threads(F f, const A&... x) {
  ct::set_num_threads(1);
  const auto one = ct::jit(f)(x...);
  for (const int threads : {2, 3, 7}) {
    ct::set_num_threads(threads);
    CHECK(ct::jit(f)(x...) == one);
  }
  ct::set_num_threads(2);
}
}  // namespace

TEMPLATE_TEST_CASE("updates that a kernel makes are combined row block by row block", "", float, double) {
  using T = TestType;
  constexpr double tolerance = std::is_same_v<T, float> ? 1e-4 : 1e-11;
  const auto x = between<T, 403, 3>(-1, 1);
  const auto from = between<T, 2501, 3>(-1, 1, 5);
  ct::array<std::int32_t, 2501, 24> lists;
  fill_places(lists, 403, true);
  const auto slope = ct::value_and_grad(energy_of_lists, ct::wrt<0, 1>);
  CHECK(scatter_in_rows(ct::jit(slope).kernels(x, from, lists), 1));
  check_jit(slope, tolerance, x, from, lists);
  fill_places(lists, 403, false);
  check_jit(slope, tolerance, x, from, lists);
  check_any_threads(slope, x, from, lists);

  const auto y = between<T, 31, 16>(-1, 1);
  const auto u = between<T, 6001, 16>(-1, 1, 3);
  ct::array<std::int32_t, 6001> list;
  fill_places(list, 31, true);
  CHECK(scatter_in_rows(ct::jit(combined).kernels(y, u, list), 4));
  check_jit(combined, tolerance, y, u, list);
  check_any_threads(combined, y, u, list);
  CHECK(scatter_in_rows(ct::jit(onto_what_is_read).kernels(y, list), 1));
  check_jit(onto_what_is_read, tolerance, y, list);
  auto given = y;  // the kernel reads what the scatter would overwrite
  CHECK(ct::jit(onto_what_is_read)(std::move(given), list) == ct::jit(onto_what_is_read)(y, list));
  given = y;
  CHECK(ct::jit(combined)(std::move(given), u, list) == ct::jit(combined)(y, u, list));
  const auto twice = [](auto x, auto u, auto list) { return ct::at(ct::at(x, list).add(ct::exp(u)), list).max(ct::cos(u)); };  // the second onto the first
  check_jit(twice, tolerance, y, u, list);
}

TEST_CASE("updates by row blocks whose numbers are known at run time only") {
  const auto some = between<double, 3000, 3>(-1, 1, 5);
  const auto slope = ct::grad(energy_of_lists, ct::wrt<0, 1>);
  for (const ct::extent n : {0, 1, 7, 130, 3000})
    for (const ct::extent m : {1, 19, 700}) {
      ct::array<double, ct::dyn, 3> x({m, 3}), from({n, 3});
      ct::array<std::int32_t, ct::dyn, 20> lists({n, 20});
      std::copy_n(some.data() + 30, 3 * m, x.data()), std::copy_n(some.data(), 3 * n, from.data());
      fill_places(lists, int(m), false);
      CHECK(scatter_in_rows(ct::jit(slope).kernels(x, from, lists), 1));
      check_jit(slope, 1e-11, x, from, lists);
      if (m == 19) check_any_threads(slope, x, from, lists);
    }
}

TEST_CASE("loops around updates by row blocks, and batches of them") {
  const auto y = between<double, 31, 16>(-1, 1);
  const auto u = between<double, 6001, 16>(-1, 1, 3);
  ct::array<std::int32_t, 6001> list;
  fill_places(list, 31, true);
  const auto turns = [](auto y, auto u, auto list) {
    return ct::fori_loop<0, 3>([u, list](auto k, auto v) { return ct::at(v, list).add(ct::sin(u * ct::astype<double>(k)) * 0.1) * 0.9; }, y);
  };
  check_jit(turns, 1e-11, y, u, list);
  check_any_threads(turns, y, u, list);
  const auto batch = ct::vmap([](auto y, auto u, auto list) { return ct::at(y, list).add(ct::sin(u)); }, ct::in_axes<ct::none, 1, ct::none>);
  check_jit(batch, 1e-11, ct::array<double, 31>(), u, list);
}

namespace {
/// Sums of sin of the messages that the nodes of a graph get from their neighbours.
template <ct::extent Nodes> constexpr auto messages = [](auto x, auto from, auto to) { return ct::sum(ct::sin(ct::segment_sum<Nodes>(ct::take<0>(x, from), to))); };
template <ct::extent Features> void check_messages() {
  constexpr ct::extent nodes = 50, edges = 700;
  ct::array<double, nodes, Features> x;
  for (int k = 0; k < nodes * Features; ++k) x.data()[k] = std::sin(0.7 * k);
  ct::array<std::int32_t, edges> from, to;
  fill_places(from, nodes, false), fill_places(to, nodes, true);
  constexpr auto slope = ct::grad(messages<nodes>);
  check_jit(slope, 1e-12, x, from, to);
  CHECK(ct::jit(slope).kernels(x, from, to).find("packet") == std::string::npos);
}
}  // namespace
TEST_CASE("messages along the edges of a graph and their gradient are kernels of whole rows, and scatters") {
  check_messages<8>();
  check_messages<16>();
}

namespace {
constexpr auto bag_slopes = ct::grad([](auto words, auto bags) { return ct::sum(ct::square(ct::sum(ct::take<0>(words, bags), ct::axis<1>))); });
constexpr auto bordered = [](auto x) {
  const auto y = ct::roll<0>(x, 1) + ct::roll<1>(x, -1);
  return ct::at(ct::at(y, 0).set(0), 1999).set(1);
};
}  // namespace

TEST_CASE("what updates are added to is no part of the rows that make them, though it has their shape") {
  const auto words = between<double, 3000, 8>(-1, 1);
  ct::array<std::int32_t, 3000, 6> bags;
  fill_places(bags, 3000, true);
  CHECK(scatter_in_rows(ct::jit(bag_slopes).kernels(words, bags), 1));
  check_jit(bag_slopes, 1e-12, words, bags);
  fill_places(bags, 3000, false);
  check_any_threads(bag_slopes, words, bags);
}

TEST_CASE("an array that is updated before it is returned lies where the result will") {
  const auto x = between<double, 2000, 9>(-1, 1);
  CHECK(occurrences("arena+0 [2000,9]", ct::jit(bordered).kernels(x)) == 0);
  check_jit(bordered, 1e-13, x);
  auto given = x;
  CHECK(ct::jit(bordered)(std::move(given)) == ct::jit(bordered)(x));
  check_jit([](auto x) { return ct::fori_loop<0, 4>([](auto, auto x) { return bordered(x); }, x); }, 1e-12, x);
}
