/// The library's side of ./bench/cuda/run: prints a line of JSON per program with the median milliseconds of a call, as the JAX
/// side (programs.py) does for the same programs, names and sizes.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include <cotangent/cotangent.hpp>

namespace {

namespace ct = cotangent;
using ct::extent;

double milliseconds() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The median time of a call when calls follow each other without a wait, over samples of several calls. `bytes` is what a
/// program must read and write at least, `flops` what a product of matrices must compute; 0: not told.
template <class Call> void measure(const char* name, const ct::device& d, double bytes, double flops, const Call& call) {
  call();
  d.memory().wait();
  int calls = 1;
  std::vector<double> times;
  for (int sample = 0; sample < 25; ++sample) {
    const double start = milliseconds();
    for (int k = 0; k < calls; ++k) call();
    d.memory().wait();
    const double took = milliseconds() - start;
    if (sample >= 4) times.push_back(took / calls);
    else calls = std::clamp(int(20 / (took / calls)), 1, 20000);  // samples of about 20 ms
  }
  std::nth_element(times.begin(), times.begin() + long(times.size() / 2), times.end());
  std::printf("{\"name\": \"%s\", \"ms\": %.6g, \"bytes\": %.6g, \"flops\": %.6g}\n", name, times[times.size() / 2], bytes, flops);
  std::fflush(stdout);
}

/// The same numbers in [-1, 1] on every run, and on the JAX side those of another generator: times do not depend on them.
template <class T, extent... E> ct::device_array<T, E...> numbers(const ct::device& d, double low = -1, double high = 1) {
  static std::uint64_t state = 1;
  ct::array<T, E...> a;
  for (T& x : a) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = T(low + (high - low) * double(state >> 40) / double(1 << 24));
  }
  return ct::device_put(a, d);
}

// Chains of operations on one array: a multiply-add and a tanh, in turn.
template <int Operations> struct chain {
  template <class X> constexpr auto operator()(X x) const {
    for (int k = 0; k < Operations; ++k) x = k % 2 == 0 ? x * 0.75f + 0.25f : ct::tanh(x);
    return x;
  }
};
template <int Operations> struct chain_gradient {
  template <class X> constexpr auto operator()(const X& x) const { return ct::grad([](auto v) { return ct::sum(chain<Operations>{}(v)); })(x); }
};

constexpr auto layer_norm = [](auto x) {
  const auto centered = x - ct::mean(x, ct::axis<-1>, ct::keepdims);
  return centered / ct::sqrt(ct::mean(ct::square(centered), ct::axis<-1>, ct::keepdims) + 1e-5f);
};
constexpr auto softmax = [](auto x) { return ct::nn::softmax(x); };
template <class F> struct backward {
  template <class X, class G> constexpr auto operator()(const X& x, const G& g) const { return std::get<0>(std::get<1>(ct::vjp(F{}, x))(g)); }
};

constexpr auto call_price = [](auto s, auto k, auto t, auto r, auto sigma) {
  const auto cdf = [](auto x) { return 0.5f + 0.5f * ct::erf(0.70710678f * x); };
  const auto deviation = sigma * ct::sqrt(t);
  const auto d1 = (ct::log(s / k) + (r + 0.5f * sigma * sigma) * t) / deviation;
  return s * cdf(d1) - k * ct::exp(-(r * t)) * cdf(d1 - deviation);
};
constexpr auto greeks = [](auto s, auto k, auto t, auto r, auto sigma) { return ct::value_and_grad(call_price, ct::wrt<0, 2, 3, 4>)(s, k, t, r, sigma); };

// Lorenz 63, RK4 with steps of 0.01.
constexpr auto lorenz_field = [](auto s, auto p) {
  const auto [x, y, z] = s;
  const auto [sigma, rho, beta] = p;
  return std::tuple(sigma * (y - x), x * (rho - z) - y, x * y - beta * z);
};
constexpr auto moved = [](auto s, auto by, float h) {
  const auto [x, y, z] = s;
  const auto [u, v, w] = by;
  return std::tuple(x + h * u, y + h * v, z + h * w);
};
constexpr auto lorenz = [](auto s, auto p) {
  return ct::fori_loop<0, 1000>(
      [p](auto, auto now) {
        const auto a = lorenz_field(now, p), b = lorenz_field(moved(now, a, 0.005f), p), c = lorenz_field(moved(now, b, 0.005f), p);
        const auto d = lorenz_field(moved(now, c, 0.01f), p);
        return moved(moved(moved(moved(now, a, 0.01f / 6), b, 0.01f / 3), c, 0.01f / 3), d, 0.01f / 6);
      },
      s);
};
constexpr auto lorenz_last = [](auto s, auto p) { return std::get<2>(lorenz(s, p)); };

