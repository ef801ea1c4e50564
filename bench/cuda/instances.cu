/// Programs of many small instances: an ensemble of trajectories, and a Jacobian of blocks.

#include "measure.hpp"

namespace {

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

}  // namespace

void measure_instances(const ct::device& d) {
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
}
