#pragma once
/// erf, erfc, erf_inv. Coefficients are minimax fits made for these functions.

#include <cotangent/backends/cpu/maths/logarithm.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

/// (erf(x) - x) / x in terms of z = x^2 <= 1.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> erf_tail(pack<T, N> z) {
  if constexpr (std::is_same_v<T, float>)
    return polynomial(z, 1.2837917e-01f, -3.7612626e-01f, 1.1283579e-01f, -2.6853347e-02f, 5.1871645e-03f, -7.9978845e-04f, 7.807045e-05f);
  else
    return polynomial(z, 0.1283791670955126, -0.376126389031841, 0.1128379167097118, -0.026866170648050112, 0.005223977652773846,
                      -0.0008548328528603936, 0.00012055385373607631, -1.4926847000136948e-05, 1.6480263426262993e-06,
                      -1.654616332335619e-07, 1.5923045480920873e-08, -1.605573583820587e-09, 1.3555086633466904e-10);
}

/// Measured: 1.16 ULP (float), 1.38 (double). erf(-0) = -0, 1 in magnitude beyond 3.92 (float) and 5.92 (double). jax.scipy.special.erf.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> erf(pack<T, N> x) {
  using V = pack<T, N>;
  // |x| < 1: x + x p(x^2). Beyond: 1 - e^q(x), q a fit of log erfc.
  const V a = lesser(V(std::is_same_v<T, float> ? T(4) : T(6)), abs(x));
  V q;
  if constexpr (std::is_same_v<T, float>)
    q = polynomial(a, -3.415816e-04f, -1.1270889e+00f, -6.381453e-01f, -1.0310625e-01f, 2.1837806e-02f, -2.94759e-03f, 1.8637191e-04f);
  else
    q = polynomial(a, -4.3981594189127943e-07, -1.1283746738841958, -0.6366411155971576, -0.1027100889780416, 0.019002306500399597,
                   0.0003944596286725489, -0.0018996367916015095, 0.0007579427285261772, -0.00012732174737621399, -2.395950342196092e-05,
                   2.420680197941856e-05, -9.071562189210568e-06, 2.2265099798901377e-06, -3.8863863448376623e-07, 4.8299103925289055e-08,
                   -4.090639540359164e-09, 2.1240034605774188e-10, -5.110248166309932e-12);
  const V k = nearest_multiple(q, log2_e<T>);
  const V r = multiply_subtract(k, ln2_low<T>, multiply_subtract(k, ln2_high<T>, q));
  const V beyond = multiply_subtract(exp_near_zero(r), power_of_two(k), T(1));
  return copysign(select(a < V(T(1)), fma(a, erf_tail(a * a), a), beyond), x);
}

/// 1 - erf(x). Measured: 1.77 ULP (float), 1.88 (double), subnormal results included. jax.scipy.special.erfc.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> erfc(pack<T, N> x) {
  using V = pack<T, N>;
  // |x| < 0.78: (1 - x) - x p(x^2). Beyond: e^(-x^2) q(v) / (|x| + 1/2) with v = (|x| - c) / (|x| + c), as in M. Shepherd and J. Laframboise,
  // Chebyshev Approximation of (1 + 2x) exp(x^2) erfc x (1981). What x^2 and the quotient lose goes into the exponent.
  constexpr T c = std::is_same_v<T, float> ? T(2) : T(3);
  constexpr T most = std::is_same_v<T, float> ? T(10.2) : T(27.4), many = std::is_same_v<T, float> ? T(9) : T(26);
  const V a = lesser(V(most), abs(x));
  const V near = fnma(x, erf_tail(a * a), T(1) - x);
  const V b = a + c, d = a + T(0.5), d_low = a - (d - T(0.5)), both = T(1) / (b * d);
  const V r = b * both, v = (a - c) * d * both, lost = fnma(r, d_low, fnma(r, d, V(T(1))));  // r = 1 / d
  two_parts<V> q;
  if constexpr (std::is_same_v<T, float>)
    q = add_in_two_parts(v, polynomial(v, -4.63819e-02f, -8.301508e-02f, 8.2024865e-02f, -2.7112927e-02f, -4.0036915e-03f, 4.3808245e-03f,
                   5.448131e-04f, -7.4796996e-04f), 6.384892e-01f);
  else
    q = add_in_two_parts(v, polynomial(v, -0.06781055306229085, -0.023781147176722486, 0.06482257935141669, -0.059636831707868265,
                   0.034154013670524376, -0.011885257453003171, 0.0012646959343119246, 0.0009443450826078586, -0.0003899163839615511,
                   -5.257903291480877e-05, 6.255098251543396e-05, 2.4699976337426517e-06, -1.0054039749737433e-05, -3.4968836519731453e-07,
                   1.740978040569912e-06, 1.4557290411728767e-07, -3.0698071457916747e-07, -3.305949088109786e-08, 4.144725676165477e-08), 0.6265040291348648);
  const V square = a * a, k = nearest_multiple(-square, log2_e<T>);
  const V unrounded = multiply_subtract(k, ln2_high<T>, -square), small = multiply_subtract(k, ln2_low<T>, lost - fma(a, a, -square));
  const V e = unrounded + small, power = e + fma(e * e, exp_tail(e), small - (e - unrounded));  // e^... - 1
  const auto [w, w_low] = two_parts<V>{r, V(T(0))} * q;
  const V beyond = scale_down(w + fma(w, power, w_low), k, -a, -many, -most);
  return select(abs(x) < V(T(0.78)), near, select(x < V(T(0)), T(2) - beyond, beyond));
}

