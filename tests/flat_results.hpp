#pragma once
/// Results beside numbers that another program printed.

#include "check_derivatives.hpp"

namespace checks {

/// All results of a tuple, one behind the other.
template <class... R> ct::array<double, ct::dyn> flat(const std::tuple<R...>& results) {
  return std::apply([](const auto&... r) { return std::get<0>(ct::ravel_tree(std::tuple(ct::array<double, ct::dyn>(ct::astype<double>(ct::ravel(r)))...))); }, results);
}
/// Compared with what JAX gives, which NAN stands for NaN in.
inline void check(const ct::array<double, ct::dyn>& have, std::initializer_list<double> want, double tolerance = 1e-7) {
  REQUIRE(have.size() == ct::extent(want.size()));
  const double* w = want.begin();
  for (ct::extent i = 0; i < have.size(); ++i, ++w) {
    INFO("element " << i << ": " << have(i) << " for " << *w);
    CHECK(((std::isnan(have(i)) && std::isnan(*w)) || have(i) == *w || std::abs(have(i) - *w) <= tolerance * (1 + std::abs(*w))));
  }
}

}  // namespace checks
