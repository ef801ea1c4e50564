#pragma once
/// Numbers that memory has in another form than what computes with them: the walk that the passes share which give it to them.

#include <cotangent/graph/replay.hpp>

namespace cotangent {

/// Rewrites a graph and the bodies in it. What is stored are its inputs and outputs, and operands and results of operations with several.
/// A `Pass` has
///   is_stored(dtype)        whether numbers of a dtype have another form in memory
///   in_memory(result)       the dtype and extents there, of an array of such numbers
///   stored(n)               node n as memory has it
///   set_stored(n, value)    says that it is there so
///   rewrite(n)              another node than an input, and than an operation with several results or one of them
template <class Pass> class stored_form_pass {
 public:
  /// Whether a graph, or a body in it, has such numbers.
  static constexpr bool concerns(const graph& g) {
    for (const node& x : g.nodes)
      if (Pass::is_stored(x.type)) return true;
    for (const graph& body : g.subgraphs)
      if (concerns(body)) return true;
    return false;
  }

  constexpr graph run() {
    to_.take_symbols(g_);
    to_.reserve(g_, 3);
    for (const graph& body : g_.subgraphs) bodies_.push_back(Pass(body).run());
    for (int i : g_.inputs) {
      const call_form::result in = form_of({g_[i].type, g_[i].dims});
      self().set_stored(i, to_.input(in.type, in.dims));
    }
    for (int n = 0; n < g_.size(); ++n) {
      if (g_[n].is_input()) continue;
      if (g_[n].op->kind == role::element) self().set_stored(n, r_.result(g_.operand(n, 0), int(g_.attribute(n, 0))));
      else if (g_[n].op->has.several) with_results(n);
      else self().rewrite(n);
    }
    for (int o : g_.outputs) to_.g.outputs.push_back(self().stored(o).id);
    return to_.finish();
  }

 protected:
  const graph& g_;
  builder to_;
  replay r_;

  /// `g` must outlive it.
  constexpr explicit stored_form_pass(const graph& g) : g_(g), r_(g, to_) { to_.simplifying = true, to_.inlining = false; }

 private:
  sequence<graph> bodies_;

  constexpr Pass& self() { return static_cast<Pass&>(*this); }
  static constexpr call_form::result form_of(const call_form::result& x) { return Pass::is_stored(x.type) ? Pass::in_memory(x) : x; }
  constexpr void with_results(int n) {
    for (int k = 0; k < g_[n].operand_count; ++k)
      if (const int o = g_.operand(n, k); Pass::is_stored(g_[o].type)) r_.map.items[o] = self().stored(o);
    const call c = r_.at(n);
    call_form form(c);
    for (call_form::result& x : form.results) x = form_of(x);
    const sequence<extent> attributes = form.attributes();
    call d = c;
    d.attributes = attributes.data(), d.attribute_count = int(attributes.size()), d.bodies = &bodies_;
    r_.set_results(n, results_of(to_.emit_inferred(d)));
  }
};

}  // namespace cotangent
