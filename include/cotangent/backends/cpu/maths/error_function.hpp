#pragma once
/// erf.

#include <cotangent/backends/cpu/maths/logarithm.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

/// Measured: 1.16 ULP (float), 1.38 (double). erf(-0) = -0, 1 in magnitude beyond 3.92 (float) and 5.92 (double). jax.scipy.special.erf.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> erf(pack<T, N> x) {
  using V = pack<T, N>;
  // |x| < 1: x + x p(x^2). Beyond: 1 - e^q(x), q a fit of log erfc.
  const V a = lesser(V(std::is_same_v<T, float> ? T(4) : T(6)), abs(x));
  const V z = a * a;
  V p, q;
  if constexpr (std::is_same_v<T, float>) {
    p = polynomial(z, 1.2837917e-01f, -3.7612626e-01f, 1.1283579e-01f, -2.6853347e-02f, 5.1871645e-03f, -7.9978845e-04f, 7.807045e-05f);
    q = polynomial(a, -3.415816e-04f, -1.1270889e+00f, -6.381453e-01f, -1.0310625e-01f, 2.1837806e-02f, -2.94759e-03f, 1.8637191e-04f);
  } else {
    p = polynomial(z, 0.1283791670955126, -0.376126389031841, 0.1128379167097118, -0.026866170648050112, 0.005223977652773846,
                   -0.0008548328528603936, 0.00012055385373607631, -1.4926847000136948e-05, 1.6480263426262993e-06,
                   -1.654616332335619e-07, 1.5923045480920873e-08, -1.605573583820587e-09, 1.3555086633466904e-10);
    q = polynomial(a, -4.3981594189127943e-07, -1.1283746738841958, -0.6366411155971576, -0.1027100889780416, 0.019002306500399597,
                   0.0003944596286725489, -0.0018996367916015095, 0.0007579427285261772, -0.00012732174737621399, -2.395950342196092e-05,
                   2.420680197941856e-05, -9.071562189210568e-06, 2.2265099798901377e-06, -3.8863863448376623e-07, 4.8299103925289055e-08,
                   -4.090639540359164e-09, 2.1240034605774188e-10, -5.110248166309932e-12);
  }
  const V k = nearest_multiple(q, log2_e<T>);
  const V r = multiply_subtract(k, ln2_low<T>, multiply_subtract(k, ln2_high<T>, q));
  const V beyond = multiply_subtract(exp_near_zero(r), power_of_two(k), T(1));
  return copysign(select(a < V(T(1)), fma(a, p, a), beyond), x);
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent
