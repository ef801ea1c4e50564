#pragma once
/// Names of mapped axes, and the collectives that work along them: the primitives with an `along` rule. Their attributes begin with
/// the packed name after the number of its parts.

#include <cotangent/graph/results.hpp>

namespace cotangent {

/// Of an axis, in characters.
inline constexpr int longest_axis_name = 7 * max_rank;

/// A name as numbers of 7 characters each, which no pass takes for symbols.
constexpr shape packed_name(std::string_view name) {
  shape parts;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (i % 7 == 0) parts.push_back(0);
    parts[parts.rank - 1] += extent(static_cast<unsigned char>(name[i])) << 8 * (i % 7);
  }
  return parts;
}
constexpr message unpacked_name(const shape& parts) {
  message name;
  for (extent part : parts)
    for (; part > 0; part >>= 8) name << char(part & 0xff);
  return name;
}

constexpr bool is_collective(const node& x) { return !x.is_input() && x.op->has.along; }
/// The name that collective n gives.
constexpr shape axis_of_collective(const graph& g, int n) {
  shape parts;
  for (int k = 1; k <= g.attribute(n, 0); ++k) parts.push_back(g.attribute(n, k));
  return parts;
}

/// Whether node n is a collective along `axis`.
constexpr bool works_along(const graph& g, int n, const shape& axis) { return axis.rank > 0 && is_collective(g[n]) && axis_of_collective(g, n) == axis; }
/// Whether a body of node n has one.
constexpr bool body_works_along(const graph& g, int n, const shape& axis);
/// Whether `g` has one.
constexpr bool works_along(const graph& g, const shape& axis) {
  for (int n = 0; n < g.size() && axis.rank > 0; ++n)
    if (works_along(g, n, axis) || body_works_along(g, n, axis)) return true;
  return false;
}
constexpr bool body_works_along(const graph& g, int n, const shape& axis) {
  if (axis.rank == 0 || g[n].is_input() || g[n].op->kind != role::call) return false;
  for (extent k = 1; k <= g.attribute(n, 0); ++k)
    if (works_along(g.subgraphs[std::size_t(g.attribute(n, int(k)))], axis)) return true;
  return false;
}

/// What is wrong with a program: a collective whose axis nothing around it names.
constexpr message unbound_axis(const graph& g) {
  for (int n = 0; n < g.size(); ++n)
    if (is_collective(g[n])) {
      const message name = unpacked_name(axis_of_collective(g, n));
      return message{} << g[n].op->name << " along " << name.view() << ": no ct::vmap around it has this ct::axis_name";
    }
  for (const graph& body : g.subgraphs)
    if (const message why = unbound_axis(body); !why.empty()) return why;
  return {};
}

}  // namespace cotangent
