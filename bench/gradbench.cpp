/// Problems of the ADBench and GradBench suites (Šrajer, Kukelova and Fitzgibbon, "A benchmark of selected algorithmic
/// differentiation tools on some problems in computer vision and machine learning", 2018; github.com/gradbench/gradbench),
/// in double, against derivatives by hand: scalar code, and the same code on vectors of 8 instances.
///
/// BA, bundle adjustment: the sparse Jacobian of reprojection errors. A camera is rotation vector, center, focal length,
/// principal point and two radial distortions; a residual is w (projection - feature), and 1 - w^2 for the weight.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include <cotangent/cotangent.hpp>

#include "harness.hpp"

namespace {

namespace ct = cotangent;

// ---- bundle adjustment ----

/// x turned about the vector r by its length: the formula of Rodrigues, to first order for r = 0.
constexpr auto rotated = [](auto r, auto x) {
  const auto squares = ct::sum(r * r);
  const auto turns = squares > 0;
  const auto angle = ct::sqrt(ct::where(turns, squares, 1.0)), c = ct::cos(angle), s = ct::sin(angle);
  const auto w = r / angle;
  return ct::where(turns, x * c + ct::cross(w, x) * s + w * (ct::dot(w, x) * (1.0 - c)), x + ct::cross(r, x));
};
constexpr auto projected = [](auto camera, auto x) {
  const auto r = ct::slice<ct::range<0, 3>>(camera), center = ct::slice<ct::range<3, 6>>(camera), principal = ct::slice<ct::range<7, 9>>(camera);
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

typedef double lanes __attribute__((vector_size(64)));
#if defined(__AVX512F__) && defined(__linux__)
extern "C" lanes _ZGVeN8v_sin(lanes);
extern "C" lanes _ZGVeN8v_cos(lanes);
lanes sine(lanes x) { return _ZGVeN8v_sin(x); }
lanes cosine(lanes x) { return _ZGVeN8v_cos(x); }
#else
lanes sine(lanes x) { for (int i = 0; i < 8; ++i) x[i] = std::sin(x[i]); return x; }
lanes cosine(lanes x) { for (int i = 0; i < 8; ++i) x[i] = std::cos(x[i]); return x; }
#endif
[[gnu::always_inline]] inline lanes root(lanes x) { for (int i = 0; i < 8; ++i) x[i] = std::sqrt(x[i]); return x; }
[[gnu::always_inline]] inline double sine(double x) { return std::sin(x); }
[[gnu::always_inline]] inline double cosine(double x) { return std::cos(x); }
[[gnu::always_inline]] inline double root(double x) { return std::sqrt(x); }

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

  ba_problem() {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> uniform(0, 1);
    for (double& x : cameras) x = 0.3 * uniform(random);  // every point lies in front
    for (double& x : points) x = 2 + uniform(random);
    for (double& x : w) x = uniform(random);
    for (double& x : features) x = uniform(random);
    for (ct::extent i = 0; i < N; ++i) camera_of(i) = std::int32_t(random() % Cameras), point_of(i) = std::int32_t(random() % Points);
  }

  /// Lanes of V at a time; the observations left over one by one.
  template <class V> [[gnu::noinline]] void by_hand() {
    constexpr int width = sizeof(V) / sizeof(double);
    ct::extent i = 0;
    for (; i + width <= N; i += width) rows<V, width>(i);
    for (; i < N; ++i) rows<double, 1>(i);
  }
  auto ours() const { return ct::jit(ba_jacobian)(cameras, points, w, features, camera_of, point_of); }
  template <class Result> void ours_into(Result& result) const { ct::jit(ba_jacobian).into(result)(cameras, points, w, features, camera_of, point_of); }

  /// The largest difference from what the program gives, relative to the largest element.
  template <class Result> double difference(const Result& result) const {
    double most = 0, scale = 0;
    const auto look = [&](const auto& a, const auto& b) {
      for (ct::extent i = 0; i < a.size(); ++i) {
        most = std::max(most, std::abs(a.data()[i] - b.data()[i]));
        scale = std::max(scale, std::abs(b.data()[i]));
      }
    };
    const auto& [jacobian, weight] = result;
    look(std::get<0>(jacobian), by_camera), look(std::get<1>(jacobian), by_point), look(std::get<2>(jacobian), by_w), look(weight, of_weight);
    return most / scale;
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

template <ct::extent Cameras, ct::extent Points, ct::extent N> void add_ba(const char* name) {
  using problem = ba_problem<Cameras, Points, N>;
  const auto with = [=](const char* baseline, auto by_hand) {
    bench::compare("gradbench", name, 1, baseline, [=] {
      const auto p = std::make_shared<problem>();
      const auto result = std::make_shared<decltype(p->ours())>(p->ours());
      by_hand(*p);
      if (const double d = p->difference(*result); !(d <= 1e-10)) {
        std::fprintf(stderr, "gradbench: %s: the two sides differ by %g of the largest element\n", name, d);
        std::exit(1);
      }
      return bench::sides{[=] { p->ours_into(*result); }, [=] { by_hand(*p); }};
    }, 21);
  };
  with("hand-written, scalar", [](problem& p) { p.template by_hand<double>(); });
  with("hand-written, vectors", [](problem& p) { p.template by_hand<lanes>(); });
}

}  // namespace

int main(int argc, char** argv) {
  bench::init(argc, argv);
  ct::set_num_threads(1);
  add_ba<49, 7776, 31843>("BA 1: 49 cameras, 7,776 points, 31,843 observations");
  add_ba<1197, 126327, 1091386>("BA 10: 1,197 cameras, 126,327 points, 1,091,386 observations");
  return bench::run(argc, argv);
}