// Bundle adjustment: the Jacobian of a residual [2] by camera [11] and point [3], per observation.
constexpr auto rotated = [](auto r, auto x) {
  const auto angle = ct::sqrt(ct::sum(r * r)), c = ct::cos(angle), s = ct::sin(angle);
  const auto w = r / angle;
  return x * c + ct::cross(w, x) * s + w * (ct::dot(w, x) * (1.0 - c));
};
constexpr auto residual = [](auto camera, auto x, auto w, auto feature) {
  const auto r = ct::slice<ct::range<0, 3>>(camera), center = ct::slice<ct::range<3, 6>>(camera);
  const auto principal = ct::slice<ct::range<7, 9>>(camera);
  const auto seen = rotated(r, x - center);
  const auto p = ct::slice<ct::range<0, 2>>(seen) / seen(ct::index<2>);
  const auto squares = ct::sum(p * p);
  const auto distortion = 1.0 + camera(ct::index<9>) * squares + camera(ct::index<10>) * squares * squares;
  return w * (principal + p * (camera(ct::index<6>) * distortion) - feature);
};
constexpr auto ba_jacobian = [](auto cameras, auto points, auto w, auto features, auto camera_of, auto point_of) {
  return ct::vmap(ct::jacrev(residual, ct::wrt<0, 1, 2>))(ct::take<0>(cameras, camera_of), ct::take<0>(points, point_of), w, features);
};

// A network 784-512-512-10 and a step of gradient descent on a batch.
constexpr auto network_loss = [](auto weights, auto x, auto y) {
  const auto [w1, b1, w2, b2, w3, b3] = weights;
  const auto hidden = ct::nn::gelu(ct::matmul(ct::nn::gelu(ct::matmul(x, w1) + b1), w2) + b2);
  return -ct::mean(ct::sum(y * ct::nn::log_softmax(ct::matmul(hidden, w3) + b3), ct::axis<-1>));
};
constexpr auto network_step = [](auto weights, auto x, auto y) {
  const auto slopes = ct::grad(network_loss)(weights, x, y);
  return std::apply([&](const auto&... w) { return std::apply([&](const auto&... g) { return std::tuple((w - 0.01f * g)...); }, slopes); }, weights);
};

constexpr auto attention = [](auto q, auto k, auto v) {
  return ct::vmap([](auto q, auto k, auto v) { return ct::matmul(ct::nn::softmax(0.125f * ct::matmul(q, ct::transpose(k))), v); })(q, k, v);
};

constexpr auto heat = [](auto u) {
  return ct::fori_loop<0, 100>(
      [](auto, auto v) {
        return v + 0.2f * (ct::roll<0>(v, 1) + ct::roll<0>(v, -1) + ct::roll<1>(v, 1) + ct::roll<1>(v, -1) - 4.0f * v);
      },
      u);
};

template <int Operations> void add_chain(const ct::device& d, const char* forward, const char* gradient) {
  constexpr extent n = extent(1) << 26;
  const auto x = numbers<float, n>(d);
  auto y = x;
  measure(forward, d, 8.0 * n, 0, [&] { ct::jit(chain<Operations>{}).into(y)(x); });
  measure(gradient, d, 8.0 * n, 0, [&] { ct::jit(chain_gradient<Operations>{}).into(y)(x); });
}

