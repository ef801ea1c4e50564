/// nn's activations, attention and initializers, reductions of segments, beside JAX 0.10.2.

#include "flat_results.hpp"

namespace ct = cotangent;
namespace nn = ct::nn;
using namespace checks;

namespace {

/// sin(0.37 i + seed) + seed / 10
template <class A> A waves(int seed) {
  A a;
  for (ct::extent i = 0; i < a.size(); ++i) a.data()[i] = std::sin(0.37 * double(i + 1) + seed) + 0.1 * seed;
  return a;
}

constexpr auto activations = [](auto x) {
  return std::tuple(nn::relu6(x), nn::celu(x, 0.7), nn::selu(x), nn::hard_tanh(x), nn::hard_sigmoid(x), nn::hard_silu(x), nn::mish(x), nn::squareplus(x), nn::sparse_plus(x), nn::sparse_sigmoid(x),
                    nn::soft_sign(x), nn::log1mexp(ct::abs(x) + 0.1), nn::swish(x), nn::standardize(x), ct::variance(x, ct::ddof<1>), ct::std_(x, ct::axis<0>, ct::ddof<2>));
};
const ct::array<double, 7> x{-4, -1, -0.5, 0, 0.7, 1, 6.5};

}  // namespace

TEST_CASE("activations: values, derivatives at kinks, arrays") {
  check(flat(ct::jit(activations)(x)), {
      0, 0, 0, 0, 0.7, 1, 6,
      -0.69769105, -0.53224427, -0.35732084, 0, 0.7, 1, 6.5,
      -1.72589863, -1.11133074, -0.69175819, 0, 0.73549069, 1.05070099, 6.82955642,
      -1, -1, -0.5, 0, 0.7, 1, 1,
      0, 0.33333333, 0.41666667, 0.5, 0.61666667, 0.66666667, 1,
      0, -0.33333333, -0.20833333, 0, 0.43166667, 0.66666667, 6.5,
      -0.0725917407920254, -0.3034014613741089, -0.22074377465173, 0, 0.5611483776438518, 0.8650983882673103, 6.499970703939837,
      0.2360679774997898, 0.6180339887498949, 0.7807764064044151, 1, 1.4094810050208544, 1.618033988749895, 6.650367627183861,
      0, 0, 0.0625, 0.25, 0.7225, 1, 6.5,
      0, 0, 0.25, 0.5, 0.85, 1, 1,
      -0.8, -0.5, -0.3333333333333333, 0, 0.4117647058823529, 0.5, 0.8666666666666667,
      -1.6711538547080972e-02, -4.0477197392828990e-01, -7.9587036834631975e-01, -2.3521684610440912, -5.9661767918897535e-01, -4.0477197392828990e-01, -1.3612941781700387e-03,
      -0.0719448398483662, -0.2689414213699951, -0.1887703343990727, 0, 0.4677314405177163, 0.7310585786300049, 6.490242315331209,
      -1.4986481528596944, -0.4735142372227698, -0.3026585846166158, -0.1318029320104617, 0.107394981638154, 0.2099083732018464, 2.089320551869541,
      9.991428571428571, 3.462616681891642});
  const auto total = [](auto x) { return std::apply([](const auto&... r) { return (ct::sum(r) + ...); }, activations(x)); };
  check(flat(std::tuple(ct::jit(ct::grad(total))(x))), {-1.7102268415393582, 2.086788437006052, 3.6158429567677306, 17.382247748955706, 10.0429598140487, 9.99021809246977, 9.44728141701027});
  check(flat(std::tuple(nn::mish(x), nn::logmeanexp(x), nn::glu(ct::array<double, 4>{1, 2, 3, 4}))),
        {-0.0725917407920254, -0.3034014613741089, -0.22074377465173, 0, 0.5611483776438518, 0.8650983882673103, 6.499970703939837, 4.564149352236436, 0.9525741268224334, 1.964027580075817});
  check_derivatives(activations, std::tuple(ct::array<double, 5>{-3.7, -0.8, 0.45, 2.2, 7.1}));
  check_derivatives([](auto x) { return std::tuple(nn::glu(x, ct::axis<0>), nn::standardize(x, ct::axis<0, 1>), nn::logmeanexp(x, ct::axis<0>)); }, std::tuple(waves<ct::array<double, 4, 3>>(1)));
}

