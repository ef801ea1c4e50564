/// The cost model and explain(): that it sees what moves memory, what takes arithmetic, and which of two programs takes less.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

constexpr auto distances = ct::vmap(ct::vmap([](auto a, auto b) { return ct::sum(ct::square(a - b)); }, ct::in_axes<ct::none, 0>), ct::in_axes<0, ct::none>);
constexpr auto to_nearest = ct::grad([](auto x, auto y) { return ct::sum(ct::min(distances(x, y), ct::axis<1>)); });
constexpr auto softmax = [](auto x) { return ct::nn::softmax(x); };
constexpr auto sum_of = [](auto x, auto y) { return x + y; };
constexpr auto sines = [](auto x) { return ct::sin(ct::sin(ct::sin(ct::sin(x)))); };
constexpr auto product = [](auto a, auto b) { return ct::matmul(a, b); };
template <int Turns> constexpr auto looped = [](auto x) { return ct::fori_loop<0, Turns>([](auto, auto v) { return v + 0.01f * ct::sin(v); }, x); };

template <class... A> double estimated(const auto& f, const A&... x) {
  using F = std::remove_cvref_t<decltype(f)>;
  const ct::alternative a{"", ct::thaw(ct::canonical_function<ct::host::backend, F, ct::traced_tree<A>...>)};
  ct::sequence<shape> shapes;
  (shapes.push_back(x.shape()), ...);
  return ct::explained(a, shapes).nanoseconds();
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("explain shows the steps and what was not chosen") {
  const ct::array<float, 500, 3> x;
  const ct::array<float, 700, 3> y;
  const std::string pairs = ct::jit(to_nearest).explain(x, y);
  CHECK(pairs.starts_with("chosen: elements, an instance per lane; "));
  CHECK(has(pairs, "step 1: kernel over [500,700]"));
  CHECK(has(pairs, "instead, arrays, not their elements: "));
  CHECK(has(pairs, "instead, every value stored, none computed again: "));
  const std::string rows = ct::jit(softmax).explain(ct::array<float, ct::dyn, 300>({3000, 300}));
  CHECK(has(rows, "instead, each step over all rows: "));
  const ct::array<float, 1500> z;
  const std::string one = ct::jit(sum_of).explain(z, z);
  CHECK(has(one, "chosen: 1 step, 18 kB, 1.5 kflop: about "));
  CHECK(!has(one, "instead"));
}

TEST_CASE("the cost model knows memory from arithmetic, and counts run-time extents and turns") {
  const auto big = [](int n) { return ct::array<float, ct::dyn>({n}); };
  CHECK(has(ct::jit(sum_of).explain(big(1 << 22), big(1 << 22)), ", memory"));
  CHECK(has(ct::jit(sines).explain(big(1 << 12)), ", arithmetic"));
  CHECK(estimated(sines, big(1 << 22)) > 100 * estimated(sines, big(1 << 12)));
  CHECK(estimated(product, ct::array<float, 1024, 1024>(), ct::array<float, 1024, 1024>()) > 10 * estimated(sum_of, big(1 << 20), big(1 << 20)));
  CHECK(estimated(looped<1000>, big(4096)) > 9 * estimated(looped<100>, big(4096)));
  const ct::array<float, 512, 512> a;
  const ct::array<float, 64, 64> b;
  const double ratio = estimated(product, a, a) / estimated(product, b, b);
  CHECK((ratio > 300 && ratio < 700));
}

TEST_CASE("what was chosen is what the cost model expects to take less") {
  const auto expects = [](const std::string& text) {  // the first alternative is at least as slow
    const auto time = [&](std::size_t from) {
      const std::size_t at = text.find("about ", from) + 6;
      std::size_t end = 0;
      const double x = std::stod(text.substr(at), &end);
      const std::string unit = text.substr(at + end + 1, 2);
      return x * (unit == "ns" ? 1 : unit == "us" ? 1e3 : 1e6);
    };
    const std::size_t other = text.find("instead");
    REQUIRE(other != std::string::npos);
    CHECK(time(0) <= time(other));
  };
  expects(ct::jit(to_nearest).explain(ct::array<float, 500, 3>(), ct::array<float, 700, 3>()));
  expects(ct::jit(softmax).explain(ct::array<float, 3000, 300>()));
  constexpr auto rotations = ct::vmap([](auto m, auto v) { return ct::matmul(ct::matmul(m, m), v) / ct::sqrt(ct::sum(v * v)); });
  expects(ct::jit(rotations).explain(ct::array<float, 5000, 3, 3>(), ct::array<float, 5000, 3>()));
}
