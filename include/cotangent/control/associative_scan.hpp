#pragma once
/// associative_scan: all partial combinations along an axis in logarithmic depth.

#include <cotangent/control/scan.hpp>

namespace cotangent {

/// The partial combinations along the leading axis. `f` maps the leaves of two trees with n rows each to those of one.
/// Neighbours are combined, the half as many combined, and the elements between filled in (Blelloch, "Prefix sums and
/// their applications", 1990, in the form of jax.lax.associative_scan).
constexpr sequence<value> combine_along(builder& b, const graph& f, const sequence<value>& xs, const sequence<value>& constants) {
  const extent n = xs[0].dims()[0];
  if (n < 2 || b.failed()) return xs;
  const auto rows = [](const sequence<value>& v, extent from, extent count, extent step) {
    sequence<value> r;
    for (value x : v) {
      shape start = filled(x.rank(), 0), size = x.dims(), stride = filled(x.rank(), 1);
      start[0] = from, size[0] = count, stride[0] = step;
      r.push_back(slice(x, start, size, stride));
    }
    return r;
  };
  const auto combined = [&](const sequence<value>& x, const sequence<value>& y) { return inline_graph(b, f, concat(concat(x, y), constants)); };
  const extent pairs = n / 2, between = (n - 1) / 2;
  const sequence<value> odd = combine_along(b, f, combined(rows(xs, 0, pairs, 2), rows(xs, 1, pairs, 2)), constants);
  sequence<value> even = rows(xs, 0, 1, 1), results;
  if (b.failed()) return xs;
  if (between > 0) {
    const sequence<value> filled_in = combined(rows(odd, 0, between, 1), rows(xs, 2, between, 2));
    for (std::size_t i = 0; i < even.size() && !b.failed(); ++i) even[i] = concatenate({even[i], filled_in[i]}, 0);
  }
  for (std::size_t i = 0; i < xs.size() && !b.failed(); ++i) {
    const shape dims = xs[i].dims();
    shape pair = insert(dims, 1, 1), both = dims;
    pair[0] = pairs, both[0] = 2 * pairs;
    const value woven = reshape(concatenate({reshape(rows(even, 0, pairs, 1)[i], pair), reshape(odd[i], pair)}, 1), both);
    results.push_back(n % 2 == 0 ? woven : concatenate({woven, rows(even, pairs, 1, 1)[i]}, 0));
  }
  return results;
}

/// The same for a run-time extent, one element after the other.
constexpr sequence<value> combine_in_order(builder& b, const graph& f, const sequence<value>& xs, const sequence<value>& constants) {
  scan_call s;
  s.length = xs[0].dims()[0], s.xs = xs, s.constants = constants;
  // The carry is (whether there is one, the combination so far).
  builder body;
  const value started = body.input(dtype::boolean, {});
  s.carries.push_back(constant(b, dtype::boolean, {}, 0));
  sequence<value> so_far, next, rest, x_rows, carry_rows;
  const auto row_type = [](value x) {
    shape dims = x.dims();
    return erase(dims, 0);
  };
  for (value x : xs) s.carries.push_back(constant(b, x.type(), row_type(x), 0)), so_far.push_back(input_like(body, x.type(), row_type(x)));
  for (value x : xs) next.push_back(input_like(body, x.type(), row_type(x)));
  rest = inputs_like(body, constants);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    carry_rows.push_back(reshape(so_far[i], insert(so_far[i].dims(), 0, 1)));
    x_rows.push_back(reshape(next[i], insert(next[i].dims(), 0, 1)));
  }
  const sequence<value> combined = inline_graph(body, f, concat(concat(carry_rows, x_rows), rest));
  if (!body.failed()) {
    body.g.outputs.push_back(constant(body, dtype::boolean, {}, 1).id);
    sequence<int> now;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const value c = reshape(combined[i], next[i].dims());
      now.push_back(select(broadcast_in_dim(started, c.dims(), {}), c, next[i]).id);
    }
    for (int turn = 0; turn < 2; ++turn)
      for (int v : now) body.g.outputs.push_back(v);
  }
  s.body = body.finish();
  const sequence<value> r = scan_p::write(b, s);
  if (b.failed()) return xs;
  return part(r, 1 + xs.size(), xs.size());
}

/// Leaf L with a run-time extent at an axis.
template <class L, int Axis> struct open_leaf {
  static constexpr int at = Axis < 0 ? Axis + L::rank() : Axis;
  static constexpr shape dims = [] {
    shape d = L::type_shape();
    if (at >= 0 && at < d.rank) d[at] = dyn;
    return d;
  }();
  using type = typename with_shape<var, typename L::value_type, dims>::type;
};
template <class V, int Axis> struct open_tree {
  using type = typename open_leaf<V, Axis>::type;
};
template <class... C, int Axis> struct open_tree<std::tuple<C...>, Axis> {
  using type = std::tuple<typename open_tree<C, Axis>::type...>;
};

