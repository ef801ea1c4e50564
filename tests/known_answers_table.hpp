#pragma once
/// Known answers: what JAX returns, from its documentation and its tests (jax-ml/jax, cec06d1), with the tolerances
/// that the sources give. The expressions are in the tests, next to the ids. Nested results are flattened in order.
///
/// Not here, because the library has no such operation or no such values:
///   grad.complex_abs2        complex numbers are stored, not computed in
///   grad.holomorphic_sin     complex numbers are stored, not computed in
///   grad.holomorphic_conj    complex numbers are stored, not computed in
///   numpy.vdot_complex       complex numbers are stored, not computed in
///   jvp.shape_dtype_rules    a compile error here: tests/errors/jvp_integer.cpp
///   vmap.grad_of_psum        needs collectives
///   vmap.all_gather_vjp      needs collectives
///   vmap.ppermute_grad       needs collectives
///   indexing.argsort_stable  needs argsort
///   indexing.lexsort         needs argsort
///   numpy.quantile           needs sort
///   remat.names_*, remat.no_residual_*, remat.input_residual, remat.residuals_*, remat.chain_*
///                            lists of residuals: the library does not print them
///   numpy.view_bits          XLA flushes denormals, this library keeps them
/// Errors (errors.grad_int_input, grad_int_output, grad_argnums, vmap_rank, vmap_noargs) are compile errors here: see
/// tests/errors/{grad_by_integer,grad_of_integer,grad_wrt,vmap_in_axes_range,vmap_nothing_mapped}.cpp.

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"

