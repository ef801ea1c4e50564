#pragma once
/// What the programs that random_programs.py writes are checked with.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>

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

/// Where two arrays differ by more than `tolerance` of the largest number that is expected, at least of 0.01; empty if they agree.
inline std::string differences(const reference::tensor& have, const reference::tensor& want, double tolerance) {
  if (!(have.dims == want.dims) || have.x.size() != want.x.size()) return "another shape; ";
  double scale = 1e-2;
  for (double x : want.x)
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < want.x.size(); ++i) {
    const double a = have.x[i], b = want.x[i];
    const bool agree = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance * scale;
    if (!agree && wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  std::ostringstream s;
  s.precision(17);
  s << wrong << " of " << want.x.size() << " differ, the first at " << first << ": " << have.x[first] << " in place of " << want.x[first] << "; ";
  return s.str();
}

/// That the compiled program of a function agrees with the interpretation of its graph, on the CPU and on each device of the tested backend.
template <class F, class... A> void check(long seed, const F& f, double tolerance, const A&... a) {
  const checks::tensors want = reference::evaluate(checks::graph_of(f, a...), checks::tensors_of(a...));
  INFO("random_programs.py " << seed << " 1");
  const auto compare = [&](const checks::tensors& have) {
    REQUIRE(have.size() == want.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
      INFO("result " << k);
      CHECK(differences(have[k], want[k], tolerance) == "");
    }
  };
  compare(checks::tensors_of(ct::jit(f)(a...)));
  if constexpr (!std::is_same_v<checks::tested_backend, ct::host::backend>)
    for (const ct::device& d : checks::tested_devices()) {
      INFO("on " << d.name());
      compare(checks::tensors_of(checks::run_on(d, f, a...)));
    }
}

}  // namespace random_programs
