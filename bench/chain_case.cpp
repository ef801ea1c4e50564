/// One kind and length of chain, CHAIN_KIND and CHAIN_OPERATIONS: bench/meson.build compiles this file once for each.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <cotangent/cotangent.hpp>

#include "baselines/chains.hpp"
#include "chain.hpp"
#include "harness.hpp"

namespace {

namespace ct = cotangent;

constexpr int operations = CHAIN_OPERATIONS;
constexpr auto kind = baselines::chain_kind::CHAIN_KIND;

constexpr auto chain = [](auto h) {
  for (int k = 0; k < operations / 4; ++k) {
    h = h * 0.9;
    h = h + 0.1;
    if constexpr (kind == baselines::chain_kind::compute) {
      h = ct::sin(h);
      h = h * h;
    } else {
      h = ct::maximum(h, 0.2);
      h = h * 1.1;
    }
  }
  return h;
};
constexpr auto total = [](auto x) { return ct::sum(chain(x)); };
constexpr auto gradient = ct::grad(total);

template <ct::extent N> struct buffers {
  ct::array<float, N> x, ours, theirs;
  buffers() {
    for (ct::extent i = 0; i < N; ++i) x(i) = float(i % 1000) * 1e-3f;
  }
};

/// A hand-written loop, cut in one part for each of some threads.
class loop {
 public:
  using function = void (*)(const float*, float*, std::size_t);
  loop(function f, int threads) : f_(f), threads_(threads), arena_(threads) {}
  void operator()(const float* x, float* y, std::size_t n) {
    if (threads_ == 1) return f_(x, y, n);
    arena_.execute([&] {
      tbb::parallel_for(
          0, threads_,
          [&](int i) {
            const std::size_t first = n * std::size_t(i) / std::size_t(threads_), last = n * std::size_t(i + 1) / std::size_t(threads_);
            f_(x + first, y + first, last - first);
          },
          tbb::static_partitioner{});
    });
  }

 private:
  function f_;
  int threads_;
  tbb::task_arena arena_;
};

/// The fastest hand-written program for n elements: of the plain and the -ffast-math loops, in one part or several.
std::shared_ptr<loop> fastest_loop(bool backward, const float* x, float* y, std::size_t n, int threads) {
  using namespace baselines;
  std::vector<loop::function> functions =
      backward ? std::vector<loop::function>{chain_gradient<plain_math, kind, operations>, chain_gradient<fast_math, kind, operations>}
               : std::vector<loop::function>{chain_forward<plain_math, kind, operations>, chain_forward<fast_math, kind, operations>};
  if (backward && kind == chain_kind::compute) functions.push_back(chain_gradient_in_blocks<fast_math, operations>);
  const auto pick = [&](const std::vector<std::shared_ptr<loop>>& loops, std::size_t elements) {
    std::vector<double> times;
    for (const auto& l : loops) {
      const auto f = [&] { (*l)(x, y, elements); };
      const long calls = bench::calls_per_sample(f);
      std::vector<double> samples;
      for (int i = 0; i < 5; ++i) samples.push_back(bench::time_ms(f, calls));
      times.push_back(bench::median(samples));
    }
    return std::size_t(std::min_element(times.begin(), times.end()) - times.begin());
  };
  std::vector<std::shared_ptr<loop>> loops;
  for (const auto f : functions) loops.push_back(std::make_shared<loop>(f, 1));
  const std::size_t best = pick(loops, std::min<std::size_t>(n, 1 << 16));
  if (threads == 1) return loops[best];
  loops = {std::make_shared<loop>(functions[best], threads), loops[best]};
  return n > (1 << 20) ? loops[0] : loops[pick(loops, n)];
}

/// Ends the program if the two sides do not compute the same.
template <ct::extent N> void check(const buffers<N>& b, const std::string& name) {
  for (ct::extent i = 0; i < N; ++i)
    if (!(std::abs(b.ours(i) - b.theirs(i)) <= 1e-5f + 1e-4f * std::abs(b.theirs(i)))) {
      std::fprintf(stderr, "chain: %s: element %ld is %.9g here and %.9g by hand\n", name.c_str(), long(i), double(b.ours(i)), double(b.theirs(i)));
      std::exit(1);
    }
}

template <ct::extent N, bool Backward> void add(const std::string& size, int threads) {
  const bool memory = kind == baselines::chain_kind::memory;
  const std::string name = std::to_string(operations) + (memory ? " memory" : " compute") + " operations, " + size + (Backward ? ", grad" : ", forward");
  const int samples = N > (1 << 20) ? 15 : 41;
  const auto ours = [](buffers<N>& b) {
    if constexpr (Backward) ct::jit(gradient).into(b.ours)(b.x);
    else ct::jit(chain).into(b.ours)(b.x);
  };
  bench::compare("chain", name, threads, "loop by hand", [=] {
    ct::set_num_threads(threads);
    const auto b = std::make_shared<buffers<N>>();
    const auto by_hand = fastest_loop(Backward, b->x.data(), b->theirs.data(), std::size_t(N), threads);
    ours(*b);
    (*by_hand)(b->x.data(), b->theirs.data(), std::size_t(N));
    check(*b, name);
    return bench::sides{[=] { ours(*b); }, [=] { (*by_hand)(b->x.data(), b->theirs.data(), std::size_t(N)); }};
  }, samples);
  if (memory && N > (1 << 20))
    bench::compare("chain", name, threads, "copy", [=] {
      ct::set_num_threads(threads);
      const auto b = std::make_shared<buffers<N>>();
      const auto copy = std::make_shared<bench::copier>(threads);
      return bench::sides{[=] { ours(*b); }, [=] { (*copy)(b->theirs.data(), b->x.data(), std::size_t(N) * sizeof(float)); }};
    }, samples);
}

template <ct::extent N> void add_size(const std::string& size) {
  for (const int threads : {1, 2}) {
    if (threads == 1 && (bench::quick || N < (1 << 12))) continue;  // the smallest runs on one thread in any case
    add<N, false>(size, threads);
    add<N, true>(size, threads);
  }
}

}  // namespace

template <> void add_chains<baselines::chain_kind::CHAIN_KIND, CHAIN_OPERATIONS>() {
  add_size<(1 << 10)>("1k");
  add_size<(1 << 16)>("64k");
  add_size<(1 << 24)>("16M");
}