namespace known {

namespace ct = cotangent;

struct argument_values {
  std::string name;
  std::vector<double> values;
};
struct answer {
  std::string id;
  std::vector<argument_values> arguments;
  std::vector<double> expected;
  double relative, absolute;
};

inline constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

inline const std::vector<argument_values> logistic_regression = {
    {"W", {-0.3683878183364868, -2.275688886642456, 0.01144756656140089}},
    {"b", {0.8535517454147339}},
    {"inputs", {0.52, 1.12, 0.77, 0.88, -1.08, 0.15, 0.52, 0.06, -1.3, 0.74, -2.49, 1.39}},
    {"targets", {1, 1, 0, 1}}};

// clang-format off
inline const std::vector<answer> answers = {
    {"grad.tanh_2nd", {{"x", {2}}}, {-0.13621889}, 1e-05, 1e-06},
    {"grad.tanh_3rd", {{"x", {2}}}, {0.2526544}, 1e-05, 1e-06},
    {"grad.tanh_02", {{"x", {0.2}}}, {0.961043}, 1e-05, 1e-06},
    {"grad.logreg_loss", logistic_regression, {3.051939}, 1e-05, 1e-06},
    {"grad.reciprocal_6th", {{"x", {4}}}, {0.0439453125}, 1e-05, 1e-06},
    {"grad.pow_0_0_float", {{"x", {0}}, {"y", {0}}}, {nan}, 1e-05, 1e-06},
    {"grad.pow_second", {{"x", {4}}, {"y", {0}}}, {0, 0.25, 0.25, 1.9218120556728056}, 1e-05, 1e-06},
    {"grad.stop_gradient", {{"x", {3}}}, {6, 0}, 1e-05, 1e-06},
    {"grad_edge.abs0", {{"x", {0}}}, {1}, 1e-05, 1e-06},
    {"grad_edge.sqrt0", {{"x", {0}}}, {inf}, 1e-05, 1e-06},
    {"grad_edge.max_tie", {{"x", {2}}, {"y", {2}}}, {0.5, 0.5}, 1e-05, 1e-06},
    {"grad_edge.reduce_max_all_ties", {{"x", {5, 5, 5, 5}}}, {0.25, 0.25, 0.25, 0.25}, 1e-05, 1e-06},
    {"grad_edge.maximum_relu_tie", {{"x", {0}}}, {0.5}, 1e-05, 1e-06},
    {"grad_edge.relu0", {{"x", {0}}}, {0}, 1e-05, 1e-06},
    {"grad_edge.relu6", {{"x", {0, 6}}}, {0, 0}, 1e-05, 1e-06},
    {"grad_edge.lax_clamp_bounds", {{"x", {0, 1}}}, {0, 0}, 1e-05, 1e-06},
    {"grad_edge.jnp_clip_bounds", {{"x", {0, 1}}}, {0.5, 0.5}, 1e-05, 1e-06},
    {"grad_edge.norm0", {{"x", {0, 0}}}, {nan, nan}, 1e-05, 1e-06},
    {"grad_edge.rem", {{"x", {7}}, {"y", {3}}}, {1, -2}, 1e-05, 1e-06},
    {"grad_edge.cumsum", {{"w", {1, 10, 100}}}, {111, 110, 100}, 1e-05, 1e-06},
    {"grad_edge.reduce_prod_zero", {{"x", {2, 0, 3}}}, {0, 6, 0}, 1e-05, 1e-06},
    {"grad_edge.reduce_prod_two_zeros", {{"x", {0, 0, 3}}}, {0, 0, 0}, 1e-05, 1e-06},
    {"grad_edge.gather_dup", {}, {2, 0, 1}, 1e-05, 1e-06},
    {"grad_edge.gather_oob_fill", {}, {0, 1, 0}, 1e-05, 1e-06},
    {"grad_edge.dynamic_slice_clamp", {}, {0, 0, 1, 1, 1}, 1e-05, 1e-06},
    {"grad_edge.scatter_set", {}, {1, 0, 1, 1}, 1e-05, 1e-06},
    {"grad_edge.softplus_inf", {{"x", {inf}}}, {1}, 1e-05, 1e-06},
    {"grad_edge.softmax_neginf", {{"x", {0, -inf}}}, {1, 0}, 1e-05, 1e-06},
    {"grad_edge.softmax_posinf", {{"x", {0, inf}}}, {nan, nan}, 1e-05, 1e-06},
    {"grad_edge.softmax_where_grad", {{"x", {36, 10000}}, {"where", {1, 0}}}, {0, 0}, 1e-05, 1e-06},
    {"grad_edge.erf_inv", {{"x", {0}}}, {0.8862269254527579}, 1e-05, 1e-06},
    {"grad_edge.atan2_origin", {{"y", {0}}, {"x", {0}}}, {nan, nan}, 1e-05, 1e-06},
    {"grad_edge.atan2", {{"y", {1}}, {"x", {2}}}, {0.4, -0.2}, 1e-05, 1e-06},
    {"grad_edge.log1p", {{"x", {-1}}}, {inf}, 1e-05, 1e-06},
    {"grad_edge.expm1", {{"x", {0}}}, {1}, 1e-05, 1e-06},
    {"grad_edge.acos_asin_1", {{"x", {1}}}, {inf}, 1e-05, 1e-06},
    {"grad_edge.argmax_zero", {{"x", {1, 3, 2}}}, {0, 1, 0}, 1e-05, 1e-06},
    {"grad_edge.int_input_float0", {{"x", {2}}, {"i", {3}}}, {3}, 1e-05, 1e-06},
    {"jvp.jet", {{"h", {0.125, 0.75, 3}}}, {0.12467473, 0.74414825, 2.9064634}, 1e-05, 1e-06},
    {"vjp.custom_vjp", {{"x", {3}}}, {0.14112, -0.9899925}, 2e-05, 1e-06},
    {"jacobian.logreg_b", logistic_regression, {0.11503378, 0.04563539, 0.23439017, 0.00189768}, 2e-05, 1e-06},
    {"hessian.logreg", logistic_regression, {0.02285465, 0.0492254, 0.03384246, 0.0492254, 0.10602394, 0.07289147, 0.03384246, 0.07289146, 0.05011288, -0.03195214, 0.03921399, -0.00544639, 0.03921399, -0.04812626, 0.0066842, -0.00544639, 0.0066842, -0.00092836, -0.01583708, -0.00182736, 0.03959271, -0.00182736, -0.00021085, 0.00456839, 0.03959271, 0.00456839, -0.09898177, -0.00103522, 0.00348336, -0.00194453, 0.00348336, -0.01172105, 0.00654308, -0.00194453, 0.00654308, -0.00365256}, 3e-05, 3e-07},
    {"hessian.pytree_bb", {{"a", {1, 2}}, {"b", {2, 3}}}, {0, 0, 0, 0, 0, 0, 0, 3.843624}, 1e-05, 1e-06},
    {"linearize.aux", {{"x", {3.4}}, {"t", {5}}}, {3.8, 10}, 1e-05, 1e-06},
    {"linearize.cond_low", {{"x", {1}}, {"t", {2}}}, {3, 6}, 1e-05, 1e-06},
    {"vmap.out_axes_None", {{"x", {0, 1}}, {"y", {4}}}, {4, 5, 8}, 1e-05, 1e-06},
    {"vmap.aot_matmul", {}, {1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45}, 1e-05, 1e-06},
    {"vmap.jit_static", {{"x", {0, 1, 2, 3}}, {"n", {3}}}, {0, 1, 256, 6561}, 0.0, 0.0},
    {"custom_jvp.f23", {{"x", {2}}, {"y", {3}}}, {2.7278922, 2.7278922, -1.2484405, -1.2484405}, 1e-05, 1e-06},
    {"custom_jvp.log1pexp_100_naive", {{"x", {100}}}, {nan}, 1e-05, 1e-06},
    {"custom_jvp.log1pexp_100", {{"x", {100}}}, {1}, 1e-05, 1e-06},
    {"custom_jvp.control_flow", {{"x", {1, -1}}}, {2, 3}, 1e-05, 1e-06},
    {"custom_jvp.nondiff_app", {{"x", {3}}}, {27, 2}, 1e-05, 1e-06},
    {"custom_jvp.nondiff_app2", {{"x", {3}}}, {3375, 3}, 1e-05, 1e-06},
    {"custom_vjp.f23", {{"x", {2}}, {"y", {3}}}, {-1.2484405}, 1e-05, 1e-06},
    {"custom_vjp.newton_sqrt_grads", {{"a", {2}}}, {0.35355335, -0.088388346}, 1e-05, 1e-06},
    {"custom_vjp.clip_gradient", {{"x", {0.1}}}, {0.2}, 1e-05, 1e-06},
    {"custom_gradient.sq", {{"x", {3}}}, {9, 3, 1}, 1e-05, 1e-06},
    {"custom_gradient.mul", {{"x", {3}}, {"y", {4}}}, {4, 3}, 1e-05, 1e-06},
    {"indexing.dynamic_slice_clamp", {}, {2, 3, 4}, 0.0, 0.0},
    {"indexing.oob_fill", {}, {nan}, 1e-05, 1e-06},
    {"indexing.at_add_oob_drop", {}, {0, 1, 2, 3, 4}, 1e-05, 1e-06},
    {"indexing.at_neg", {}, {0, 1, 2, 3, 99}, 1e-05, 1e-06},
    {"indexing.take_fill_default", {}, {nan, nan, nan, 1, 2, 3}, 1e-05, 1e-06},
    {"indexing.scatter_add", {}, {1, 3, 4, 1, 5}, 1e-05, 1e-06},
    {"indexing.segment_prod", {}, {0, 6, 20}, 0.0, 0.0},
    {"indexing.segment_sum", {}, {1, 5, 4}, 0.0, 0.0},
    {"indexing.pad_negative", {}, {2, 3}, 0.0, 0.0},
    {"indexing.round_even", {}, {10, 22, 12, 32}, 1e-05, 1e-06},
    {"numpy.convolve", {}, {4, 9, 16, 15, 12, 5, 2}, 1e-05, 1e-06},
    {"numpy.remainder", {}, {1, 2, -1, 0, 2, -2}, 0.0, 0.0},
    {"numpy.floor_divide", {}, {-2, -2, -1, -1, -1, 0, 0, 0, 1, 1, 1}, 0.0, 0.0},
    {"numpy.power", {}, {16, 3, 1, nan, 27, 1}, 1e-05, 1e-06},
    {"numpy.rint", {}, {-2, -2, -0.0, 0, 2, 2, 4, 4}, 1e-05, 1e-06},
    {"numpy.var_axis1", {}, {1.25, 2.5, 8.1875}, 1e-05, 1e-06},
    {"numpy.nancumsum", {}, {1, 3, 3, 7, 7, 13}, 1e-05, 1e-06},
    {"numpy.einsum_chain", {}, {481, 831, 1181, 651, 1125, 1599}, 0.0, 0.0},
    {"numpy.diff_prepend", {}, {-1, 4, -3, 7, 1, 5, -1, -3}, 0.0, 0.0},
    {"nn.relu", {}, {0, 0, 0, 0, 0.5, 1, 2}, 1e-05, 1e-06},
    {"nn.glu", {}, {0.5}, 1e-05, 1e-06},
    {"nn.softplus_0", {}, {0.6931471805599453}, 1e-05, 1e-06},
    {"nn.sparse_sigmoid", {}, {0, 1, 0.5}, 1e-05, 1e-06},
    {"nn.squareplus", {}, {1, 1000}, 1e-05, 0.002},
    {"nn.elu", {}, {10000}, 1e-05, 1e-06},
    {"nn.gelu_default", {{"x", {1}}}, {0.8411919906082768, 0.8413447460685429}, 1e-05, 1e-06},
    {"nn.relu6_val", {}, {0, 3, 6}, 1e-05, 1e-06},
    {"nn.log_softmax", {{"x", {5.5, 1.3, -4.2, 0.9}}}, {-0.02479865190475028, -4.2247986519047505, -9.72479865190475, -4.62479865190475}, 1e-05, 1e-06},
    {"nn.scaled_matmul", {}, {8}, 1e-05, 1e-06},
    {"nn.selu_consts", {}, {-1.1113307378125625, 1.0507009873554805}, 1e-05, 1e-06},
    {"autodidax.perturbation_confusion_classic", {}, {1}, 1e-05, 1e-06},
    {"autodidax2.perturbation_confusion", {}, {0}, 1e-05, 1e-06},
    {"scan.cumsum", {}, {10, 0, 1, 3, 6, 10}, 0.0, 0.0},
    {"scan.reverse", {}, {10, 10, 10, 9, 7, 4}, 0.0, 0.0},
    {"scan.length0", {}, {7}, 0.0, 0.0},
    {"scan.grad_geometric", {{"a", {2}}}, {12}, 1e-05, 1e-06},
    {"scan.vmap", {}, {3, 13, 0, 0, 1, 10, 10, 11}, 1e-05, 1e-06},
    {"scan.doc_func11", {}, {200}, 1e-05, 1e-06},
    {"control.fori_closure", {}, {5, 12, 22}, 0.0, 0.0},
    {"control.fori_array", {}, {45}, 0.0, 0.0},
    {"control.assoc_scan_rev", {}, {6, 6, 5, 3}, 0.0, 0.0},
    {"control.switch_clamp", {}, {0, 2}, 0.0, 0.0},
    {"remat.recompute_count_8", {}, {8}, 0.0, 0.0},
    {"remat.dots_counts", {}, {2, 6}, 0.0, 0.0},
    {"remat.dots_no_batch_counts", {}, {2, 6}, 0.0, 0.0},
    {"remat.dots_in_scan_counts", {}, {2, 3, 6}, 0.0, 0.0},
};
// clang-format on

inline const answer& find(const std::string& id) {
  for (const answer& a : answers)
    if (a.id == id) return a;
  throw std::out_of_range(id);
}

/// An argument of a case as an array, float32 unless said otherwise.
template <class T, ct::extent... E> ct::array<T, E...> argument(const std::string& id, const std::string& name) {
  for (const argument_values& a : find(id).arguments) {
    if (a.name != name) continue;
    ct::array<T, E...> x;
    REQUIRE(x.size() == ct::extent(a.values.size()));
    for (std::size_t i = 0; i < a.values.size(); ++i) x.data()[i] = T(a.values[i]);
    return x;
  }
  throw std::out_of_range(id + ": " + name);
}
inline float number(const std::string& id, const std::string& name) { return argument<float>(id, name); }

inline std::set<std::string>& checked() {
  static std::set<std::string> ids;
  return ids;
}

/// Checks the leaves of the results, in order, against the answer.
template <class... Result> void check(const std::string& id, const Result&... results) {
  INFO(id);
  const answer& a = find(id);
  std::vector<double> got;
  const auto append = [&](const auto& leaf) {
    using leaf_type = std::remove_cvref_t<decltype(leaf)>;
    if constexpr (std::is_arithmetic_v<leaf_type>) got.push_back(double(leaf));
    else
      for (auto x : leaf) got.push_back(double(x));
  };
  (ct::for_each_leaf(append, results), ...);
  REQUIRE(got.size() == a.expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i << ": " << got[i] << " where " << a.expected[i] << " is expected");
    if (std::isnan(a.expected[i])) CHECK(std::isnan(got[i]));
    else if (std::isinf(a.expected[i])) CHECK(got[i] == a.expected[i]);
    else if (a.expected[i] == 0 && std::signbit(a.expected[i])) CHECK((got[i] == 0 && std::signbit(got[i])));
    else CHECK(std::abs(got[i] - a.expected[i]) <= a.absolute + a.relative * std::abs(a.expected[i]));
  }
  checked().insert(id);
}

/// Whether every answer of a group was checked.
inline bool complete(const std::string& group) {
  bool all = true;
  for (const answer& a : answers)
    if (a.id.substr(0, a.id.find('.')) == group && !checked().count(a.id)) {
      UNSCOPED_INFO(a.id << " is not checked");
      all = false;
    }
  return all;
}

}  // namespace known
