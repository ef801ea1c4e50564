#pragma once
/// odeint: ordinary differential equations with adaptive steps, differentiated in reverse by the adjoint equation; and
/// odeint_rk4: fixed steps, differentiated like any loop.

#include <cotangent/control/scan.hpp>
#include <cotangent/control/while_loop.hpp>
#include <cotangent/transforms/custom.hpp>

namespace cotangent {

/// How exact odeint is: the error of a step is at most Atol + Rtol |y| in each component, in the root mean square. Between
/// two times there are at most MostSteps steps; what is reached then is taken.
template <double Rtol = 1.4e-8, double Atol = 1.4e-8, int MostSteps = (1 << 20)> struct tolerance_tag {
  static constexpr double rtol = Rtol, atol = Atol;
  static constexpr int most_steps = MostSteps;
};
template <double Rtol, double Atol = Rtol, int MostSteps = (1 << 20)> inline constexpr tolerance_tag<Rtol, Atol, MostSteps> tolerance{};

// The pair of Dormand and Prince, J. Comput. Appl. Math. 6, 1980, and the midpoint of Shampine, Math. Comp. 46, 1986.
struct dormand_prince {
  static constexpr double nodes[7] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
  static constexpr double stages[7][6] = {{},
                                          {1.0 / 5},
                                          {3.0 / 40, 9.0 / 40},
                                          {44.0 / 45, -56.0 / 15, 32.0 / 9},
                                          {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
                                          {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
                                          {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
  static constexpr double error[7] = {35.0 / 384 - 1951.0 / 21600, 0, 500.0 / 1113 - 22642.0 / 50085, 125.0 / 192 - 451.0 / 720,
                                      -2187.0 / 6784 + 12231.0 / 42400, 11.0 / 84 - 649.0 / 6300, -1.0 / 60};
  static constexpr double middle[7] = {6025192743.0 / 30085553152 / 2, 0, 51252292925.0 / 65400821598 / 2, -2691868925.0 / 45128329728 / 2,
                                       187940372067.0 / 1594534317056 / 2, -1776094331.0 / 19743644256 / 2, 11237099.0 / 235043384 / 2};
};

/// h times the sum of weight[i] k[i].
template <class H, class K> constexpr K weighted(const H& h, const double* weight, const K* k, int count) {
  K total = k[0] * weight[0];
  for (int i = 1; i < count; ++i)
    if (weight[i] != 0) total = total + k[i] * weight[i];
  return h * total;
}

/// The states at the times ts, which ascend, as rows; field(y, t) is dy/dt, y a vector.
template <class Tolerance, class Field, class Y, class Times> constexpr auto dopri5(const Field& field, const Y& y0, const Times& ts) {
  using scalar = var<typename Y::value_type>;
  const auto norm = [](const Y& v) { return sqrt(mean(v * v)); };
  const scalar t0 = first_element(ts);
  const Y f0 = field(y0, t0);
  // The first step: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.4.
  const Y scale = Tolerance::atol + abs(y0) * Tolerance::rtol;
  const scalar d0 = norm(y0 / scale), d1 = norm(f0 / scale);
  const scalar h0 = where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1);
  const scalar d2 = norm((field(y0 + h0 * f0, t0 + h0) - f0) / scale) / h0;
  const scalar h1 = where((d1 <= 1e-15) & (d2 <= 1e-15), maximum(1e-6, h0 * 1e-3), pow(0.01 / maximum(d1, d2), 0.2));
  const scalar first_step = minimum(100.0 * h0, h1);

  const auto advance = [&](const auto& s) {
    const auto& [y, f, t, h, last, c4, c3, c2, c1, c0, steps] = s;
    Y k[7] = {f, f, f, f, f, f, f};
    Y y1 = y;
    for (int i = 1; i < 7; ++i) {
      y1 = y + weighted(h, dormand_prince::stages[i], k, i);
      k[i] = field(y1, t + dormand_prince::nodes[i] * h);
    }
    const scalar ratio = norm(weighted(h, dormand_prince::error, k, 7) / (Tolerance::atol + Tolerance::rtol * maximum(abs(y), abs(y1))));
    const Y half = y + weighted(h, dormand_prince::middle, k, 7), up = h * f, down = h * k[6];
    const auto accepted = ratio <= 1.0;
    const auto choose = [&](const auto& a, const auto& b) { return where(accepted, a, b); };
    const scalar factor = minimum(10.0, maximum(0.9 * pow(maximum(ratio, 1e-10), -0.2), where(ratio < 1.0, 1.0, 0.2)));
    return std::tuple(choose(y1, y), choose(k[6], f), choose(t + h, t), scalar(h * factor), choose(t, last),  //
                      choose(2.0 * (down - up) - 8.0 * (y + y1) + 16.0 * half, c4), choose(5.0 * up - 3.0 * down + 18.0 * y + 14.0 * y1 - 32.0 * half, c3),
                      choose(down - 4.0 * up - 11.0 * y - 5.0 * y1 + 16.0 * half, c2), choose(up, c1), choose(y, c0), steps + 1);
  };
  const Y none = zeros_like(y0);
  const auto start = std::tuple(y0, f0, t0, first_step, t0, none, none, none, none, y0, astype<std::int32_t>(zeros_like(t0)));
  const auto [end, ys] = scan([&](const auto& s, const auto& target) {
    const auto going = [&](const auto& s) { return (std::get<2>(s) < target) & (std::get<10>(s) < Tolerance::most_steps); };
    auto fresh = s;
    std::get<10>(fresh) = zeros_like(std::get<10>(s));
    const auto reached = while_loop(going, advance, fresh);
    const auto& [y, f, t, h, last, c4, c3, c2, c1, c0, steps] = reached;
    const scalar x = where(t == last, 0.0, (target - last) / where(t == last, 1.0, t - last));
    return std::tuple(reached, (((c4 * x + c3) * x + c2) * x + c1) * x + c0);
  }, start, ts);
  return ys;
}

// What the adjoint needs of vectors whose lengths types do not know.

struct first_element_function {
  constexpr value operator()(value x) const { return reshape(rows_of(x, 0, 1), {}); }
};
template <class X> constexpr auto first_element(const X& x) { return apply<first_element_function{}>(x); }
/// Rows from the second on, or all but the last.
template <bool FromSecond> struct all_rows_but_one {
  constexpr value operator()(value x) const {
    const extent rest = x.b->symbols.combine(symbol::difference, x.dims()[0], 1);
    return rows_of(x, FromSecond ? 1 : 0, rest);
  }
};
struct last_row_function {
  constexpr value operator()(value x) const { return reshape(rows_of(x, x.b->symbols.combine(symbol::difference, x.dims()[0], 1), 1), erase(x.dims(), 0)); }
};

/// A right-hand side as a graph, (leaves of y, t, more values) to the leaves of dy/dt, for vectors y. The values may be of
/// outer traces.
template <class T> struct flat_field {
  const graph& body;
  sequence<shape> shapes;  // of the leaves of y
  sequence<value> more;

  constexpr var<T, dyn> operator()(const var<T, dyn>& y, const var<T>& t) const {
    builder& b = innermost(value(y), value(t));
    sequence<value> in = unpack(b.adopt(value(y)), shapes);
    in.push_back(b.adopt(value(t)));
    for (value v : more) in.push_back(b.adopt(v));
    return var<T, dyn>(pack_rows(inline_graph(b, body, in)));
  }
  static constexpr builder& innermost(value y, value t) { return y.b->level >= t.b->level ? *y.b : *t.b; }
  /// The parts of a vector.
  static constexpr sequence<value> unpack(value v, const sequence<shape>& shapes) {
    if (shapes.size() == 1) return {reshape(v, shapes[0])};
    return unpack_value(v, shapes);
  }
  /// The values as one vector.
  static constexpr value pack_rows(const sequence<value>& v) {
    sequence<value> parts;
    for (value x : v) parts.push_back(ravel_function{}(x));
    if (parts.size() == 1 || parts[0].b->failed()) return parts[0];
    return concatenate(parts, 0);
  }
};

template <class F, class Tolerance> struct ode_solver : transform_base<ode_solver<F, Tolerance>> {
  [[no_unique_address]] F f;
  constexpr ode_solver() = default;
  constexpr explicit ode_solver(const F& function) : f(function) {}
  template <class G> using with = ode_solver<G, Tolerance>;
  template <class Y, class Times, class... A> using inner_arguments = std::tuple<Y, var<typename Times::value_type>, A...>;

  template <class Y, class Times, class... A> struct types {
    static constexpr extent count = Times::type_shape().rank == 1 ? Times::type_shape()[0] : dyn;
    using ys = typename batched<Y, leading_axes, count>::type;
  };
  template <class Y, class Times, class... A> using result = typename types<Y, Times, A...>::ys;

  template <class Y, class Times, class... A> static constexpr message why_wrong() {
    message m;
    if constexpr (!traced<Times>) return m << "odeint: the times must be a vector";
    else {
      if (Times::rank() != 1 || !is_floating(Times::type)) return m << "odeint: the times must be a floating-point vector, but they are " << Times::type << Times::type_shape();
      bool same = true, is_static = true;
      [&]<class... Leaf>(cotangent::types<Leaf...>) {
        ((same = same && Leaf::type == Times::type, is_static = is_static && !Leaf::type_shape().contains(dyn)), ...);
      }(leaf_types<Y>{});
      if (!is_static) return m << "odeint: the extents of the state must be static; for many systems use ct::vmap of odeint";
      if (!same) return m << "odeint: all arrays of the state must have the dtype of the times, " << Times::type;
      return difference<traced_result<F, Y, var<typename Times::value_type>, A...>, Y>("odeint: the function must return dy/dt with the structure, shapes and dtypes of y");
    }
  }

  template <class Y, class Times, class... A> constexpr closure transformed(nesting level) const {
    if (const message why = why_wrong<Y, Times, A...>(); !why.empty()) return {failed_graph<result<Y, Times, A...>, Y, Times, A...>(why), {}};
    using T = typename Times::value_type;
    closure c = trace_for_transform<Y, var<T>, A...>(f, level);
    if (!c.body.error.empty()) return {failed_graph<result<Y, Times, A...>, Y, Times, A...>(c.body.error), {}};
    const graph& body = c.body;
    const std::size_t n = std::size_t(leaf_count<Y>);

    // The operands: leaves of y, times, arguments, captured values.
    builder b;
    (static_cast<void>(input_tree<Y>(b)), static_cast<void>(input_tree<Times>(b)), (static_cast<void>(input_tree<A>(b)), ...));
    const std::size_t own = b.g.inputs.size();
    sequence<value> operands = inputs_of(b);
    operands = concat(operands, inputs_like(b, body, body.inputs.size() - own, own));
    sequence<shape> outputs;
    for (std::size_t i = 0; i < n; ++i) outputs.push_back(insert(operands[i].dims(), 0, operands[n].dims()[0]));

    const extent attributes[] = {3, b.add_subgraph(solution<T>(body, operands, n, false)), b.add_subgraph(solution<T>(body, operands, n, true)),
                                 b.add_subgraph(adjoint<T>(body, operands, n))};
    for (const graph& g : b.g.subgraphs)
      if (!g.error.empty()) b.fail(g.error);
    call k;
    k.op = &primitive_of<custom_vjp_p>, k.operands = operands.data(), k.count = int(operands.size()), k.attributes = attributes, k.attribute_count = 4;
    const value v = b.emit(k);
    if (!b.failed())
      for (value leaf : unpack_rows(v, outputs)) b.g.outputs.push_back(leaf.id);
    return {b.finish(), c.captured};
  }

 private:
  static constexpr sequence<value> inputs_of(builder& b) {
    sequence<value> r;
    for (int i : b.g.inputs) r.push_back({&b, i});
    return r;
  }
  /// The columns of a matrix as the leaves of states, row by row.
  static constexpr sequence<value> unpack_rows(value rows, const sequence<shape>& outputs) {
    sequence<value> r;
    extent at = 0;
    for (const shape& s : outputs) {
      extent count = 1;
      for (int i = 1; i < s.rank; ++i) count = rows.b->symbols.combine(symbol::product, count, s[i]);
      r.push_back(reshape(slice(rows, {0, at}, {s[0], count}, {1, 1}), s));
      at = rows.b->symbols.combine(symbol::sum, at, count);
    }
    return r;
  }

  /// (operands) to the states as rows; with residuals, to them and the operands behind y.
  template <class T> constexpr graph solution(const graph& body, const sequence<value>& operands, std::size_t n, bool with_residuals) const {
    builder b;
    const sequence<value> in = inputs_like(b, operands), y = part(in, 0, n);
    const flat_field<T> field{body, shapes_of(y), part(in, n + 1, in.size() - n - 1)};
    const auto ys = dopri5<Tolerance>(field, var<T, dyn>(flat_field<T>::pack_rows(y)), var<T, dyn>(in[n]));
    b.g.outputs.push_back(value(ys).id);
    if (with_residuals)
      for (std::size_t i = n; i < in.size(); ++i) b.g.outputs.push_back(in[i].id);
    if (with_residuals) b.g.outputs.push_back(value(ys).id);
    return b.finish();
  }

  /// (the operands behind y, the states, their cotangents) to the cotangents of the operands. Between two times the state,
  /// its cotangent and the cotangents of the arguments are integrated backwards (Chen et al., Neural ordinary differential
  /// equations, NeurIPS 2018, appendix C; Pontryagin et al., 1962).
  template <class T> constexpr graph adjoint(const graph& body, const sequence<value>& operands, std::size_t n) const {
    builder b;
    const sequence<value> behind = inputs_like(b, part(operands, n, operands.size() - n));
    const value ts = behind[0];
    const sequence<value> more = part(behind, 1, behind.size() - 1);
    const sequence<shape> shapes = shapes_of(part(operands, 0, n));
    extent size = 0;
    for (const shape& s : shapes) size += s.size();
    const value ys = b.input(dtype_of<T>, {ts.dims()[0], size}), g = b.input(dtype_of<T>, {ts.dims()[0], size});

    // dy/dt and the cotangents of y, t and the rest, for a cotangent of dy/dt.
    flag_list active;
    for (int i : body.inputs) active.push_back(has_tangent(body[i].type));
    const graph pulled = vjp_graph(body, active, false);
    if (!pulled.error.empty()) b.fail(pulled.error);
    sequence<value> moving;  // what of `more` has a cotangent
    for (value v : more)
      if (has_tangent(v.type())) moving.push_back(v);
    const sequence<shape> moving_shapes = shapes_of(moving);

    const auto backwards = [&](const var<T, dyn>& state, const var<T>& minus_t) {
      builder& here = flat_field<T>::innermost(value(state), value(minus_t));
      const value s = here.adopt(value(state));
      const sequence<value> parts = flat_field<T>::unpack(s, {shape{size}, shape{size}, shape{here.symbols.combine(symbol::difference, s.dims()[0], 2 * size)}});
      sequence<value> in = flat_field<T>::unpack(parts[0], shapes);
      in.push_back(-here.adopt(value(minus_t)));
      for (value v : more) in.push_back(here.adopt(v));
      for (value v : flat_field<T>::unpack(parts[1], shapes)) in.push_back(v);
      const sequence<value> out = inline_graph(here, pulled, in);
      sequence<value> slopes;
      for (std::size_t i = 0; i < out.size() && !here.failed(); ++i) slopes.push_back(i < n ? -out[i] : convert(out[i], dtype_of<T>));
      return var<T, dyn>(here.failed() ? s : flat_field<T>::pack_rows(slopes));
    };

    if (b.failed()) return b.finish();
    const flat_field<T> field{body, shapes, more};
    using vector = var<T, dyn>;
    using matrix = var<T, dyn, dyn>;
    sequence<value> zeros{constant(b, dtype_of<T>, {1}, 0)};
    for (value v : moving) zeros.push_back(ravel_function{}(constant(b, dtype_of<T>, v.dims(), 0)));
    const auto later = [](const auto& x) { return apply<all_rows_but_one<true>{}>(x); };
    const auto earlier = [](const auto& x) { return apply<all_rows_but_one<false>{}>(x); };
    const vector times(ts);
    const matrix states(ys), cotangents(g);
    // The carry: the cotangent of y; those of the first time and of the arguments.
    const auto start = std::tuple(vector(apply<last_row_function{}>(cotangents)), vector(flat_field<T>::pack_rows(zeros)));
    const auto [end, of_times] = scan([&](const auto& carry, const auto& x) {
      const auto& [y, t, before, g_here, g_before] = x;
      const auto& [lambda, sums] = carry;
      const auto of_t = sum(field(y, t) * g_here);
      builder& here = flat_field<T>::innermost(value(y), value(lambda));
      const value moved_sums = subtract_from_first(here.adopt(value(sums)), here.adopt(value(of_t)));
      const vector state(flat_field<T>::pack_rows({here.adopt(value(y)), here.adopt(value(lambda)), moved_sums}));
      const vector interval(flat_field<T>::pack_rows({-value(t), -value(before)}));
      const value reached = last_row_function{}(value(dopri5<Tolerance>(backwards, state, interval)));
      const extent behind_size = here.symbols.combine(symbol::difference, value(state).dims()[0], 2 * size);
      const sequence<value> parts = flat_field<T>::unpack(reached, {shape{size}, shape{size}, shape{behind_size}});
      return std::tuple(std::tuple(vector(parts[1]) + g_before, vector(parts[2])), of_t);
    }, start, std::tuple(later(states), vector(later(times)), vector(earlier(times)), later(cotangents), earlier(cotangents)), reverse);

    if (b.failed()) return b.finish();
    sequence<shape> tail{shape{1}};
    for (const shape& s : moving_shapes) tail.push_back(s);
    const sequence<value> sums = flat_field<T>::unpack(value(std::get<1>(end)), tail);
    for (value leaf : flat_field<T>::unpack(value(std::get<0>(end)), shapes)) b.g.outputs.push_back(leaf.id);
    b.g.outputs.push_back(concatenate({sums[0], value(of_times)}, 0).id);
    std::size_t at = 1;
    for (value v : more) b.g.outputs.push_back(has_tangent(v.type()) ? convert(sums[at++], v.type()).id : zeros_like(v).id);
    return b.finish();
  }
  static constexpr value subtract_from_first(value sums, value x) {
    const shape first{1};
    const extent rest = sums.b->symbols.combine(symbol::difference, sums.dims()[0], 1);
    const value head = slice(sums, {0}, {1}, {1}) - reshape(x, first);
    return concatenate({head, slice(sums, {1}, {rest}, {1})}, 0);
  }
};

/// The solution of dy/dt = f(y, t, arguments...) from y = y0 at ts[0], at the ascending times ts: each array of the tree y0
/// with a leading axis for the times. Steps adapt to the tolerance (`ct::tolerance<rtol, atol>`, default 1.4e-8 each), for
/// each instance by itself under ct::vmap. In reverse mode the adjoint equation is solved backwards with the same tolerance,
/// which keeps nothing of the steps: derivatives by y0, ts, the arguments and what f captures. Forward mode cannot be
/// applied; odeint_rk4 has both. JAX: jax.experimental.ode.odeint.
template <class F, class Y, class Times, double R, double A, int N, class... Arguments>
constexpr auto odeint(const F& f, const Y& y0, const Times& ts, tolerance_tag<R, A, N>, const Arguments&... arguments) {
  return ode_solver<F, tolerance_tag<R, A, N>>(f)(y0, ts, arguments...);
}
template <class F, class Y, class Times, class... Arguments> constexpr auto odeint(const F& f, const Y& y0, const Times& ts, const Arguments&... arguments) {
  return ode_solver<F, tolerance_tag<>>(f)(y0, ts, arguments...);
}

template <int N> struct substeps_tag {};
/// N steps of equal size between two times.
template <int N> inline constexpr substeps_tag<N> substeps{};

/// One step of the classical method of Runge and Kutta, of fourth order.
template <class F, class Y, class T, class H> constexpr Y rk4_step(const F& f, const Y& y, const T& t, const H& h) {
  const auto moved = [](const Y& y, const auto& h, const Y& k) { return Y(tree_map([&](auto a, auto b) { return a + h * b; }, y, k)); };
  const Y k1 = f(y, t), k2 = f(moved(y, 0.5 * h, k1), t + 0.5 * h), k3 = f(moved(y, 0.5 * h, k2), t + 0.5 * h), k4 = f(moved(y, h, k3), t + h);
  return moved(moved(moved(moved(y, h / 6.0, k1), h / 3.0, k2), h / 3.0, k3), h / 6.0, k4);
}

/// The same as odeint with N steps of fixed size between two times. All derivatives are those of the steps themselves.
template <int N = 1, class F, class Y, class Times> constexpr auto odeint_rk4(const F& f, const Y& y0, const Times& ts, substeps_tag<N> = {}) {
  static_assert(N >= 1, "odeint_rk4: there is at least 1 step between two times");
  const auto t0 = first_element(ts);
  return std::get<1>(scan([&](const auto& state, const auto& target) {
    const auto y = std::get<0>(state);  // (clang evaluates no structured binding of a tuple that a lambda captures)
    const auto t = std::get<1>(state);
    const auto h = (target - t) / double(N);
    const auto end = fori_loop<0, N>([&](auto i, const auto& y) { return rk4_step(f, y, t + h * astype<typename decltype(h)::value_type>(i), h); }, y);
    return std::tuple(std::tuple(end, target), end);
  }, std::tuple(y0, t0), ts));
}

}  // namespace cotangent
