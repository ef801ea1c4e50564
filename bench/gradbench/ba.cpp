/// BA, bundle adjustment: the sparse Jacobian of reprojection errors. A camera is rotation vector, center, focal length,
/// principal point and two radial distortions; a residual is w (projection - feature), and 1 - w^2 for the weight.

#include "problems.hpp"

namespace gradbench {
namespace {

/// x turned about the vector r by its length: the formula of Rodrigues, to first order for r = 0.
constexpr auto rotated = [](auto r, auto x) {
  const auto squares = ct::sum(r * r);
  const auto turns = squares > 0;
  const auto angle = ct::sqrt(ct::where(turns, squares, 1.0)), c = ct::cos(angle), s = ct::sin(angle);
  const auto w = r / angle;
  return ct::where(turns, x * c + ct::cross(w, x) * s + w * (ct::dot(w, x) * (1.0 - c)), x + ct::cross(r, x));
};
constexpr auto projected = [](auto camera, auto x) {
  const auto r = ct::slice<ct::range<0, 3>>(camera), center = ct::slice<ct::range<3, 6>>(camera);
  const auto principal = ct::slice<ct::range<7, 9>>(camera);
  const auto seen = rotated(r, x - center);
  const auto p = ct::slice<ct::range<0, 2>>(seen) / seen(ct::index<2>);
  const auto squares = ct::sum(p * p);
  const auto distortion = 1.0 + camera(ct::index<9>) * squares + camera(ct::index<10>) * squares * squares;
  return principal + p * (camera(ct::index<6>) * distortion);
};
constexpr auto residual = [](auto camera, auto x, auto w, auto feature) { return w * (projected(camera, x) - feature); };
/// Per observation the derivatives of its residual by camera [2, 11], point [2, 3] and weight [2], and of 1 - w^2.
constexpr auto ba_jacobian = [](auto cameras, auto points, auto w, auto features, auto camera_of, auto point_of) {
  const auto one = [](auto c, auto x, auto w, auto feature) {
    return std::tuple(ct::jacrev(residual, ct::wrt<0, 1, 2>)(c, x, w, feature), -2.0 * w);
  };
  return ct::vmap(one)(ct::take<0>(cameras, camera_of), ct::take<0>(points, point_of), w, features);
};

/// The same by hand for one observation, or one per lane: e[i][0..10] by the camera, [11..13] by the point, [14] by w.
template <class V> [[gnu::always_inline]] inline void ba_row(const V (&cam)[11], const V (&x)[3], V w, const V (&feature)[2], V (&e)[2][15]) {
  const V* r = cam;
  const V v[3] = {x[0] - cam[3], x[1] - cam[4], x[2] - cam[5]};
  const V angle = root(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), c = cosine(angle), s = sine(angle), inverse = 1.0 / angle;
  const V u[3] = {r[0] * inverse, r[1] * inverse, r[2] * inverse};
  const V cross[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
  const V along = u[0] * v[0] + u[1] * v[1] + u[2] * v[2], rest = 1.0 - c;
  V q[3], by_angle[3], turn[3][3], by_axis[3][3], by_r[3][3];
  const V skew_v[3][3] = {{V{}, v[2], -v[1]}, {-v[2], V{}, v[0]}, {v[1], -v[0], V{}}};  // d(u x v) / du
  const V skew_u[3][3] = {{V{}, -u[2], u[1]}, {u[2], V{}, -u[0]}, {-u[1], u[0], V{}}};  // d(u x v) / dv
  for (int i = 0; i < 3; ++i) {
    q[i] = v[i] * c + cross[i] * s + u[i] * (along * rest);
    by_angle[i] = cross[i] * c - v[i] * s + u[i] * (along * s);
    for (int j = 0; j < 3; ++j) {
      turn[i][j] = skew_u[i][j] * s + rest * u[i] * u[j];
      by_axis[i][j] = skew_v[i][j] * s + rest * u[i] * v[j];
      if (i == j) turn[i][j] += c, by_axis[i][j] += rest * along;
    }
  }
  for (int i = 0; i < 3; ++i) {  // du/dr = (1 - u u^T) / angle, d angle/dr = u
    const V axial = by_axis[i][0] * u[0] + by_axis[i][1] * u[1] + by_axis[i][2] * u[2];
    for (int j = 0; j < 3; ++j) by_r[i][j] = by_angle[i] * u[j] + (by_axis[i][j] - axial * u[j]) * inverse;
  }
  const V depth = 1.0 / q[2], p[2] = {q[0] * depth, q[1] * depth}, squares = p[0] * p[0] + p[1] * p[1];
  const V f = cam[6], distortion = 1.0 + squares * (cam[9] + squares * cam[10]), slope = 2.0 * (cam[9] + 2.0 * squares * cam[10]);
  for (int i = 0; i < 2; ++i) {
    V by_q[3];
    for (int j = 0; j < 2; ++j) {
      const V by_p = w * f * (slope * p[i] * p[j] + (i == j ? distortion : V{}));
      by_q[j] = by_p * depth;
    }
    by_q[2] = -(by_q[0] * p[0] + by_q[1] * p[1]);
    for (int j = 0; j < 3; ++j) {
      e[i][j] = by_q[0] * by_r[0][j] + by_q[1] * by_r[1][j] + by_q[2] * by_r[2][j];
      e[i][11 + j] = by_q[0] * turn[0][j] + by_q[1] * turn[1][j] + by_q[2] * turn[2][j];
      e[i][3 + j] = -e[i][11 + j];
    }
    e[i][6] = w * distortion * p[i];
    e[i][7] = i == 0 ? w : V{}, e[i][8] = i == 1 ? w : V{};
    e[i][9] = w * f * squares * p[i], e[i][10] = e[i][9] * squares;
    e[i][14] = cam[7 + i] + p[i] * (f * distortion) - feature[i];
  }
}

template <ct::extent Cameras, ct::extent Points, ct::extent N> struct ba_problem {
  ct::array<double, Cameras, 11> cameras;
  ct::array<double, Points, 3> points;
  ct::array<double, N> w;
  ct::array<double, N, 2> features;
  ct::array<std::int32_t, N> camera_of, point_of;
  ct::array<double, N, 2, 11> by_camera;
  ct::array<double, N, 2, 3> by_point;
  ct::array<double, N, 2> by_w;
  ct::array<double, N> of_weight;
  std::tuple<std::tuple<ct::array<double, N, 2, 11>, ct::array<double, N, 2, 3>, ct::array<double, N, 2>>, ct::array<double, N>> result;

  ba_problem() {
    source s;
    s.uniform(0, 0.3, cameras);  // every point lies in front
    s.uniform(2, 3, points);
    s.uniform(0, 1, w, features);
    for (ct::extent i = 0; i < N; ++i) camera_of(i) = s.index(Cameras), point_of(i) = s.index(Points);
  }

  /// Lanes of V at a time; the observations left over one by one.
  template <class V> [[gnu::noinline]] void differentiate() {
    constexpr int width = sizeof(V) / sizeof(double);
    ct::extent i = 0;
    for (; i + width <= N; i += width) rows<V, width>(i);
    for (; i < N; ++i) rows<double, 1>(i);
  }
  void by_hand() { differentiate<double>(); }
  void by_hand_on_vectors() { differentiate<lanes>(); }
  void ours() { ct::jit(ba_jacobian).into(result)(cameras, points, w, features, camera_of, point_of); }

  double difference() const {
    const auto& [jacobian, weight] = result;
    const auto& [camera, point, by_weight] = jacobian;
    return std::max({gradbench::difference(numbers(camera), numbers(by_camera)), gradbench::difference(numbers(point), numbers(by_point)),
                     gradbench::difference(numbers(by_weight), numbers(by_w)), gradbench::difference(numbers(weight), numbers(of_weight))});
  }
  /// Of the sum of all residuals, those of the weights doubled.
  double slope_error() {
    std::vector<double> camera(std::size_t(cameras.size())), point(std::size_t(points.size())), weight(N);
    for (ct::extent i = 0; i < N; ++i) {
      for (int k = 0; k < 22; ++k) camera[std::size_t(11 * camera_of(i) + k % 11)] += by_camera.data()[22 * i + k];
      for (int k = 0; k < 6; ++k) point[std::size_t(3 * point_of(i) + k % 3)] += by_point.data()[6 * i + k];
      weight[std::size_t(i)] = by_w(i, 0) + by_w(i, 1) + 2 * of_weight(i);
    }
    const auto value = [this] {
      double sum = 0, e[2][15];
      for (ct::extent i = 0; i < N; ++i) {
        double cam[11], x[3], feature[2] = {features(i, 0), features(i, 1)};
        std::copy_n(&cameras(camera_of(i), 0), 11, cam), std::copy_n(&points(point_of(i), 0), 3, x);
        ba_row(cam, x, w(i), feature, e);
        sum += w(i) * (e[0][14] + e[1][14]) + 2 * (1 - w(i) * w(i));
      }
      return sum;
    };
    return gradbench::slope_error(value, {{numbers(cameras), camera}, {numbers(points), point}, {numbers(w), weight}});
  }

 private:
  static void put(double& v, int, double x) { v = x; }
  static void put(lanes& v, int l, double x) { v[l] = x; }
  static double take(double v, int) { return v; }
  static double take(const lanes& v, int l) { return v[l]; }
  template <class V, int Width> [[gnu::always_inline]] void rows(ct::extent i) {
    V cam[11], x[3], weight, feature[2], e[2][15];
    for (int l = 0; l < Width; ++l) {
      const double *c = &cameras.data()[11 * camera_of(i + l)], *p = &points.data()[3 * point_of(i + l)];
      for (int k = 0; k < 11; ++k) put(cam[k], l, c[k]);
      for (int k = 0; k < 3; ++k) put(x[k], l, p[k]);
      for (int k = 0; k < 2; ++k) put(feature[k], l, features(i + l, k));
      put(weight, l, w(i + l));
    }
    ba_row(cam, x, weight, feature, e);
    for (int l = 0; l < Width; ++l) {
      for (int k = 0; k < 2; ++k) {
        for (int j = 0; j < 11; ++j) by_camera.data()[22 * (i + l) + 11 * k + j] = take(e[k][j], l);
        for (int j = 0; j < 3; ++j) by_point.data()[6 * (i + l) + 3 * k + j] = take(e[k][11 + j], l);
        by_w.data()[2 * (i + l) + k] = take(e[k][14], l);
      }
      of_weight.data()[i + l] = -2 * take(weight, l);
    }
  }
};

template <ct::extent Cameras, ct::extent Points, ct::extent N> void add_size(const char* name) {
  add_scalar<ba_problem<Cameras, Points, N>>(name);
  add_vectors<ba_problem<Cameras, Points, N>>(name);
}

}  // namespace

void add_ba() {
  add_size<49, 7776, 31843>("BA 1: 49 cameras, 7,776 points, 31,843 observations");
  add_size<1197, 126327, 1091386>("BA 10: 1,197 cameras, 126,327 points, 1,091,386 observations");
}

}  // namespace gradbench
