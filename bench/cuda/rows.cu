/// Programs of rows, and sums.

#include "measure.hpp"

namespace {

constexpr auto layer_norm = [](auto x) {
  const auto centered = x - ct::mean(x, ct::axis<-1>, ct::keepdims);
  return centered / ct::sqrt(ct::mean(ct::square(centered), ct::axis<-1>, ct::keepdims) + 1e-5f);
};
constexpr auto softmax = [](auto x) { return ct::nn::softmax(x); };
template <class F> struct backward {
  template <class X, class G> constexpr auto operator()(const X& x, const G& g) const { return std::get<0>(std::get<1>(ct::vjp(F{}, x))(g)); }
};

}  // namespace

void measure_rows(const ct::device& d) {
  {
    constexpr extent rows = 32768, columns = 1024;
    const auto x = numbers<float, rows, columns>(d), g = numbers<float, rows, columns>(d);
    auto y = x;
    ct::device_array<float, rows> by_row(ct::uninitialized, d, {rows});
    ct::device_array<float, columns> by_column(ct::uninitialized, d, {columns});
    ct::device_array<float> all(ct::uninitialized, d, {});
    const double array = 4.0 * rows * columns;
    measure("softmax, forward", d, 2 * array, 0, [&] { ct::jit(softmax).into(y)(x); });
    measure("softmax, backward", d, 3 * array, 0, [&] { ct::jit(backward<decltype(softmax)>{}).into(y)(x, g); });
    measure("layer norm, forward", d, 2 * array, 0, [&] { ct::jit(layer_norm).into(y)(x); });
    measure("layer norm, backward", d, 3 * array, 0, [&] { ct::jit(backward<decltype(layer_norm)>{}).into(y)(x, g); });
    measure("sum of rows", d, array, 0, [&] { ct::jit([](auto v) { return ct::sum(v, ct::axis<1>); }).into(by_row)(x); });
    measure("sum of columns", d, array, 0, [&] { ct::jit([](auto v) { return ct::sum(v, ct::axis<0>); }).into(by_column)(x); });
    measure("sum of all", d, array, 0, [&] { ct::jit([](auto v) { return ct::sum(v); }).into(all)(x); });
  }
}