/// The y with erf(y) = x. Measured: 1.18 ULP (float), 1.51 (double). Infinite at -1 and 1, NaN beyond. lax.erf_inv.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> erf_inv(pack<T, N> x) {
  using V = pack<T, N>;
  // With w = -log(1 - x^2): x p(w) in the middle, q(sqrt(w)) beyond, as in M. Giles, Approximating the erfinv function (GPU Computing
  // Gems, 2012). The constant terms are in two parts.
  const auto [m, e] = take_apart(fnma(x, x, V(T(1))));
  const auto [high, low] = log_in_two_parts(m - T(1), e);
  const V w = -high - low, w_low = (-high - w) - low, edge = V(std::is_same_v<T, float> ? T(4) : T(5));
  const V t = w - T(std::is_same_v<T, float> ? 1 : 1.25);
  V p;
  if constexpr (std::is_same_v<T, float>)
    p = polynomial(t, 2.4783288e-01f, 4.2507015e-03f, -2.3764062e-03f, 1.0015743e-04f, 3.824906e-05f, -4.336368e-06f,
                   -5.673616e-07f, 1.5184065e-07f, -9.588206e-09f);
  else
    p = polynomial(t, 0.2495196333255074, 0.002511685220025181, -0.0022537786154321997, 0.00014359068278557184,
                   3.115589702490102e-05, -5.045205672859985e-06, -3.125991714546597e-07, 1.275697952132847e-07, -1.2438096106459666e-09,
                   -2.7213025268185103e-09, 1.9431657963144239e-10, 4.897195620469725e-11, -7.343134302284302e-12, -6.721373720808923e-13,
                   2.1285584944372784e-13, 2.1811716960275643e-15, -5.922690583594952e-15, 7.780172317078626e-16, -2.2976874648562622e-17,
                   -2.9629511053651532e-18, 2.1001931318854793e-19);
  p = fma(t, p, multiply_add(w_low, T(0.23), std::is_same_v<T, float> ? T(-1.6524087e-08) : T(-4.680590512577558e-17)));  // 0.23 is p's slope
  V r = multiply_add(x, std::is_same_v<T, float> ? T(1.1273744106292725) : T(1.1895615771387744), x * p);
  if (any_greater(w, edge)) {
    // The root, with what it and w lose in the first order.
    const V root = sqrt(w), lost = fnma(root, root, w) + w_low, slope = T(0.5) / root;
    V s, q;
    if constexpr (std::is_same_v<T, float>) {
      s = root - T(3);
      q = multiply_add(s, polynomial(s, 1.0026624e+00f, 6.8430793e-03f, -3.445506e-03f, 1.1464792e-03f, -2.1987052e-04f, -4.621669e-05f,
                                     5.5706252e-05f, -1.4523817e-05f), multiply_add(lost, slope, -5.747386e-08f)) + 2.8328020572662354f;
    } else {
      s = root - T(4);
      q = multiply_add(s, polynomial(s, 1.0094949248867324, 0.0012536038929816082, -0.0008540437577024923, 0.00029527738632530127,
                                     -8.433749419900392e-05, 2.1340591043003337e-05, -4.579295239287179e-06, 5.857901043289653e-07,
                                     1.5696096784038566e-07, -1.705550335898454e-07, 8.406888991618537e-08, -2.7108514877174266e-08,
                                     4.218580033478228e-09, 1.2836361486906162e-09, -1.2293959209789264e-09, 4.591700544803507e-10,
                                     -7.454438610110784e-11, -1.4038290152662333e-11, 1.2685249166227805e-11, -5.062147333538778e-12,
                                     1.5167598199377284e-12, -4.788203101579585e-15, -2.450504808130604e-13, 7.88072955061998e-14,
                                     2.237891836965904e-15, -4.979348328504205e-15, 6.641294256538773e-16), multiply_add(lost, slope, 1.4115452670819007e-16)) + 3.839783581356177;
    }
    r = select(w > edge, q, r);
  }
  return copysign(select(abs(x) == V(T(1)), V(infinity_of<T>), r), x);
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent
