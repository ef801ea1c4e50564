#pragma once
/// Everyday operations on arrays with short rows (pools, colours, coordinates), with gathered rows, along outer axes, in other layouts, and with
/// updates at computed places, each beside a loop by hand, in one thread.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <cotangent/cotangent.hpp>

#include "../harness.hpp"
#include "../inputs.hpp"

namespace arrays {

namespace ct = cotangent;

void add_convolutions();
void add_gathered_rows();
void add_layouts();
void add_places();
void add_programs();
void add_series();
void add_short_rows();
void add_transforms();

/// Registers f of arguments that `fill` makes, beside by_hand(result, arguments...) into memory of as many elements.
template <class... Argument, class F, class Hand, class Fill> void row(std::string name, F f, Hand by_hand, Fill fill) {
  bench::compare("arrays", name, 1, "by hand", [=] {
    using result = decltype(std::invoke(ct::jit(f), std::declval<const Argument&>()...));
    struct memory {
      std::tuple<Argument...> arguments;
      result ours;
      std::vector<typename result::value_type> expected;
    };
    auto data = std::make_shared<memory>();
    bench::source source;
    std::apply([&](auto&... a) { fill(source, a...); }, data->arguments);
    data->ours = std::apply(ct::jit(f), data->arguments);  // so that it has its extents
    data->expected.resize(std::size_t(data->ours.size()));
    const auto ours = [=] { std::apply([&](const auto&... a) { ct::jit(f).into(data->ours)(a...); }, data->arguments); };
    const auto theirs = [=] { std::apply([&](const auto&... a) { by_hand(data->expected.data(), a...); }, data->arguments); };
    ours(), theirs();
    for (std::size_t i = 0; i < data->expected.size(); ++i) {
      const auto a = data->ours.data()[i], b = data->expected[i];
      const double difference = double(std::abs(a - b)), size = double(std::abs(0.0f + b));
      if (difference <= 1e-4 * (1 + size)) continue;
      std::fprintf(stderr, "arrays: %s: element %zu differs by %g from that by hand, of size %g\n", name.c_str(), i, difference, size);
      std::exit(1);
    }
    return bench::sides{ours, theirs};
  });
}

inline constexpr auto some_numbers = [](bench::source& s, auto&... a) { s.uniform(0.1, 1, a...); };
template <int Rows> void choose(bench::source& s, auto& indices) {
  for (auto& i : indices) i = s.index(Rows);
}

}  // namespace arrays
