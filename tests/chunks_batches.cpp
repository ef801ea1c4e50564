/// Batches of products that sum over a long axis: each element of the batch goes through chunks of that axis by itself.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

template <class F, class... A> std::string kernels(const F& f, const A&... x) { return ct::jit(f).kernels(x...); }
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Attention, and the cotangents of queries, keys and values.
constexpr auto head = [](auto q, auto k, auto v) { return ct::matmul(ct::nn::softmax(ct::matmul(q, ct::transpose(k)) / 8.0), v); };
constexpr auto attention = [](auto g, auto q, auto k, auto v) {
  const auto [y, pullback] = ct::vjp(ct::vmap(head), q, k, v);
  return std::tuple(y, pullback(g));
};
constexpr auto one_head = [](auto g, auto q, auto k, auto v) {
  const auto [y, pullback] = ct::vjp(head, q, k, v);
  return std::tuple(y, pullback(g));
};
/// With numbers added to what queries and keys make, and of earlier keys only.
constexpr auto masked = [](auto g, auto mask, auto q, auto k, auto v) {
  const auto f = [&](auto q, auto k, auto v) { return ct::matmul(ct::nn::softmax(ct::matmul(q, ct::transpose(k)) + mask), v); };
  const auto [y, pullback] = ct::vjp(ct::vmap(f), q, k, v);
  return std::tuple(y, pullback(g));
};
constexpr auto causal = [](auto g, auto q, auto k, auto v) {
  const auto f = [](auto q, auto k, auto v) { return ct::matmul(ct::tril(ct::exp(-ct::square(ct::matmul(q, ct::transpose(k))))), v); };
  const auto [y, pullback] = ct::vjp(ct::vmap(f), q, k, v);
  return std::tuple(y, pullback(g));
};

/// The text of the whole has chunks of chunks.
bool has_nested_chunks(const std::string& text) {
  const std::size_t first = text.find("chunk, ");
  return first != std::string::npos && text.find("chunk, ", first + 1) != std::string::npos;
}

}  // namespace

TEMPLATE_TEST_CASE("a batch of products goes element by element through chunks of its own", "", float, double) {
  using T = TestType;
  constexpr double tolerance = std::is_same_v<T, float> ? 2e-5 : 1e-12;
  const auto g = between<T, 3, 512, 64>(-1, 1), q = between<T, 3, 512, 64>(-1, 1, 1), k = between<T, 3, 512, 64>(-1, 1, 2), v = between<T, 3, 512, 64>(-1, 1, 3);
  CHECK(has_nested_chunks(kernels(attention, g, q, k, v)));
  check_jit(attention, tolerance, g, q, k, v);
}

TEST_CASE("batches with a last chunk, and with other numbers of rows and columns") {
  const auto q = between<float, 9, 521, 40>(-1, 1, 1), k = between<float, 9, 521, 40>(-1, 1, 2);
  const auto g = between<float, 9, 521, 24>(-1, 1), v = between<float, 9, 521, 24>(-1, 1, 3);
  const std::string text = kernels(attention, g, q, k, v);
  CHECK((has(text, "chunk, 9 times") && has(text, "last chunk")));
  check_jit(attention, 2e-5, g, q, k, v);
  const auto few_keys = between<float, 9, 260, 40>(-1, 1, 2);
  const auto few_values = between<float, 9, 260, 24>(-1, 1, 3);
  check_jit(attention, 2e-5, g, q, few_keys, few_values);
}

TEST_CASE("batches whose rows share an array, or have triangles") {
  const auto g = between<double, 8, 512, 32>(-1, 1), q = between<double, 8, 512, 32>(-1, 1, 1), k = between<double, 8, 512, 32>(-1, 1, 2), v = between<double, 8, 512, 32>(-1, 1, 3);
  const auto mask = between<double, 512, 512>(-1, 1, 4);
  CHECK(has_nested_chunks(kernels(masked, g, mask, q, k, v)));
  check_jit(masked, 1e-12, g, mask, q, k, v);
  CHECK(!has(kernels(causal, g, q, k, v), "chunk"));  // some rows of a triangle are none
  check_jit(causal, 1e-12, g, q, k, v);
}

TEST_CASE("an axis that is as long as another, without a batch") {
  const auto g = between<float, 1024, 32>(-1, 1), q = between<float, 1024, 32>(-1, 1, 1), k = between<float, 1024, 32>(-1, 1, 2), v = between<float, 1024, 32>(-1, 1, 3);
  CHECK(has(kernels(one_head, g, q, k, v), "chunk, "));
  check_jit(one_head, 2e-5, g, q, k, v);
  check_jit(one_head, 2e-5, g, q, q, q);  // of the same array: rows and columns cannot be told apart
  const ct::array<float, 0, 512, 64> none;
  CHECK(std::get<0>(ct::jit(attention)(none, none, none, none)).size() == 0);
}

TEST_CASE("batches do not depend on the number of threads") {
  const auto g = between<float, 3, 512, 64>(-1, 1), q = between<float, 3, 512, 64>(-1, 1, 1), k = between<float, 3, 512, 64>(-1, 1, 2), v = between<float, 3, 512, 64>(-1, 1, 3);
  ct::set_num_threads(1);
  const auto one = ct::jit(attention)(g, q, k, v);
  for (const int threads : {2, 3, 7}) {
    ct::set_num_threads(threads);
    CHECK(ct::jit(attention)(g, q, k, v) == one);
  }
  ct::set_num_threads(2);
}
