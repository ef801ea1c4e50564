/// checkpoint and checkpointed_scan: the same numbers with less memory.

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

// GCC takes the replaced operators for mismatched ones where it has inlined only one of them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace {
std::atomic<long> allocations{0}, aligned_bytes{0};
}
void* operator new(std::size_t n) {
  ++allocations;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t n, std::align_val_t a) {
  ++allocations, aligned_bytes += long(n);
  if (void* p = std::aligned_alloc(std::size_t(a), (n + std::size_t(a) - 1) / std::size_t(a) * std::size_t(a))) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {
namespace policies = ct::checkpoint_policies;

/// A block of a network: two products of matrices with tanh between them.
constexpr auto block = [](auto x, auto w) { return ct::sin(ct::matmul(ct::checkpoint_name<"hidden">(ct::tanh(ct::matmul(x, w))), w)) + x; };
struct keep_sines {
  constexpr bool operator()(const ct::checkpoint_candidate& c) const { return c.primitive == "sin"; }
};
constexpr auto stack_of = [](auto f) {
  return [f](auto x, auto w) {
    for (int i = 0; i < 4; ++i) x = f(x, w);
    return ct::sum(ct::square(x));
  };
};
constexpr auto plain = [](auto x, auto w) { return stack_of(block)(x, w); };
constexpr auto checkpointed = [](auto x, auto w) { return stack_of(ct::checkpoint(block))(x, w); };

/// How often a primitive is in a graph and the bodies in it.
int count(const graph& g, std::string_view primitive) {
  int n = 0;
  for (const ct::node& x : g.nodes) n += !x.is_input() && x.op->name == primitive;
  for (const graph& body : g.subgraphs) n += count(body, primitive);
  return n;
}
template <class F, class... V> int count_of(const F&, std::string_view primitive, const V&...) { return count(ct::thaw(ct::simplified_function<F, ct::traced_tree<V>...>), primitive); }

template <int Levels> constexpr auto looped = [](auto c, auto xs, auto w) {
  return ct::checkpointed_scan<Levels>(
      [w](auto c, auto x) {
        const auto next = ct::sin(c * w + x);
        return std::tuple(next, ct::sum(next * x));
      },
      c, xs);
};
/// Three steps whose derivatives need the products and the sines before them.
constexpr auto three = [](auto x) {
  for (int i = 0; i < 3; ++i) x = ct::sin(ct::matmul(x, x));
  return ct::sum(x * x);
};
constexpr auto grad_plain = [](auto x) { return ct::value_and_grad(three)(x); };
constexpr auto grad_nothing = [](auto x) { return ct::value_and_grad([](auto x) { return ct::square(ct::checkpoint(three)(x)); })(x); };
constexpr auto grad_dots = [](auto x) { return ct::value_and_grad([](auto x) { return ct::square(ct::checkpoint(three, policies::dots_saveable)(x)); })(x); };
constexpr auto grad_everything = [](auto x) { return ct::value_and_grad([](auto x) { return ct::square(ct::checkpoint(three, policies::everything_saveable)(x)); })(x); };

/// n exponentials in halves; all but the last half are checkpointed, down to pairs.
template <int N> struct halved {
  template <class X> constexpr auto operator()(const X& x) const {
    if constexpr (N == 2) return ct::exp(ct::exp(x));
    else return halved<N / 2>{}(ct::checkpoint(halved<N / 2>{})(x));
  }
};
}  // namespace

TEST_CASE("checkpoint: the value is the same to the bit, and so are derivatives of any order, whatever the policy") {
  const auto x = between<double, 3, 2>(-1, 1);
  const auto w = between<double, 2, 2>(-1, 1, 1);
  const graph want = graph_of(block, x, w);
  numbers random;
  const auto same = [&](const auto& f) {
    check_same(graph_of(f, x, w), want, tensors_of(x, w));
    check_batching(graph_of([f](auto x, auto w) { return ct::grad([f](auto x, auto w) { return ct::sum(ct::sin(f(x, w))); }, ct::wrt<0, 1>)(x, w); }, x, w), tensors_of(x, w), random);
  };
  same(ct::checkpoint(block));
  same(ct::remat(block, policies::nothing_saveable));
  same(ct::checkpoint(block, policies::everything_saveable));
  same(ct::checkpoint(block, policies::dots_saveable));
  same(ct::checkpoint(block, policies::dots_with_no_batch_dims_saveable));
  same(ct::checkpoint(block, policies::save_only_these_names<"hidden">));
  same(ct::checkpoint(block, policies::save_any_names_but_these<"hidden">));
  same(ct::checkpoint(block, policies::save_from_both_policies(policies::dots_saveable, policies::save_only_these_names<"hidden">)));
  same(ct::checkpoint(block, keep_sines{}));
  same(ct::checkpoint(ct::checkpoint(block)));
  same([](auto x, auto w) { return ct::checkpoint([w](auto x) { return block(x, w); })(x); });
}

TEST_CASE("a checkpointed stack of blocks needs less memory, and its calls allocate nothing") {
  const auto x = between<float, 32, 32>(-1, 1), w = between<float, 32, 32>(-0.2, 0.2, 1);
  const auto f = ct::jit(ct::value_and_grad(plain, ct::wrt<0, 1>));
  const auto h = ct::jit(ct::value_and_grad(checkpointed, ct::wrt<0, 1>));
  const auto [value, gradients] = f(x, w);
  auto result = h(x, w);
  CHECK(float(std::get<0>(result)) == float(value));
  CHECK(difference(tensors_of(std::get<1>(result)), tensors_of(gradients), 1e-6) == "");
  CHECK(h.cost(x, w).peak_bytes < f.cost(x, w).peak_bytes);
  CHECK(h.cost(x, w).flops > f.cost(x, w).flops);
  for (int i = 0; i < 3; ++i) result = h(x, w);
  const long before = allocations;
  for (int i = 0; i < 3; ++i) result = h(x, w);
  CHECK(allocations == before);
}

TEST_CASE("what is computed again: nothing, everything but the last step, or all but what the policy keeps") {
  const ct::array<float, 2, 2> x;
  // Three products forward, two for each of them backward.
  CHECK(count_of(grad_plain, "dot_general", x) == 9);
  CHECK(count_of(grad_plain, "sin", x) == 3);
  CHECK(count_of(grad_dots, "dot_general", x) == 9);
  CHECK(count_of(grad_dots, "sin", x) == 6);
  CHECK(count_of(grad_nothing, "dot_general", x) == 12);
  CHECK(count_of(grad_nothing, "sin", x) == 6);
  CHECK(count_of(grad_everything, "dot_general", x) == 9);
  CHECK(count_of(grad_everything, "sin", x) == 3);
  constexpr auto grad_halved = [](auto x) { return ct::value_and_grad([](auto x) { return ct::square(halved<8>{}(x)); })(x); };
  CHECK(count_of(grad_halved, "exp", 0.5f) == 16);
}

TEST_CASE("steady-state calls of loops, branches and their gradients allocate nothing") {
  const auto step = ct::jit([](auto c, auto xs, auto p) {
    const auto loss = [p](auto c, auto xs) {
      const auto [last, ys] = ct::scan([p](auto c, auto x) { const auto y = ct::cond(p, [](auto c) { return ct::sin(c); }, [](auto c) { return c * c; }, c); return std::tuple(y + x, ct::sum(y)); }, c, xs);
      return ct::sum(last) + ct::sum(ys);
    };
    return std::tuple(ct::grad(loss)(c, xs), ct::while_loop([](auto v) { return ct::max(v) > 0.1f; }, [](auto v) { return v * 0.5f; }, c), ct::associative_scan([](auto a, auto b) { return a * b; }, xs));
  });
  const auto c = between<float, 500>(-1, 1);
  const auto xs = between<float, 20, 500>(-1, 1, 1);
  { const auto first = step(c, xs, true); }
  const long before = allocations;
  for (int i = 0; i < 3; ++i) const auto again = step(c, xs, i == 1);
  CHECK(allocations == before);
}

TEST_CASE("checkpointed_scan is scan") {
  const auto w = between<double>(0.5, 1.5);
  const auto each = [&]<extent N>(std::integral_constant<extent, N>) {
    INFO("length " << N);
    const auto c = between<double, 2>(-1, 1);
    const auto xs = between<double, N, 2>(-1, 1);
    const graph want = graph_of([](auto c, auto xs, auto w) { return ct::scan([w](auto c, auto x) { const auto next = ct::sin(c * w + x); return std::tuple(next, ct::sum(next * x)); }, c, xs); }, c, xs, w);
    check_same(graph_of(looped<1>, c, xs, w), want, tensors_of(c, xs, w));
    check_same(graph_of(looped<2>, c, xs, w), want, tensors_of(c, xs, w));
    check_same(graph_of(looped<3>, c, xs, w), want, tensors_of(c, xs, w));
  };
  each(std::integral_constant<extent, 1>());
  each(std::integral_constant<extent, 2>());
  each(std::integral_constant<extent, 7>());
  each(std::integral_constant<extent, 64>());
  each(std::integral_constant<extent, 100>());
  for (extent n : {0, 1, 7, 100}) {
    const auto c = between<double, 2>(-1, 1);
    ct::array<double, ct::dyn, 2> xs({n, 2});
    std::copy_n(between<double, 200>(-1, 1).data(), 2 * n, xs.data());
    check_same(graph_of(looped<2>, c, xs, w), graph_of(looped<1>, c, xs, w), tensors_of(c, xs, w));
  }
}

TEST_CASE("checkpointed_scan in compiled programs: gradients, and less memory with every level") {
  const auto c = between<double, 64>(-1, 1);
  const auto xs = between<double, 100, 64>(-1, 1);
  const auto w = between<double>(0.5, 1.5);
  constexpr auto gradient = []<int Levels>(std::integral_constant<int, Levels>) {
    return ct::jit([](auto c, auto xs, auto w) { return ct::grad([](auto c, auto xs, auto w) { return ct::sum(ct::square(std::get<0>(looped<Levels>(c, xs, w)))); }, ct::wrt<0, 2>)(c, xs, w); });
  };
  const auto one = gradient(std::integral_constant<int, 1>());
  const auto two = gradient(std::integral_constant<int, 2>());
  // A thread's first call allocates the arena: what cost says, but for the results.
  const auto measured = [&](const auto& f) {
    std::tuple<ct::array<double, 64>, ct::array<double>> out;
    const long before = aligned_bytes;
    std::thread([&] { f.into(out)(c, xs, w); }).join();
    return aligned_bytes - before;
  };
  CHECK(measured(one) == one.cost(c, xs, w).peak_bytes - 65 * 8);
  CHECK(measured(two) == two.cost(c, xs, w).peak_bytes - 65 * 8);
  const auto want = tensors_of(one(c, xs, w));
  CHECK(difference(tensors_of(two(c, xs, w)), want, 1e-12) == "");
  CHECK(two.cost(c, xs, w).peak_bytes < one.cost(c, xs, w).peak_bytes / 2);
}

TEST_CASE("a donated carry saves its bytes") {
  const auto f = ct::jit([](auto c, auto w) { return ct::fori_loop<0, 10>([w](auto, auto c) { return ct::sin(c * w); }, c); });
  ct::array<float, 1000> c = between<float, 1000>(-1, 1);
  CHECK(f.cost(c, 0.5f).peak_bytes == 4000);
  const auto want = f(c, 0.5f);
  const float* memory = c.data();
  const auto got = f(std::move(c), 0.5f);
  CHECK(got == want);
  CHECK((got.data() == memory) == (f.cost(std::move(c), 0.5f).peak_bytes == 0));
  CHECK(got.data() == memory);
}

TEST_CASE("names in functions of arrays of run-time extents") {
  constexpr auto loss = [](auto x) { return ct::sum(ct::checkpoint([](auto a) { return ct::exp(ct::checkpoint_name<"squares">(a * a)); }, ct::checkpoint_policies::save_only_these_names<"squares">)(x)); };
  ct::array<double, ct::dyn> x({3});
  x(0) = 0.5, x(1) = -1, x(2) = 0.25;
  const auto gradient = ct::grad(loss)(x);
  for (int i = 0; i < 3; ++i) CHECK(gradient(i) == Approx(2 * x(i) * std::exp(x(i) * x(i))));
}
