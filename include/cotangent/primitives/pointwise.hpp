#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_POINTWISE)
#define COTANGENT_PRIMITIVES_POINTWISE
/// What pointwise primitives share: equal shapes in and out, and one derivative that serves jvp and vjp,
/// because a diagonal linear map is its own transpose.

namespace cotangent {

constexpr value broadcast_in_dim(value x, const shape& dims, const shape& axes);
constexpr value add(value a, value b);

/// `v` with a batch axis at the front: broadcast if it has none.
constexpr value batched_operand(value v, bool batched, extent size) {
  if (batched) return v;
  shape dims = insert(v.dims(), 0, size), axes;
  for (int i = 0; i < v.rank(); ++i) axes.push_back(i + 1);
  return broadcast_in_dim(v, dims, axes);
}

/// An element as an array of instances.
constexpr value as_instances(value x, const shape& instances) { return x.rank() == instances.rank ? x : broadcast_in_dim(x, instances, {}); }
/// Makes arrays of instances of both elements if one is.
constexpr void match_ranks(value& a, value& b) {
  if (a.rank() < b.rank()) a = as_instances(a, b.dims());
  if (b.rank() < a.rank()) b = as_instances(b, a.dims());
}

/// Checks that the operands have one shape and gives it to the result.
constexpr void infer_same_shape(call& c, int first = 0) {
  const node* nodes = c.b->g.nodes.items;
  c.dims = nodes[c.operands[first].id].dims;
  for (int k = first + 1; k < c.count; ++k) {
    const shape& other = nodes[c.operands[k].id].dims;
    if (other == c.dims) continue;
    bool equal = other.rank == c.dims.rank;
    for (int i = 0; equal && i < other.rank; ++i) equal = c.b->symbols.unify(c.op->name, c.dims[i], other[i]);
    if (!equal) return c.b->fail(message{} << c.op->name << ": shapes differ: " << c.dims << " and " << other);
  }
}

constexpr void infer_same_dtype(call& c, int first = 0) {
  const node* nodes = c.b->g.nodes.items;
  c.type = nodes[c.operands[first].id].type;
  for (int k = first + 1; k < c.count; ++k)
    if (nodes[c.operands[k].id].type != c.type)
      return c.b->fail(message{} << c.op->name << ": dtypes differ: " << c.type << " and " << c[k].type());
}

struct pointwise {
  static constexpr role kind = role::pointwise;
  static constexpr double flops = 1;
  static constexpr void infer(call& c) {
    infer_same_shape(c);
    infer_same_dtype(c);
  }
  static constexpr value batch(const call& c, const bool* batched, extent size) {
    value operands[4];
    for (int k = 0; k < c.count; ++k) operands[k] = batched_operand(c[k], batched[k], size);
    return emit_again(c, operands);
  }
};

/// Pointwise with zero derivative.
struct pointwise_constant : pointwise {
  static constexpr bool constant = true;
  static constexpr value jvp(const call&, const value*) { return {}; }
  static constexpr value vjp(const call&, int, value) { return {}; }
};

/// Pointwise with derivative: P::derivative(c, k, g) is g times the partial derivative by operand k.
template <class P> struct differentiable : pointwise {
  static constexpr value jvp(const call& c, const value* tangents) {
    value sum;
    for (int k = 0; k < c.count; ++k) {
      if (!tangents[k]) continue;
      const value t = P::derivative(c, k, tangents[k]);
      if (t) sum = sum ? add(sum, t) : t;
    }
    return sum;
  }
  static constexpr value vjp(const call& c, int k, value g) { return P::derivative(c, k, g); }
};

/// A differentiable function of floating-point operands.
template <class P> struct floating : differentiable<P> {
  static constexpr double flops = 10;
  static constexpr void infer(call& c) {
    pointwise::infer(c);
    if (!is_floating(c.type) && !(is_complex(c.type) && c.op->has.of_complex))
      c.b->fail(message{} << c.op->name << ": needs a floating-point dtype, got " << c.type << c.dims);
  }
  /// A rule of simplification: that the function of x is y, as of zeros and ones that are known when a program is compiled.
  static constexpr value known(const call& c, double x, double y) { return is_constant(c[0], x) && is_floating(c.type) ? full_like(c[0], y) : value{}; }
};

}  // namespace cotangent

#endif