void run(const ct::device& d) {
  {
    constexpr extent n = extent(1) << 28;
    const auto x = ct::device_put(ct::zeros<float, n>(), d);
    auto y = x;
    measure("copy", d, 8.0 * n, 0, [&] { d.memory().copy(y.data(), x.data(), n * sizeof(float)); });
  }
  add_chain<4>(d, "chain of 4, forward", "chain of 4, gradient");
  add_chain<20>(d, "chain of 20, forward", "chain of 20, gradient");
  add_chain<100>(d, "chain of 100, forward", "chain of 100, gradient");
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
  {
    constexpr extent n = 1 << 24;
    const auto s = numbers<float, n>(d, 50, 150), k = numbers<float, n>(d, 50, 150), t = numbers<float, n>(d, 0.2, 2), sigma = numbers<float, n>(d, 0.1, 0.5);
    auto out = std::tuple(s, std::tuple(s, s, s, s));
    measure("Black-Scholes with gradient", d, 9 * 4.0 * n, 0, [&] { ct::jit(ct::vmap(greeks, ct::in_axes<0, 0, 0, ct::none, 0>)).into(out)(s, k, t, 0.03f, sigma); });
  }
  {
    constexpr extent n = 65536;
    const auto x = numbers<float, n>(d), y = numbers<float, n>(d), z = numbers<float, n>(d, 20, 30);
    const auto p = std::tuple(10.0f, 28.0f, 8.0f / 3);
    auto out = std::tuple(x, y, z);
    measure("Lorenz, 1000 steps", d, 0, 0, [&] { ct::jit(ct::vmap(lorenz, ct::in_axes<0, ct::none>)).into(out)(std::tie(x, y, z), p); });
    measure("Lorenz, gradient", d, 0, 0, [&] { ct::jit(ct::vmap(ct::grad(lorenz_last), ct::in_axes<0, ct::none>)).into(out)(std::tie(x, y, z), p); });
  }
  {
    constexpr extent cameras = 49, points = 7776, n = 31843;
    ct::array<std::int32_t, n> camera_of, point_of;
    for (extent i = 0; i < n; ++i) camera_of(i) = std::int32_t(i * 7919 % cameras), point_of(i) = std::int32_t(i * 31 % points);
    const auto c = numbers<double, cameras, 11>(d);
    const auto x = numbers<double, points, 3>(d, 2, 3);
    const auto w = numbers<double, n>(d);
    const auto f = numbers<double, n, 2>(d);
    const auto i = ct::device_put(camera_of, d), j = ct::device_put(point_of, d);
    auto out = ct::jit(ba_jacobian)(c, x, w, f, i, j);
    measure("BA Jacobian", d, 8.0 * n * (2 * 15 + 3) + 8.0 * n, 0, [&] { ct::jit(ba_jacobian).into(out)(c, x, w, f, i, j); });
  }
  {
    constexpr extent batch = 4096;
    auto weights = std::tuple(numbers<float, 784, 512>(d, -0.05, 0.05), numbers<float, 512>(d), numbers<float, 512, 512>(d, -0.05, 0.05), numbers<float, 512>(d),
                              numbers<float, 512, 10>(d, -0.05, 0.05), numbers<float, 10>(d));
    const auto x = numbers<float, batch, 784>(d);
    const auto y = numbers<float, batch, 10>(d, 0, 0.2);
    measure("MLP training step", d, 0, 6.0 * batch * (784 * 512 + 512 * 512 + 512 * 10), [&] { weights = ct::jit(network_step)(std::move(weights), x, y); });
  }
  {
    constexpr extent heads = 64, length = 1024, width = 64;
    const auto q = numbers<float, heads, length, width>(d), k = numbers<float, heads, length, width>(d), v = numbers<float, heads, length, width>(d);
    auto out = q;
    measure("attention", d, 0, 4.0 * heads * length * length * width, [&] { ct::jit(attention).into(out)(q, k, v); });
  }
  {
    constexpr extent side = 4096;
    const auto u = numbers<float, side, side>(d);
    auto out = u;
    measure("2-D stencil, 100 steps", d, 100 * 8.0 * side * side, 0, [&] { ct::jit(heat).into(out)(u); });
  }
  {
    const auto x = numbers<float, 512>(d);
    auto y = x;
    measure("small program", d, 0, 0, [&] { ct::jit(chain<4>{}).into(y)(x); });
  }
}

}  // namespace

int main() {
  try {
    const ct::device d = ct::devices<ct::cuda>().front();
    std::printf("{\"device\": \"%s\"}\n", d.description().c_str());
    run(d);
  } catch (const ct::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
