#pragma once
/// barrier: values as they are, but not before others have been computed, and not merged with equal ones.

#include <cotangent/transforms/batch.hpp>
#include <cotangent/transforms/bodies.hpp>

namespace cotangent {

/// The first operands, as many as there are results; the operands behind them are only waited for. Attributes: those of
/// call_form without bodies. JAX: optimization_barrier.
struct barrier_p : several_results {
  static constexpr std::string_view name = "barrier";

  /// The values, once `awaited` has been computed.
  static constexpr sequence<value> write(builder& b, const sequence<value>& values, const sequence<value>& awaited) {
    call_form form;
    sequence<value> operands = values;
    for (value v : values) form.results.push_back({v.type(), v.dims()});
    for (value v : awaited) operands.push_back(v);
    return emit_all<barrier_p>(b, form, operands);
  }
  static constexpr std::size_t count(const call& c) { return call_form(c).results.size(); }
  static constexpr sequence<value> awaited(const call& c) {
    sequence<value> r;
    for (int k = int(count(c)); k < c.count; ++k) r.push_back(c[k]);
    return r;
  }

  static constexpr void simplify_all(const call&, sequence<value>&) {}
  static constexpr void jvp_all(const call& c, const value* t, sequence<value>& results, sequence<value>& tangents) {
    results = write(*c.b, part_of_operands(c), awaited(c));
    for (std::size_t k = 0; k < results.size(); ++k) tangents.push_back(t[k]);
  }
  static constexpr void forward(const call& c, const flag_list&, sequence<value>& results, saved_state&) {
    results = write(*c.b, part_of_operands(c), awaited(c));
  }
  static constexpr void backward(const call& c, const saved_state&, const value* cotangents, sequence<value>& parts) {
    for (std::size_t k = 0; k < count(c); ++k) parts.push_back(cotangents[k]);
  }
  static constexpr void needs(const call& c, const flag_list& used, flag_list& operands) {
    for (std::size_t k = 0; k < std::size_t(c.count); ++k) operands.push_back(k >= used.size() || used[k]);
  }
  static constexpr void prune(const call& c, const flag_list& used, sequence<value>& results) {
    sequence<value> values;
    for (std::size_t k = 0; k < used.size(); ++k)
      if (used[k]) values.push_back(c[int(k)]);
    const sequence<value> r = write(*c.b, values, awaited(c));
    std::size_t at = 0;
    for (std::size_t k = 0; k < used.size() && !r.empty(); ++k) results.push_back(used[k] ? r[at++] : value());
  }
  static constexpr void batch_all(const call& c, const bool* batched, extent, sequence<value>& results, flag_list& flags) {
    results = write(*c.b, part_of_operands(c), awaited(c));
    for (std::size_t k = 0; k < results.size(); ++k) flags.push_back(batched[k]);
  }

 private:
  static constexpr sequence<value> part_of_operands(const call& c) {
    sequence<value> r;
    for (int k = 0; k < int(count(c)); ++k) r.push_back(c[k]);
    return r;
  }
};

}  // namespace cotangent