template <class F, int Axis, bool Reverse> struct associatively_scanned : transform_base<associatively_scanned<F, Axis, Reverse>> {
  [[no_unique_address]] F f;
  constexpr associatively_scanned() = default;
  constexpr explicit associatively_scanned(const F& function) : f(function) {}
  template <class Xs> using result = Xs;

  template <class Xs> struct why_wrong {
    constexpr message operator()() const {
      message m;
      extent n = dyn;
      const auto look = [&]<class Leaf>(type_is<Leaf>) {
        const shape s = Leaf::type_shape();
        const int at = Axis < 0 ? Axis + s.rank : Axis;
        if (at < 0 || at >= s.rank) m = message{} << "associative_scan: axis " << Axis << " is out of range for " << Leaf::type << s;
        else if (n == dyn) n = s[at];
        else if (s[at] != dyn && s[at] != n) m = message{} << "associative_scan: the extents of axis " << Axis << " differ: " << n << " and " << s[at];
      };
      [&]<class... Leaf>(types<Leaf...>) { (look(type_is<Leaf>{}), ...); }(leaf_types<Xs>{});
      return m;
    }
  };

  template <class Xs> constexpr closure transformed(nesting level) const {
    if constexpr (!why_wrong<Xs>{}().empty()) return {failed_graph<Xs, Xs>(why_wrong<Xs>{}()), {}};
    else {
      using open = typename open_tree<Xs, Axis>::type;
      using made = traced_result<F, open, open>;
      if (const message why = difference<made, open>("associative_scan: the function must return what it takes two of"); !why.empty())
        return {failed_graph<Xs, Xs>(why), {}};
      closure c = trace_for_transform<open, open>(f, level);
      builder b;
      static_cast<void>(input_tree<Xs>(b));
      const std::size_t n = b.g.inputs.size();
      sequence<value> xs;
      for (int i : b.g.inputs) {
        value v{&b, i};
        const int at = Axis < 0 ? Axis + v.rank() : Axis;
        v = move_axis(v, at, 0);
        xs.push_back(Reverse ? reverse_axes(v, {0}) : v);
      }
      const sequence<value> constants = inputs_like(b, c.body, c.body.inputs.size() - 2 * n, 2 * n);
      const graph along_rows = with_leading_rows(c.body, n);
      if (!along_rows.error.empty()) b.fail(along_rows.error);
      sequence<value> r;  // (no conditional expression: see write_checkpointed)
      if (is_symbol(xs[0].dims()[0])) r = combine_in_order(b, along_rows, xs, constants);
      else r = combine_along(b, along_rows, xs, constants);
      for (std::size_t i = 0; i < n && !b.failed(); ++i) {
        const value v = Reverse ? reverse_axes(r[i], {0}) : r[i];
        b.g.outputs.push_back(move_axis(v, 0, Axis < 0 ? Axis + v.rank() : Axis).id);
      }
      c.body = b.finish();
      return c;
    }
  }

 private:
  /// f with the axis that it works along at the front of its operands and results.
  static constexpr graph with_leading_rows(const graph& f, std::size_t n) {
    builder b;
    if (!f.error.empty()) b.fail(f.error);
    sequence<value> in;
    for (std::size_t i = 0; i < f.inputs.size(); ++i) {
      const node& x = f[f.inputs[i]];
      if (i >= 2 * n) in.push_back(input_like(b, x.type, x.dims));
      else {
        const int at = Axis < 0 ? Axis + x.dims.rank : Axis;
        in.push_back(move_axis(input_like(b, x.type, insert(erase(x.dims, at), 0, x.dims[at])), 0, at));
      }
    }
    for (value v : inline_graph(b, f, in)) b.g.outputs.push_back(b.failed() ? v.id : move_axis(v, Axis < 0 ? Axis + v.rank() : Axis, 0).id);
    return b.finish();
  }
};

/// The partial combinations f(f(x0, x1), x2), … of an associative f along an axis of xs, a tree; f(a, b) must work on
/// whole stretches of the axis at once. In logarithmic depth for static extents; the order in which elements are combined
/// is not from the left to the right, so floating-point results differ from a loop's. With ct::reverse from the last
/// element on. JAX: jax.lax.associative_scan.
template <class F, class Xs> constexpr auto associative_scan(const F& f, const Xs& xs) { return associatively_scanned<F, 0, false>(f)(xs); }
template <class F, class Xs, extent A> constexpr auto associative_scan(const F& f, const Xs& xs, axis_tag<A>) { return associatively_scanned<F, int(A), false>(f)(xs); }
template <class F, class Xs> constexpr auto associative_scan(const F& f, const Xs& xs, reverse_tag) { return associatively_scanned<F, 0, true>(f)(xs); }
template <class F, class Xs, extent A> constexpr auto associative_scan(const F& f, const Xs& xs, axis_tag<A>, reverse_tag) {
  return associatively_scanned<F, int(A), true>(f)(xs);
}

struct combine_log_sums {
  template <class A, class B> constexpr auto operator()(const A& a, const B& b) const { return logaddexp(a, b); }
};
/// log of the cumulative sum of exp(x) along an axis, without overflow. JAX: jax.lax.cumlogsumexp.
template <class X, extent A> constexpr auto cumlogsumexp(const X& x, axis_tag<A> along) {
  if constexpr (!traced<X>) return defer_call<true>([](const auto& v) { return cumlogsumexp(v, axis<A>); }, x);
  else {
    using T = typename X::value_type;
    // Elements along a run-time extent are combined one by one. Of long ones each is less than a float's last place of the sum.
    constexpr bool in_double = A >= -X::rank() && A < X::rank() && X::extent(int(A)) == dyn && sizeof(T) < sizeof(double);
    if constexpr (in_double) return astype<T>(associative_scan(combine_log_sums{}, astype<double>(x), along));
    else return associative_scan(combine_log_sums{}, x, along);
  }
}

}  // namespace cotangent
