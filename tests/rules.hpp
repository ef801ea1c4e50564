#pragma once
/// The rules of the primitives are compiled once, with check_derivatives.cpp, and not with each test that traces functions at run time.
/// A primitive that is not in this list is compiled where it is used.

#include <cotangent/cotangent.hpp>

#ifdef COMPILE_RULES
#define RULES_OF(P) template const primitive primitive_of<P>;
#else
#define RULES_OF(P) extern template const primitive primitive_of<P>;
#endif

namespace cotangent {
RULES_OF(element_p)
RULES_OF(constant_p) RULES_OF(iota_p) RULES_OF(basis_p)
RULES_OF(broadcast_in_dim_p) RULES_OF(reshape_p) RULES_OF(transpose_p) RULES_OF(slice_p) RULES_OF(reverse_p) RULES_OF(pad_p)
RULES_OF(concatenate_p) RULES_OF(assemble_p) RULES_OF(pick_p)
RULES_OF(neg_p) RULES_OF(add_p) RULES_OF(sub_p) RULES_OF(mul_p) RULES_OF(div_p) RULES_OF(rem_p) RULES_OF(max_p) RULES_OF(min_p)
RULES_OF(abs_p) RULES_OF(copysign_p) RULES_OF(sign_p) RULES_OF(floor_p) RULES_OF(ceil_p) RULES_OF(trunc_p) RULES_OF(round_p) RULES_OF(pow_p)
RULES_OF(integer_pow_p) RULES_OF(sqrt_p) RULES_OF(rsqrt_p) RULES_OF(cbrt_p)
RULES_OF(exp_p) RULES_OF(exp2_p) RULES_OF(exp10_p) RULES_OF(expm1_p) RULES_OF(log_p) RULES_OF(log2_p) RULES_OF(log10_p) RULES_OF(log1p_p)
RULES_OF(sin_p) RULES_OF(cos_p) RULES_OF(tan_p) RULES_OF(asin_p) RULES_OF(acos_p) RULES_OF(atan_p) RULES_OF(atan2_p) RULES_OF(hypot_p) RULES_OF(logaddexp_p)
RULES_OF(sinh_p) RULES_OF(cosh_p) RULES_OF(tanh_p) RULES_OF(asinh_p) RULES_OF(acosh_p) RULES_OF(atanh_p) RULES_OF(logistic_p)
RULES_OF(erf_p) RULES_OF(erfc_p) RULES_OF(erf_inv_p) RULES_OF(lgamma_p) RULES_OF(digamma_p) RULES_OF(trigamma_p)
RULES_OF(eq_p) RULES_OF(ne_p) RULES_OF(lt_p) RULES_OF(le_p) RULES_OF(gt_p) RULES_OF(ge_p) RULES_OF(and_p) RULES_OF(or_p) RULES_OF(xor_p)
RULES_OF(not_p) RULES_OF(shift_left_p) RULES_OF(shift_right_p) RULES_OF(is_finite_p) RULES_OF(select_p) RULES_OF(clamp_p)
RULES_OF(fft_p) RULES_OF(fft_lines_p) RULES_OF(real_p) RULES_OF(imag_p) RULES_OF(complex_p) RULES_OF(convert_p) RULES_OF(stop_gradient_p) RULES_OF(bit_cast_p) RULES_OF(random_bits_p)
RULES_OF(reduce_sum_p) RULES_OF(reduce_prod_p) RULES_OF(reduce_max_p) RULES_OF(reduce_min_p) RULES_OF(reduce_and_p) RULES_OF(reduce_or_p)
RULES_OF(argmax_p) RULES_OF(argmin_p)
RULES_OF(cumsum_p) RULES_OF(cumprod_p) RULES_OF(cummax_p) RULES_OF(cummin_p) RULES_OF(linear_recurrence_p)
RULES_OF(argsort_p)
RULES_OF(extent_p) RULES_OF(gather_p) RULES_OF(scatter_add_p) RULES_OF(scatter_p) RULES_OF(scatter_mul_p) RULES_OF(scatter_min_p)
RULES_OF(scatter_max_p) RULES_OF(roll_p)
RULES_OF(dot_general_p) RULES_OF(convolution_p) RULES_OF(convolution_kernel_p)
RULES_OF(cholesky_p) RULES_OF(cholesky_pullback_p) RULES_OF(triangular_solve_p) RULES_OF(lu_p) RULES_OF(lu_solve_p)
RULES_OF(qr_p) RULES_OF(eigh_p) RULES_OF(svd_p) RULES_OF(determinant_p) RULES_OF(adjugate_p) RULES_OF(inverse_p)
RULES_OF(dense_p)
RULES_OF(custom_jvp_p) RULES_OF(custom_vjp_p)
RULES_OF(saveable_p)
RULES_OF(barrier_p)
RULES_OF(name_p) RULES_OF(checkpoint_p)
RULES_OF(linear_solve_p) RULES_OF(root_p)
RULES_OF(scan_p)
RULES_OF(switch_p)
RULES_OF(while_p)
RULES_OF(max_with_number_p) RULES_OF(min_with_number_p) RULES_OF(made_for_product_p) RULES_OF(gemm_p)
RULES_OF(chunks_p)
RULES_OF(packets_p) RULES_OF(lane_rows_p)
RULES_OF(fma_p) RULES_OF(window_p)
}  // namespace cotangent

#undef RULES_OF
