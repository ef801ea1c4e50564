/// Softmax and layer norm of rows, forward and backward: the result and the cotangents of the inputs. bench/meson.build compiles this
/// file once for rows of 1,024 numbers and once for rows whose length is known at run time.

#include "problems.hpp"

namespace simulation {
namespace {

constexpr auto softmax = [](auto x) { return ct::nn::softmax(x); };
constexpr auto layer_norm = [](auto x, auto gain, auto bias) {
  const auto centered = x - ct::mean(x, ct::axis<-1>, ct::keepdims);
  return centered * ct::rsqrt(ct::mean(ct::square(centered), ct::axis<-1>, ct::keepdims) + 1e-5f) * gain + bias;
};
/// The result of F and the cotangents of its inputs for that of the result.
template <auto& F> constexpr auto both_ways = [](auto cotangent, auto... x) {
  const auto [y, pullback] = ct::vjp(F, x...);
  return std::tuple(y, pullback(cotangent));
};

constexpr int rows = 16384, width = 1024;
template <ct::extent Width> using table = ct::array<float, rows, Width>;
template <ct::extent Width> using row = ct::array<float, Width>;
template <ct::extent Width> table<Width> made_table() {
  if constexpr (Width == ct::dyn) return table<Width>({rows, width});
  else return {};
}
template <ct::extent Width> row<Width> made_row() {
  if constexpr (Width == ct::dyn) return row<Width>({width});
  else return {};
}

template <ct::extent Width> struct softmax_rows {
  table<Width> x = made_table<Width>(), g = x;
  std::tuple<table<Width>, std::tuple<table<Width>>> result{x, x}, expected{x, x};

  softmax_rows() { source().normal(x, g); }
  void ours() { ct::jit(both_ways<softmax>).into(result)(g, x); }
  double difference() const {
    return std::max(simulation::difference(std::get<0>(result), std::get<0>(expected)),
                    simulation::difference(std::get<0>(std::get<1>(result)), std::get<0>(std::get<1>(expected))));
  }

  /// A row stays in the first cache; the results go past the caches.
  [[gnu::noinline]] void by_hand() {
    float *y = std::get<0>(expected).data(), *by_x = std::get<0>(std::get<1>(expected)).data();
    in_blocks(rows, 64, [&, this](std::ptrdiff_t first, std::ptrdiff_t last) {
      alignas(64) float e[width];
      for (std::ptrdiff_t r = first; r < last; ++r) {
        const float *from = x.data() + r * width, *cotangent = g.data() + r * width;
        floats most[4], sums[4] = {}, products[4] = {};
        for (int k = 0; k < 4; ++k) most[k] = load<floats>(from + 16 * k);
        for (int i = 64; i < width; i += 64)
          for (int k = 0; k < 4; ++k) most[k] = larger(most[k], load<floats>(from + i + 16 * k));
        const float largest = largest_of(larger(larger(most[0], most[1]), larger(most[2], most[3])));
        for (int i = 0; i < width; i += 64)
          for (int k = 0; k < 4; ++k) {
            const floats t = exponential(load<floats>(from + i + 16 * k) - largest);
            sums[k] += t, products[k] += t * load<floats>(cotangent + i + 16 * k);
            store(e + i + 16 * k, t);
          }
        const float scale = 1 / total((sums[0] + sums[1]) + (sums[2] + sums[3]));
        const float along = scale * total((products[0] + products[1]) + (products[2] + products[3]));
        for (int i = 0; i < width; i += 16) {
          const floats t = scale * load<floats>(e + i);
          store_once(y + r * width + i, t), store_once(by_x + r * width + i, t * (load<floats>(cotangent + i) - along));
        }
      }
    });
  }
};

template <ct::extent Width> struct layer_norm_rows {
  table<Width> x = made_table<Width>(), g = x;
  row<Width> gain = made_row<Width>(), bias = gain;
  std::tuple<table<Width>, std::tuple<table<Width>, row<Width>, row<Width>>> result{x, {x, gain, gain}}, expected{result};

  layer_norm_rows() { source().normal(x, g, gain, bias); }
  void ours() { ct::jit(both_ways<layer_norm>).into(result)(g, x, gain, bias); }
  double difference() const {
    double most = simulation::difference(std::get<0>(result), std::get<0>(expected));
    ct::tree_map([&](const auto& a, const auto& b) { return most = std::max(most, simulation::difference(a, b)); }, std::get<1>(result), std::get<1>(expected));
    return most;
  }

  /// Cotangents of gain and bias are sums of 512 rows, and then of those sums.
  [[gnu::noinline]] void by_hand() {
    constexpr int block = 512;
    static std::vector<float> sums(2 * width * rows / block);
    auto& [y, cotangents] = expected;
    auto& [by_x, by_gain, by_bias] = cotangents;
    in_blocks(rows, block, [&, this](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (std::ptrdiff_t from = first; from < last; from += block) {
        float *gains = sums.data() + 2 * width * (from / block), *biases = gains + width;
        std::fill_n(gains, 2 * width, 0.0f);
        for (std::ptrdiff_t r = from; r < from + block; ++r) one(r, gains, biases, y.data() + r * width, by_x.data() + r * width);
      }
    });
    for (int i = 0; i < width; ++i) by_gain.data()[i] = by_bias.data()[i] = 0;
    for (int b = 0; b < rows / block; ++b)
      for (int i = 0; i < width; ++i) {
        by_gain.data()[i] += sums[std::size_t(2 * b * width + i)];
        by_bias.data()[i] += sums[std::size_t((2 * b + 1) * width + i)];
      }
  }
  void one(std::ptrdiff_t r, float* gains, float* biases, float* y, float* by_x) const {
    const float *from = x.data() + r * width, *cotangent = g.data() + r * width, *weights = gain.data(), *shifts = bias.data();
    floats sum[4] = {}, squares[4] = {}, one[4] = {}, two[4] = {};
    for (int i = 0; i < width; i += 64)
      for (int k = 0; k < 4; ++k) sum[k] += load<floats>(from + i + 16 * k);
    const float mean = total((sum[0] + sum[1]) + (sum[2] + sum[3])) / width;
    for (int i = 0; i < width; i += 64)
      for (int k = 0; k < 4; ++k) {
        const floats c = load<floats>(from + i + 16 * k) - mean, w = load<floats>(cotangent + i + 16 * k) * load<floats>(weights + i + 16 * k);
        squares[k] += c * c, one[k] += w, two[k] += w * c;
      }
    const float scale = 1 / std::sqrt(total((squares[0] + squares[1]) + (squares[2] + squares[3])) / width + 1e-5f);
    const float a = total((one[0] + one[1]) + (one[2] + one[3])) / width, b = scale * total((two[0] + two[1]) + (two[2] + two[3])) / width;
    for (int i = 0; i < width; i += 16) {
      const floats c = scale * (load<floats>(from + i) - mean), d = load<floats>(cotangent + i), w = load<floats>(weights + i);
      store(gains + i, load<floats>(gains + i) + d * c), store(biases + i, load<floats>(biases + i) + d);
      store_once(y + i, c * w + load<floats>(shifts + i)), store_once(by_x + i, scale * (d * w - a - c * b));
    }
  }
};

}  // namespace

template <ct::extent Width> void add_rows() {
  const std::string size = Width == ct::dyn ? "[16384, dyn 1024]" : "[16384, 1024]";
  add<softmax_rows<Width>>("softmax " + size + ", forward and backward", 1e-5, {.bytes = 16.0 * rows * width});
  add<layer_norm_rows<Width>>("layer norm " + size + ", forward and backward", 1e-5, {.bytes = 16.0 * rows * width});
}
template void add_rows<ROWS_WIDTH>();

}  // namespace simulation
