#pragma once
/// Calls: operations whose attributes name graphs, their bodies.

#include <cotangent/graph/replay.hpp>

namespace cotangent {

/// The bodies of a call, which are attributes 1, 2, …; borrowed from where the call comes from.
constexpr graph body_of(const call& c, int k) {
  const sequence<graph>& bodies = c.bodies ? *c.bodies : c.b->g.subgraphs;
  return borrowed(bodies[std::size_t(c.attribute(1 + k))]);
}

/// The extents of output `o` of a body, in terms of the operands' extents.
constexpr shape output_extents(const call& c, const graph& body, int o) {
  sequence<extent> symbols;
  const auto translate = [&](extent e) { return is_symbol(e) ? symbols[std::size_t(e - symbol_base)] : e; };
  for (const symbol& s : body.symbols)
    symbols.push_back(s.what == symbol::input ? c[int(s.a)].dims()[int(s.b)]
                                              : c.b->symbols.combine(s.what, translate(s.a), translate(s.b)));
  shape dims;
  for (extent e : body[o].dims) dims.push_back(translate(e));
  return dims;
}

constexpr sequence<value> operands_of(const call& c) {
  sequence<value> v;
  for (int k = 0; k < c.count; ++k) v.push_back(c[k]);
  return v;
}

}  // namespace cotangent
