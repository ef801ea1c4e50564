#pragma once
/// What the programs that random_programs.py writes are checked with.

#include <algorithm>
#include <cstdint>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace random_programs {

namespace ct = cotangent;
using ct::extent;

/// Numbers in [0, limit).
template <extent... E> auto indices(int limit, int seed) {
  ct::array<std::int32_t, E...> r;
  std::uint64_t state = std::uint64_t(seed) * 7919 + 13;
  for (std::int32_t& x : r) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = std::int32_t((state >> 33) % std::uint64_t(limit));
  }
  return r;
}

/// n rows of numbers in [-1, 1], [n, E...].
template <class T, extent... E> auto rows(extent n, int seed) {
  constexpr extent most = 5000, row = (E * ... * 1);
  const auto some = checks::between<T, most, row>(-1, 1, seed);
  ct::array<T, ct::dyn, E...> x({n, E...});
  std::copy_n(some.data(), n * row, x.data());
  return x;
}

/// That the compiled program of a function agrees with the interpretation of its graph, on the CPU and on each device of the tested backend.
template <class F, class... A> void check(long seed, const F& f, double tolerance, const A&... a) {
  const checks::tensors want = reference::evaluate(checks::graph_of(f, a...), checks::tensors_of(a...));
  INFO("random_programs.py " << seed << " 1");
  const auto compare = [&](const checks::tensors& have) { CHECK(checks::difference(have, want, tolerance, 0.01) == ""); };
  compare(checks::tensors_of(ct::jit(f)(a...)));
  if constexpr (!std::is_same_v<checks::tested_backend, ct::host::backend>)
    for (const ct::device& d : checks::tested_devices()) {
      INFO("on " << d.name());
      compare(checks::tensors_of(checks::run_on(d, f, a...)));
    }
}

}  // namespace random_programs
