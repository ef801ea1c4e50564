#pragma once
/// The cost model against the clock: programs of elements beside the same over arrays, on one thread. A case's name has the ratio
/// that `explain` expects of the two; the row's ratio is the one measured.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>

#include <cotangent/cotangent.hpp>

#include "../harness.hpp"
#include "../inputs.hpp"

namespace estimates {

namespace ct = cotangent;

template <bool Gradients> void add_determinants();
void add_distances();
void add_rotations();

/// What `explain` expects of the time of the program over arrays over that of the program of elements, from their canonical graphs.
double expected_ratio(const ct::graph& elements, const ct::graph& arrays, const ct::sequence<ct::shape>& shapes);

/// The program over arrays of a function whose own program is one of elements.
template <class F, class... V> struct make_arrays {
  constexpr ct::graph operator()() const { return ct::canonicalize(ct::thaw(ct::simplified_function<F, V...>)); }
};
template <class F, class... A> struct both {
  using arrays = ct::executable<make_arrays<F, ct::traced_tree<A>...>, ct::donated_leaves<0, int(sizeof...(A))>, ct::host::backend>;
  using result = decltype(ct::jit(F{})(std::declval<const A&>()...));
  std::tuple<A...> x;
  result elements, other;

  void run_elements() {
    std::apply([this](const A&... a) { ct::jit(F{}).into(elements)(a...); }, x);
  }
  void run_arrays() {
    typename arrays::state s;
    const void* in[] = {std::get<A>(x).data()...};
    void* out[] = {other.data()};
    arrays::execute(s, in, out);
  }
  double expected() const {
    return expected_ratio(ct::thaw(ct::canonical_function<ct::host::backend, F, ct::traced_tree<A>...>),
                          ct::thaw(ct::canonical_graph<make_arrays<F, ct::traced_tree<A>...>>), {std::get<A>(x).shape()...});
  }
};

template <class F, class... A> void add(const std::string& name, F, A... x) {
  static both<F, A...> b{std::tuple(x...), {}, {}};
  b.run_elements(), b.run_arrays();
  for (ct::extent i = 0; i < b.elements.size(); ++i)
    if (std::abs(b.elements.data()[i] - b.other.data()[i]) > 1e-3f * (1 + std::abs(b.other.data()[i]))) {
      std::fprintf(stderr, "estimates: %s: the programs differ\n", name.c_str());
      std::exit(1);
    }
  char expected[32];
  std::snprintf(expected, sizeof expected, "%.1f", b.expected());
  bench::compare("estimates", name + ", expected " + expected, 1, "arrays", [] { return bench::sides{[] { b.run_elements(); }, [] { b.run_arrays(); }}; });
}

template <class X> X random(X x) {
  bench::source().uniform(-1, 1, x);
  return x;
}

}  // namespace estimates
