#pragma once
/// Points of instances: what the body of a packet does to each of a few points of an instance by itself, as a material's law to the points of
/// an element, along directions that are mostly zero. Arrays of such points become their elements, each an array of points and lanes, without
/// the zeros.

#include <cotangent/compiler/by_instance.hpp>
#include <cotangent/compiler/instances.hpp>

namespace cotangent {

/// Nodes of few numbers that are known when the program is compiled and made of unit arrays.
constexpr flag_list nodes_of_units(const graph& g) {
  enum { unknown, known, of_units };
  constexpr extent few = 256;
  flag_list r;
  r.assign(g.nodes.size(), unknown);
  for (int n = 0; n < g.size(); ++n) {
    const node& x = g[n];
    if (x.is_input() || has_symbol(x.dims) || x.dims.size() > few) continue;
    const role kind = x.op->kind;
    if (kind != role::source && kind != role::pointwise && kind != role::view && kind != role::reduction && !(kind == role::opaque && x.op->has.elements)) continue;
    char& made = r.items[n];
    made = x.op_id == primitive_of<basis_p>.id ? of_units : known;
    for (int k = 0; k < x.operand_count && made != unknown; ++k) {
      const char from = r.items[g.operand(n, k)];
      made = from == unknown ? char(unknown) : from > made ? from : made;
    }
  }
  for (char& x : r) x = x == of_units;
  return r;
}

/// What the body of packets of `lanes` instances does point by point, where an axis of `points` is that of the points.
class by_point : by_instance {
 public:
  constexpr by_point(const graph& body, extent lanes, extent points, const flag_list& units) : by_instance(body, points, extent(1) << 30), lanes_(lanes), units_(units), limits_(limits(lanes, points)) {
    for (int n = 0; n < g_.size(); ++n) inside_.items[n] = !units_.items[n] && works(n);
  }
  static constexpr element_limits limits(extent lanes, extent points) { return {0, 256, {lanes, points}, true}; }
  /// How many elements depend on unit arrays; 0 if there are too many of all.
  constexpr extent gain() const {
#ifdef __clang__  // whose constant evaluation stops after fewer steps
    constexpr extent most_elements = 1 << 11;
#else
    constexpr extent most_elements = 1 << 12;
#endif
    flag_list depends = units_;
    extent r = 0, all = 0;
    for (int n = 0; n < g_.size(); ++n) {
      if (!inside_.items[n]) continue;
      for (int k = 0; k < g_[n].operand_count; ++k) depends.items[n] = depends.items[n] || depends.items[g_.operand(n, k)];
      const extent count = element_form(g_[n].dims, limits_).count;
      all += count;
      if (depends.items[n]) r += count * instances_;
    }
    return all > most_elements ? 0 : r;
  }
  constexpr per_instance_program::way way_of(int n) const {
    return units_.items[n] ? per_instance_program::both : inside_.items[n] ? per_instance_program::by_elements : per_instance_program::whole_array;
  }

 private:
  const extent lanes_;
  const flag_list& units_;
  const element_limits limits_;

  constexpr bool works(int n) {
    const node& x = g_[n];
    if (x.is_input() || !is_of_points(n) || x.op->kind == role::gather || is_scatter(x.op_id) || (x.op->kind == role::opaque && !x.op->has.elements)) return false;
    for (int k = 0; k < x.operand_count; ++k)
      if (const int o = g_.operand(n, k); !units_.items[o] && !element_form(g_[o].dims, limits_).fits) return false;
    return works_by_instance(n);
  }
  constexpr bool is_of_points(int n) const {
    const element_form form(g_[n].dims, limits_);
    return form.fits && form.axes.rank == limits_.extents.rank && g_[n].dims.contains(lanes_);
  }
};

/// The extent of the points for which most elements of a body depend on unit arrays, or 0 if there are none.
constexpr extent extent_of_points(const graph& body, extent lanes) {
  constexpr extent most_points = 64;
  const flag_list units = nodes_of_units(body);
  bool any = false;
  for (char x : units) any = any || x;
  if (!any) return 0;
  shape tried;
  extent best = 0, most = 0;
  const auto consider = [&](extent e) {
    if (e < 2 || e == lanes || is_symbol(e) || tried.contains(e) || tried.rank == max_rank) return;
    tried.push_back(e);
    if (const extent gain = by_point(body, lanes, e, units).gain(); gain > most) most = gain, best = e;
  };
  for (const node& x : body.nodes)
    for (extent e : x.dims)
      if (e <= most_points && x.dims.contains(lanes)) consider(e);
  return best;
}

/// The body that `Make` returns, of packets of `Lanes` instances, with the elements of points in place of their arrays, if there are some.
template <class Make, extent Lanes> inline constexpr extent points_of_packets = extent_of_points(Make{}(), Lanes);
template <class Make, extent Lanes> inline constexpr auto ways_of_points = [] {
  std::array<per_instance_program::way, Make{}().nodes.size()> ways{};
  const graph body = Make{}();
  const flag_list units = nodes_of_units(body);
  const by_point points(body, Lanes, points_of_packets<Make, Lanes>, units);
  for (std::size_t n = 0; n < ways.size(); ++n) ways[n] = points.way_of(int(n));
  return ways;
}();
template <class Make, extent Lanes> struct make_points_apart {
  constexpr graph operator()() const {
    const graph body = Make{}();
    const graph r = per_instance_program(body, by_point::limits(Lanes, points_of_packets<Make, Lanes>), ways_of_points<Make, Lanes>.data()).run();
    if (r.outputs.empty()) return body;
    return r;
  }
};
template <class Make, extent Lanes> inline constexpr auto points_graph = freeze<make_points_apart<Make, Lanes>{}>();
template <class Make, extent Lanes> struct with_points_apart {
  constexpr graph operator()() const {
    if constexpr (points_of_packets<Make, Lanes> == 0) return Make{}();
    else return thaw(points_graph<Make, Lanes>);
  }
};

}  // namespace cotangent
