/// A recurrence with one multiplication and addition in a turn.

#include "loops.hpp"

namespace loops {
namespace {

constexpr int turns = 1000000;
constexpr auto recurrence = [](auto a, auto c) { return ct::fori_loop<0, turns>([&](auto, auto c) { return a * c + 1.0; }, c); };
[[gnu::noinline]] double recurrence_by_hand(double a, double c) {
  for (int i = 0; i < turns; ++i) c = std::fma(a, c, 1.0);
  return c;
}

}  // namespace

void add_recurrence() {
  bench::compare("loops", "1,000,000 turns of a recurrence", 2, "hand-written loop", [] {
    expect_close("recurrence", ct::jit(recurrence)(0.99, 0.5)(), recurrence_by_hand(0.99, 0.5), 1e-12);
    double a = 0.99, c = 0.5, d = 0.99, e = 0.5;
    return bench::sides{[=]() mutable {
                          benchmark::DoNotOptimize(a);
                          benchmark::DoNotOptimize(c);
                          return ct::jit(recurrence)(a, c);
                        },
                        [=]() mutable {
                          benchmark::DoNotOptimize(d);
                          benchmark::DoNotOptimize(e);
                          return recurrence_by_hand(d, e);
                        }};
  });
}

}  // namespace loops
