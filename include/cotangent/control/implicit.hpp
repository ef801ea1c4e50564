#pragma once
/// Solvers, and derivatives of what they find: custom_linear_solve, custom_root, fixed_point; cg, gmres, newton.

#include <cotangent/control/implicit_primitives.hpp>
#include <cotangent/control/while_loop.hpp>
#include <cotangent/linalg/linalg.hpp>
#include <cotangent/transforms/jacobian.hpp>

namespace cotangent {

struct symmetric_tag {};
/// The matrix equals its transpose.
inline constexpr symmetric_tag symmetric{};

// Trees of vars as vectors.

template <class X> constexpr X tree_zeros(const X& x) {
  return tree_map([](auto v) { return zeros_like(v); }, x);
}
template <class A, class X, class Y> constexpr auto tree_add_scaled(const X& x, const A& a, const Y& y) {
  return tree_map([&](auto u, auto v) { return u + a * v; }, x, y);
}
struct dot_of_leaves {
  template <class U, class V> constexpr auto operator()(const U& u, const V& v) const { return sum(u * v); }
};
/// The sum of products of all elements.
template <class X, class Y> constexpr auto tree_dot(const X& x, const Y& y) {
  if constexpr (traced<X>) return dot_of_leaves{}(x, y);
  else
    return std::apply([](const auto&... part) { return (... + part); }, [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple(dot_of_leaves{}(get_leaf<int(I)>(x), get_leaf<int(I)>(y))...);
    }(std::make_index_sequence<std::size_t(leaf_count<X>)>{}));
}

/// g -> A^T g for x -> A x, by transposing its trace at zero.
template <class Product> struct transposed_product {
  [[no_unique_address]] Product product;
  template <class X> constexpr auto operator()(const X& g) const {
    return std::get<0>(pullback_function<Product, false>(product)(std::tuple(tree_zeros(g)), g));
  }
};

template <class Product, class Solve, class TransposedSolve> struct linear_solver : transform_base<linear_solver<Product, Solve, TransposedSolve>> {
  [[no_unique_address]] Product product;
  [[no_unique_address]] Solve solve;
  [[no_unique_address]] TransposedSolve transposed;
  constexpr linear_solver() = default;
  constexpr linear_solver(const Product& p, const Solve& s, const TransposedSolve& t) : product(p), solve(s), transposed(t) {}
  template <class B> using result = B;

  template <class B> struct solved_by {
    const linear_solver& self;
    constexpr auto operator()(const B& b) const { return self.solve(self.product, b); }
  };
  template <class B> struct solved_transposed {
    const linear_solver& self;
    constexpr auto operator()(const B& g) const {
      if constexpr (std::is_same_v<TransposedSolve, symmetric_tag>) return self.solve(self.product, g);
      else return self.transposed(transposed_product<Product>{self.product}, g);
    }
  };

  template <class B> constexpr closure transformed(nesting level) const {
    const message why = difference<traced_result<Product, B>, B>("custom_linear_solve: the product must have the structure, shapes and dtypes of b");
    if (!why.empty()) return {failed_graph<B, B>(why), {}};
    if (const message other = difference<traced_result<solved_by<B>, B>, B>("custom_linear_solve: the solution must have the structure, shapes and dtypes of b"); !other.empty())
      return {failed_graph<B, B>(other), {}};
    closure bodies[] = {trace_for_transform<B>(product, level), trace_function<B>(solved_by<B>{*this}, level), trace_function<B>(solved_transposed<B>{*this}, level)};
    builder b;
    static_cast<void>(input_tree<B>(b));
    linear_solve_call s;
    for (int i : b.g.inputs) s.b.push_back({&b, i});
    const std::size_t n = s.b.size();
    sequence<value>* const constants[] = {&s.product_constants, &s.solve_constants, &s.transposed_constants};
    graph* const graphs[] = {&s.product, &s.solve, &s.transposed};
    sequence<value> captured;
    for (std::size_t k = 0; k < 3; ++k) {
      if (!bodies[k].body.error.empty()) return {failed_graph<B, B>(bodies[k].body.error), {}};
      *constants[k] = inputs_like(b, bodies[k].body, bodies[k].body.inputs.size() - n, n);
      captured = concat(captured, bodies[k].captured);
      *graphs[k] = std::move(bodies[k].body);
    }
    for (value v : linear_solve_p::write(b, s)) b.g.outputs.push_back(v.id);
    return {b.finish(), captured};
  }
};

/// x with product(x) = b, found by solve(product, b). Its derivative is that of the solution, x = A^-1 b, and not that of
/// the solver: forward mode solves once more with A, reverse mode with A^T, by transposed_solve(transposed product, g),
/// which is `solve` if it is not given; with ct::symmetric A^T is A. `product` must be linear; b and x are trees of the same
/// type. What `product` captures is differentiated, what only the solvers capture is not. JAX: jax.lax.custom_linear_solve.
template <class Product, class B, class Solve, class TransposedSolve>
constexpr auto custom_linear_solve(const Product& product, const B& b, const Solve& solve, const TransposedSolve& transposed_solve) {
  return linear_solver<Product, Solve, TransposedSolve>(product, solve, transposed_solve)(b);
}
template <class Product, class B, class Solve> constexpr auto custom_linear_solve(const Product& product, const B& b, const Solve& solve) {
  return custom_linear_solve(product, b, solve, solve);
}

template <class F, class Solve, class TangentSolve> struct root_finder : transform_base<root_finder<F, Solve, TangentSolve>> {
  [[no_unique_address]] F f;
  [[no_unique_address]] Solve solve;
  [[no_unique_address]] TangentSolve tangent_solve;
  constexpr root_finder() = default;
  constexpr root_finder(const F& function, const Solve& s, const TangentSolve& t) : f(function), solve(s), tangent_solve(t) {}
  template <class X> using result = X;

  /// v -> df/dx(x) v, and its transpose.
  template <class X> struct slope {
    const F& f;
    X x;
    constexpr auto operator()(const X& v) const { return std::get<1>(pushforward<F>(f)(std::tuple(x), std::tuple(v))); }
  };
  template <class X> struct transposed_slope {
    const F& f;
    X x;
    constexpr auto operator()(const X& g) const { return std::get<0>(pullback_function<F, false>(f)(std::tuple(x), g)); }
  };
  template <class X> struct found {
    const root_finder& self;
    constexpr auto operator()(const X& guess) const { return self.solve(self.f, guess); }
  };
  template <class X> struct tangent {
    const root_finder& self;
    constexpr auto operator()(const X& y, const X& x) const { return self.tangent_solve(slope<X>{self.f, x}, y); }
  };
  template <class X> struct cotangent {
    const root_finder& self;
    constexpr auto operator()(const X& y, const X& x) const { return self.tangent_solve(transposed_slope<X>{self.f, x}, y); }
  };

  template <class X> constexpr closure transformed(nesting level) const {
    for (const message& why : {difference<traced_result<F, X>, X>("custom_root: the function must return what it takes"),
                               difference<traced_result<found<X>, X>, X>("custom_root: the root must have the structure, shapes and dtypes of the guess"),
                               difference<traced_result<tangent<X>, X, X>, X>("custom_root: tangent_solve must return what its right-hand side is")})
      if (!why.empty()) return {failed_graph<X, X>(why), {}};
    closure bodies[] = {trace_for_transform<X>(f, level), trace_function<X>(found<X>{*this}, level), trace_function<X, X>(tangent<X>{*this}, level),
                        trace_function<X, X>(cotangent<X>{*this}, level)};
    builder b;
    static_cast<void>(input_tree<X>(b));
    root_call s;
    for (int i : b.g.inputs) s.guess.push_back({&b, i});
    const std::size_t n = s.guess.size();
    sequence<value>* const constants[] = {&s.f_constants, &s.solve_constants, &s.tangent_constants, &s.cotangent_constants};
    graph* const graphs[] = {&s.f, &s.solve, &s.tangent, &s.cotangent};
    sequence<value> captured;
    for (std::size_t k = 0; k < 4; ++k) {
      if (!bodies[k].body.error.empty()) return {failed_graph<X, X>(bodies[k].body.error), {}};
      const std::size_t own = k < 2 ? n : 2 * n;
      *constants[k] = inputs_like(b, bodies[k].body, bodies[k].body.inputs.size() - own, own);
      captured = concat(captured, bodies[k].captured);
      *graphs[k] = std::move(bodies[k].body);
    }
    for (value v : root_p::write(b, s)) b.g.outputs.push_back(v.id);
    return {b.finish(), captured};
  }
};

/// x with f(x) = 0, found by solve(f, guess). Its derivative with respect to what f captures is that of the root, by the
/// implicit function theorem, and not that of the solver; tangent_solve(g, y) must return v with g(v) = y for the linear
/// g = df/dx(x), and for its transpose. The guess has no derivative. JAX: jax.lax.custom_root.
template <class F, class X, class Solve, class TangentSolve>
constexpr auto custom_root(const F& f, const X& guess, const Solve& solve, const TangentSolve& tangent_solve) {
  return root_finder<F, Solve, TangentSolve>(f, solve, tangent_solve)(guess);
}

/// When an iteration ends: when the norm of the residual is at most `tolerance` times that of the right-hand side (newton,
/// fixed_point: when the norm of the step is at most tolerance times that of x), or after so many steps.
struct stopping {
  double tolerance = 1e-5;
  int most_steps = 1000;
};

/// The steps of the conjugate gradient method for a symmetric positive definite product (Hestenes and Stiefel, 1952).
struct conjugate_gradient {
  stopping stop;
  template <class Product, class B> constexpr auto operator()(const Product& product, const B& b) const {
    const auto goal = tree_dot(b, b) * (stop.tolerance * stop.tolerance);
    const auto x = tree_zeros(b);
    const auto going = [&](const auto& s) { return (std::get<3>(s) > goal) & (std::get<4>(s) < stop.most_steps); };
    const auto step = [&](const auto& s) {
      const auto& [x, r, p, rr, k] = s;
      const auto ap = product(p);
      const auto alpha = rr / tree_dot(p, ap);
      const auto next_r = tree_add_scaled(r, -alpha, ap);
      const auto next_rr = tree_dot(next_r, next_r);
      return std::tuple(tree_add_scaled(x, alpha, p), next_r, tree_add_scaled(next_r, next_rr / rr, p), next_rr, k + 1);
    };
    const auto rr = tree_dot(b, b);
    return std::get<0>(while_loop(going, step, std::tuple(x, b, b, rr, astype<std::int32_t>(zeros_like(rr)))));
  }
};

/// x with product(x) = b for a symmetric positive definite product, a function of trees like b. Differentiable by b and by
/// what `product` captures. JAX: jax.scipy.sparse.linalg.cg.
template <class Product, class B> constexpr auto cg(const Product& product, const B& b, stopping stop = {}) {
  return custom_linear_solve(product, b, conjugate_gradient{stop}, symmetric);
}

/// GMRES with restarts (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7, 1986): Arnoldi's method with Gram and Schmidt's
/// process done twice, and Givens rotations of the Hessenberg matrix.
template <int Restart> struct generalized_minimal_residual {
  stopping stop;
  template <class Product, class B> constexpr auto operator()(const Product& product, const B& b) const {
    static_assert(traced<B> && B::rank() == 1, "gmres: the right-hand side must be a vector");
    static_assert(Restart >= 1, "gmres: a restart takes at least 1 step");
    const auto goal = sum(b * b) * (stop.tolerance * stop.tolerance);
    const auto going = [&](const auto& s) { return (std::get<1>(s) > goal) & (std::get<2>(s) < stop.most_steps); };
    const auto cycle = [&](const auto& s) {
      const auto next = improved(product, b, std::get<0>(s));
      const auto r = b - product(next);
      return std::tuple(next, sum(r * r), std::get<2>(s) + 1);
    };
    const auto rr = sum(b * b);
    return std::get<0>(while_loop(going, cycle, std::tuple(zeros_like(b), rr, astype<std::int32_t>(zeros_like(rr)))));
  }

 private:
  template <class Product, class B> static constexpr auto improved(const Product& product, const B& b, const B& x) {
    const auto r = b - product(x);
    const auto norm = sqrt(sum(r * r)), zero = zeros_like(norm);
    const auto safe = [](auto v) { return where(v == 0, 1.0, v); };
    const auto row = [](auto v) { return expand_dims<0>(v); };
    // v: the orthonormal basis; h: the columns of the triangular factor as rows; c, s: the rotations; g: the rotated right side.
    const auto places = iota<std::int32_t, Restart + 1>(b);
    const auto unit = where(places == 0, 1.0, zero), none = zeros_like(unit);
    const auto start = std::tuple(expand_dims<1>(unit) * row(r / safe(norm)), zeros_like(expand_dims<1>(none) * row(none)), none, none, norm * unit);
    const auto built = fori_loop<0, Restart>([&](auto k, const auto& state) {
      // (clang evaluates no structured binding of a tuple that a lambda captures)
      const auto v = std::get<0>(state);
      const auto h = std::get<1>(state);
      const auto c = std::get<2>(state), s = std::get<3>(state), g = std::get<4>(state);
      const auto at = [&](auto list, auto i) { return sum(where(places == i, list, zero)); };
      const auto w = product(sum(expand_dims<1>(where(places == k, 1.0, zero)) * v, axis<0>));
      const auto first = matmul(v, w);
      const auto w1 = w - matmul(first, v);
      const auto second = matmul(v, w1);
      const auto w2 = w1 - matmul(second, v);
      const auto length = sqrt(sum(w2 * w2));
      const auto column = where(places == k + 1, length, first + second);
      const auto rotated = fori_loop<0, Restart>([&](auto i, auto col) {
        const auto a = at(col, i), e = at(col, i + 1), ci = at(c, i), si = at(s, i);
        const auto turned = where(places == i, ci * a + si * e, where(places == i + 1, ci * e - si * a, col));
        return where(i < k, turned, col);
      }, column);
      const auto a = at(rotated, k), e = at(rotated, k + 1), hypotenuse = safe(sqrt(a * a + e * e)), ck = a / hypotenuse, sk = e / hypotenuse;
      const auto gk = at(g, k);
      return std::tuple(v + expand_dims<1>(where(places == k + 1, 1.0, zero)) * row(w2 / safe(length)),
                        h + expand_dims<1>(where(places == k, 1.0, zero)) * row(where(places == k, ck * a + sk * e, where(places == k + 1, zero, rotated))),
                        where(places == k, ck, c), where(places == k, sk, s), where(places == k, ck * gk, where(places == k + 1, -sk * gk, g)));
    }, start);
    const auto v = std::get<0>(built);
    const auto h = std::get<1>(built);
    const auto g = std::get<4>(built);
    // Back substitution with the rows of h as columns.
    const auto y = fori_loop<0, Restart>([&](auto i, auto y) {
      const auto k = Restart - 1 - i;
      const auto pick = where(places == k, 1.0, zero);
      const auto diagonal = sum(expand_dims<1>(pick) * h * row(pick));
      const auto known = sum(matmul(y, h) * pick);
      return where(places == k, where(diagonal == 0, zero, (sum(g * pick) - known) / safe(diagonal)), y);
    }, none);
    return x + matmul(y, v);
  }
};

/// x with product(x) = b for any invertible product of vectors. Differentiable by b and by what `product` captures.
/// `Restart` steps keep so many vectors; stop.most_steps counts restarts. JAX: jax.scipy.sparse.linalg.gmres.
template <int Restart = 20, class Product, class B> constexpr auto gmres(const Product& product, const B& b, stopping stop = {}) {
  return custom_linear_solve(product, b, generalized_minimal_residual<Restart>{stop});
}

/// x <- x + step(x) until the step is small.
template <class Step, class X> constexpr auto stepped(const Step& step, const X& start, stopping stop) {
  const auto one = zeros_like(tree_dot(start, start)) + 1.0;
  const auto going = [&](const auto& s) {
    const auto& [x, moved, k] = s;
    return (moved > tree_dot(x, x) * (stop.tolerance * stop.tolerance)) & (k < stop.most_steps);
  };
  const auto next = [&](const auto& s) {
    const auto d = step(std::get<0>(s));
    return std::tuple(tree_map([](auto u, auto v) { return u + v; }, std::get<0>(s), d), tree_dot(d, d), std::get<2>(s) + 1);
  };
  return std::get<0>(while_loop(going, next, std::tuple(start, one / 0.0, astype<std::int32_t>(zeros_like(one)))));
}

/// x with product(x) = b: of few unknowns by the matrix, whose columns are the products with unit vectors, else by GMRES.
template <int Restart> struct newton_solution {
  stopping stop;
  template <class Product, class B> constexpr auto operator()(const Product& product, const B& b) const {
    constexpr extent few = 8;
    if constexpr (B::rank() == 1 && B::size() > 0 && B::size() <= few)
      return [&]<int... I>(std::integer_sequence<int, I...>) {
        const auto places = iota<std::int32_t, B::size()>(b);
        return linalg::solve(stack<1>(product(where(places == I, 1.0, zeros_like(b)))...), b);
      }(std::make_integer_sequence<int, int(B::size())>());
    else return generalized_minimal_residual<Restart>{stop}(product, b);
  }
};
/// x <- x - J^-1 f(x)
template <int Restart> struct newton_steps {
  stopping stop;
  template <class F, class X> constexpr auto operator()(const F& f, const X& guess) const {
    return stepped([&](const auto& x) {
      return -newton_solution<Restart>{{1e-2 * stop.tolerance, 10}}([&](const auto& v) { return std::get<1>(pushforward<F>(f)(std::tuple(x), std::tuple(v))); }, f(x));
    }, guess, stop);
  }
};

/// x with f(x) = 0 near the guess, a vector, by Newton's method. Steps of more than 8 unknowns are found by GMRES, and so are their
/// derivatives.
/// Differentiable by what f captures.
template <int Restart = 20, class F, class X> constexpr auto newton(const F& f, const X& guess, stopping stop = {}) {
  return custom_root(f, guess, newton_steps<Restart>{stop}, newton_solution<Restart>{{1e-2 * stop.tolerance, 10}});
}

/// f(x) - x.
template <class F> struct displacement {
  [[no_unique_address]] F f;
  template <class X> constexpr auto operator()(const X& x) const {
    return tree_map([](auto u, auto v) { return u - v; }, f(x), x);
  }
};
struct displacement_steps {
  stopping stop;
  template <class G, class X> constexpr auto operator()(const G& g, const X& guess) const { return stepped(g, guess, stop); }
};
/// v with g(v) = y for g(v) = J v - v: v <- J v - y, which converges where the iteration of f does.
struct displacement_tangents {
  stopping stop;
  template <class G, class X> constexpr auto operator()(const G& g, const X& y) const {
    return stepped([&](const auto& v) { return tree_map([](auto a, auto b) { return a - b; }, g(v), y); }, tree_map([](auto a) { return -a; }, y), stop);
  }
};

/// x with f(x) = x, by x <- f(x) from the guess on; f must be a contraction there. Differentiable by what f captures:
/// the derivative is that of the fixed point, found by the same kind of iteration.
template <class F, class X> constexpr auto fixed_point(const F& f, const X& guess, stopping stop = {}) {
  return custom_root(displacement<F>{f}, guess, displacement_steps{stop}, displacement_tangents{stop});
}

}  // namespace cotangent