TEST_CASE("attention: options, shared heads, derivatives") {
  const auto q = waves<ct::array<double, 2, 5, 4, 3>>(1);
  const auto k = waves<ct::array<double, 2, 6, 2, 3>>(2), v = waves<ct::array<double, 2, 6, 2, 3>>(3);
  const auto b = waves<ct::array<double, 4, 5, 6>>(4);
  const ct::array<int, 2> queries{5, 3}, keys{4, 6};
  ct::array<bool, 2, 1, 1, 6> m;
  for (int i = 0; i < 12; ++i) m.data()[i] = i % 5 != 1;
  const auto f = [](auto q, auto k, auto v, auto b, auto m, auto queries, auto keys) {
    const auto total = [](auto x) { return ct::sum(ct::sin(x)); };
    return std::tuple(total(nn::dot_product_attention(q, k, v)), total(nn::dot_product_attention(q, k, v, nn::causal)), total(nn::dot_product_attention(q, k, v, nn::bias(b), nn::scale(0.3))),
                      total(nn::dot_product_attention(q, k, v, nn::mask(m), nn::causal, nn::bias(b))), total(nn::dot_product_attention(q, k, v, nn::query_seq_lengths(queries), nn::key_value_seq_lengths(keys))),
                      total(nn::dot_product_attention(q, k, v, nn::local_window<1, 2>)), total(nn::dot_product_attention(q(0), k(0), v(0))));
  };
  // JAX's softmax is in float.
  check(flat(ct::jit(f)(q, k, v, b, m, queries, keys)), {35.06082253029423, 9.070935980813505, 33.77865185233184, 22.086952001115225, 17.717531585720515, 35.73370736928738, 17.17368437877866}, 1e-6);
  const auto squares = ct::jit([](auto q, auto k, auto v, auto b, auto m) {
    const auto g = ct::grad([](auto q, auto k, auto v, auto b, auto m) { return ct::sum(ct::sin(nn::dot_product_attention(q, k, v, nn::mask(m), nn::causal, nn::bias(b)))); }, ct::wrt<0, 1, 2, 3>)(q, k, v, b, m);
    return std::apply([](const auto&... x) { return std::tuple(ct::sum(x * x)...); }, g);
  })(q, k, v, b, m);
  check(flat(squares), {7.708779361837353, 7.480279738632742, 323.7874917525312, 26.62186889431514}, 1e-6);
  CHECK(double(ct::array<double>(ct::sum(nn::dot_product_attention(q, k, v, nn::causal, nn::bias(b))))) == Approx(9.00374805774183).epsilon(1e-6));
  check_derivatives([](auto q, auto k, auto v) { return nn::dot_product_attention(q, k, v, nn::causal); },
                    std::tuple(waves<ct::array<double, 4, 2, 3>>(1), waves<ct::array<double, 5, 1, 3>>(2), waves<ct::array<double, 5, 1, 3>>(3)));
  // Run-time numbers of sequences, queries and keys: as the static ones.
  const auto same_heads = waves<ct::array<double, 2, 6, 4, 3>>(5);
  using any = ct::array<double, ct::dyn, ct::dyn, 4, 3>;
  const auto attend = [](auto q, auto k, auto v) { return nn::dot_product_attention(q, k, v); };
  check_close(tensors_of(ct::jit(attend)(any(q), any(same_heads), any(same_heads))), tensors_of(ct::jit(attend)(q, same_heads, same_heads)), 1e-12);
}

TEST_CASE("segments") {
  const ct::array<int, 7> ids{0, 2, 0, -1, 2, 5, 0};
  check(flat(std::tuple(ct::segment_sum<3>(x, ids), ct::segment_max<3>(x, ids), ct::segment_prod<3>(x, ids))), {2, 0, -0.3, 6.5, -INFINITY, 0.7, 13, 1, -0.7});
  CHECK(ct::array<int, 3>(ct::segment_min<3>(ct::array<int, 7>{1, 2, 3, 4, 5, 6, 7}, ids)) == ct::array<int, 3>{1, 2147483647, 2});
  CHECK(ct::array<std::int64_t, 2>(ct::segment_max<2>(ct::array<std::int64_t, 2>{7, -9}, ct::array<std::int64_t, 2>{1, 1})) == ct::array<std::int64_t, 2>{std::numeric_limits<std::int64_t>::min(), 7});
  check_derivatives([](auto x) {
    const ct::array<int, 4> rows{1, 0, 1, 3}, columns{2, 2, 0, 1};
    return std::tuple(ct::segment_sum<2>(x, rows), ct::segment_max<3>(x, columns), ct::segment_min<2>(x, rows));
  }, std::tuple(waves<ct::array<double, 4, 3>>(2)));
  // Against a loop, of a run-time number of rows, with ids of two axes.
  const auto sums = ct::jit([](auto x, auto ids) { return std::tuple(ct::segment_sum<5>(x, ids), ct::segment_sum<5>(ct::reshape<ct::dyn, 3>(x), ct::ravel(ids))); });
  for (ct::extent n : {0, 1, 300}) {
    ct::array<double, ct::dyn, 2, 3> x({n, 2, 3});
    ct::array<int, ct::dyn, 2> ids({n, 2});
    ct::array<double, 5, 3> want;
    for (ct::extent i = 0; i < n; ++i)
      for (int j = 0; j < 2; ++j) {
        const int id = ids(i, j) = int((7 * i + 3 * j) % 8) - 1;
        for (int k = 0; k < 3; ++k) {
          x(i, j, k) = std::sin(double(i + 10 * j + 100 * k));
          if (id >= 0 && id < 5) want(id, k) += x(i, j, k);
        }
      }
    const auto [two, one] = sums(x, ids);
    check_close(tensors_of(two), tensors_of(want), 1e-13);
    check_close(tensors_of(one), tensors_of(want), 1e-13);
  }
}

TEST_CASE("orthogonal matrices") {
  check(flat(std::tuple(nn::initializers::orthogonal<float, 3, 2>(ct::random::key(0)), nn::initializers::orthogonal<float, 2, 3>(ct::random::key(0), 2.0))),
        {0.96083665, 0.18604839, -0.25675002, 0.3188112, 0.10427104, -0.92937905, 1.9216733, -0.51350003, 0.20854208, 0.37209678, 0.6376224, -1.8587581}, 1e-6);
  const ct::array<double, 2, 3, 4> w = nn::initializers::orthogonal<double, 2, 3, 4>(ct::random::key(3));
  const ct::array<double, 4, 4> gram = ct::einsum<"abi,abj->ij">(w, w);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) CHECK(gram(i, j) == Approx(i == j).margin(1e-14));
}
