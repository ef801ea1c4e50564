#pragma once
/// Reductions of segments: the rows of an array that have the same number.

#include <cotangent/numpy/elementwise.hpp>

namespace cotangent {

/// The identity elements of the reduction P, updated with rows of data by the scatter S.
template <extent Segments, class S, class P, class T> struct segment_function {
  static_assert(Segments >= 0, "segments: the number of segments must be known when the program is compiled");
  constexpr value operator()(value data, value ids) const {
    shape dims{Segments};
    for (int i = 0; i < ids.rank(); ++i)
      if (i >= data.rank() || !data.b->symbols.unify("segments", data.dims()[i], ids.dims()[i]))
        data.b->fail(message{} << "segments: the shape of ids, " << ids.type() << ids.dims() << ", must be that of the leading axes of the data, " << data.type() << data.dims());
    for (int i = ids.rank(); i < data.rank(); ++i) dims.push_back(data.dims()[i]);
    if (data.b->failed()) return data;
    const value base = broadcast_in_dim(number_constant(*data.b, data.type(), P::template identity<T>()), dims, {});
    return at_function<S>{}(base, data, select(lt(ids, zeros_like(ids)), full_like(ids, double(Segments)), ids));
  }
};

/// The sums of the rows of data with id 0, 1, ..., Segments - 1: data [n, ...], ids [n] (int32 or int64, in any order), result [Segments, ...]. Rows of
/// other ids are left out; a segment without rows is 0. ids may have more axes, those that data begins with. JAX: jax.ops.segment_sum.
template <extent Segments, tensor X, tensor I> constexpr auto segment_sum(const X& data, const I& ids) {
  return apply_mixed<segment_function<Segments, scatter_add_p, reduce_sum_p, std::remove_cv_t<typename X::value_type>>{}>(data, ids);
}
/// The products; 1 without rows. No derivative by data: see at(...).multiply. JAX: jax.ops.segment_prod.
template <extent Segments, tensor X, tensor I> constexpr auto segment_prod(const X& data, const I& ids) {
  return apply_mixed<segment_function<Segments, scatter_mul_p, reduce_prod_p, std::remove_cv_t<typename X::value_type>>{}>(data, ids);
}
/// The largest; minus infinity, or the least integer, without rows. The derivative splits evenly at ties. JAX: jax.ops.segment_max.
template <extent Segments, tensor X, tensor I> constexpr auto segment_max(const X& data, const I& ids) {
  return apply_mixed<segment_function<Segments, scatter_max_p, reduce_max_p, std::remove_cv_t<typename X::value_type>>{}>(data, ids);
}
/// The smallest. JAX: jax.ops.segment_min.
template <extent Segments, tensor X, tensor I> constexpr auto segment_min(const X& data, const I& ids) {
  return apply_mixed<segment_function<Segments, scatter_min_p, reduce_min_p, std::remove_cv_t<typename X::value_type>>{}>(data, ids);
}

}  // namespace cotangent
