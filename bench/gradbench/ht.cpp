/// HT, hand tracking: the Jacobian of the distances of points from a hand's surface, [n, 3], by the hand's 26 parameters (rotation
/// vector, translation, 4 angles of each finger) and by the 2 barycentric coordinates of each point ("complicated"). The hand is
/// a skinned mesh of 22 bones: wrist, 5 fingers of 4 bones, forearm. As in ADBench, every vertex of the model is moved. The big
/// model has 10,000 vertices and 1,084 triangles. By hand it is written as ADBench's manual derivative is, where every bone moves every
/// vertex, and so that only what is not zero is computed. bench/meson.build compiles this file once for each number of points, HT_POINTS.

#include "problems.hpp"

namespace gradbench {
namespace {

/// The rotation by a vector's length about it, [3, 3].
constexpr auto rotation = [](auto r) {
  const auto angle = ct::sqrt(ct::sum(r * r));
  const auto w = r / angle;
  const auto x = w(ct::index<0>), y = w(ct::index<1>), z = w(ct::index<2>);
  const auto K = ct::reshape<3, 3>(ct::stack<0>(0.0 * x, -z, y, z, 0.0 * x, -x, -y, x, 0.0 * x));
  return ct::eye<double, 3>() + ct::sin(angle) * K + (1.0 - ct::cos(angle)) * ct::matmul(K, K);
};
/// A rotation about an axis, [4, 4].
constexpr auto about_x = [](auto angle) {
  const auto c = ct::cos(angle), s = ct::sin(angle), zero = 0.0 * angle, one = zero + 1.0;
  return ct::reshape<4, 4>(ct::stack<0>(one, zero, zero, zero, zero, c, -s, zero, zero, s, c, zero, zero, zero, zero, one));
};
constexpr auto about_z = [](auto angle) {
  const auto c = ct::cos(angle), s = ct::sin(angle), zero = 0.0 * angle, one = zero + 1.0;
  return ct::reshape<4, 4>(ct::stack<0>(c, -s, zero, zero, s, c, zero, zero, zero, zero, one, zero, zero, zero, zero, one));
};
/// The bones of one finger [4, 4, 4] from its 4 angles and its bones at rest, each relative to the one before.
constexpr auto finger = [](auto angles, auto relative, auto wrist) {
  const auto first = ct::matmul(wrist, relative(ct::index<0>));
  const auto second = ct::matmul(ct::matmul(ct::matmul(first, relative(ct::index<1>)), about_z(angles(ct::index<1>))), about_x(angles(ct::index<0>)));
  const auto third = ct::matmul(ct::matmul(second, relative(ct::index<2>)), about_x(angles(ct::index<2>)));
  const auto fourth = ct::matmul(ct::matmul(third, relative(ct::index<3>)), about_x(angles(ct::index<3>)));
  return ct::stack<0>(first, second, third, fourth);
};
/// Where the bones [22, 3, 4] move a point [4], with weights [22].
constexpr auto skinned = [](auto bones, auto weights, auto point) { return ct::matmul(ct::einsum<"b,bik->ik">(weights, bones), point); };
/// All vertices [V, 3].
constexpr auto vertices = [](auto theta, auto relative, auto inverse_base, auto weights, auto base) {
  const auto wrist = relative(ct::index<0>), forearm = ct::matmul(wrist, relative(ct::index<21>));
  const auto fingers = ct::vmap(finger, ct::in_axes<0, 0, ct::none>)(
      ct::reshape<5, 4>(ct::slice<ct::range<6, 26>>(theta)), ct::reshape<5, 4, 4, 4>(ct::slice<ct::range<1, 21>>(relative)), wrist);
  const auto absolute = ct::concatenate<0>(ct::expand_dims<0>(wrist), ct::reshape<20, 4, 4>(fingers), ct::expand_dims<0>(forearm));
  const auto bones = ct::slice<ct::full_extent, ct::range<0, 3>>(ct::matmul(absolute, inverse_base));
  const auto moved = ct::vmap(skinned, ct::in_axes<ct::none, 0, 0>)(bones, weights, base);
  return ct::matmul(moved, ct::transpose(rotation(ct::slice<ct::range<0, 3>>(theta)))) + ct::slice<ct::range<3, 6>>(theta);
};
/// A point minus the one of a triangle [3, 3] with barycentric coordinates u.
constexpr auto distance = [](auto triangle, auto u, auto point) {
  const auto a = u(ct::index<0>), b = u(ct::index<1>);
  return point - (a * triangle(ct::index<0>) + b * triangle(ct::index<1>) + (1.0 - a - b) * triangle(ct::index<2>));
};
constexpr auto jacobian = [](auto theta, auto us, auto corners, auto points, auto relative, auto inverse_base, auto weights, auto base) {
  const auto triangles = [=](auto t) { return ct::take<0>(vertices(t, relative, inverse_base, weights, base), corners); };  // [n, 3, 3]
  const auto distances = [=](auto t) { return ct::vmap(distance)(triangles(t), us, points); };
  return std::tuple(ct::jacfwd(distances)(theta), ct::vmap(ct::jacfwd(distance, ct::wrt<1>))(triangles(theta), us, points));
};

/// The upper 3 rows of a 4 x 4 matrix whose last row is 0 0 0 1, or of a derivative of one.
struct affine {
  double m[3][4];
  /// this * b; `last` is b's last element, 0 for a derivative.
  affine times(const affine& b, double last = 1) const {
    affine r;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 4; ++j) r.m[i][j] = m[i][0] * b.m[0][j] + m[i][1] * b.m[1][j] + m[i][2] * b.m[2][j] + (j == 3 ? m[i][3] * last : 0);
    return r;
  }
};

template <int N, int V = 10000, int Triangles = 1084> struct ht {
  ct::array<double, 26> theta;
  ct::array<double, N, 2> us;
  ct::array<std::int32_t, N, 3> corners;
  ct::array<double, N, 3> points;
  ct::array<double, 22, 4, 4> relative, inverse_base;
  ct::array<double, V, 22> weights;
  ct::array<double, V, 4> base;
  ct::array<double, N, 3, 26> by_theta;
  ct::array<double, N, 3, 2> by_us;
  std::tuple<ct::array<double, N, 3, 26>, ct::array<double, N, 3, 2>> result;

  ht() {
    source s;
    s.uniform(-0.4, 0.4, theta);
    s.uniform(0, 0.5, us);
    s.uniform(-1, 1, points, base);
    for (int v = 0; v < V; ++v) {  // a vertex belongs to the wrist and two bones of a finger
      const int f = s.index(5), b = s.index(3);
      double w[3], total = 0;
      for (double& x : w) total += x = 1 + s.index(100);
      weights(v, 0) = w[0] / total, weights(v, 1 + 4 * f + b) = w[1] / total, weights(v, 2 + 4 * f + b) = w[2] / total;
      base(v, 3) = 1;
    }
    std::vector<std::int32_t> triangles(3 * Triangles);
    for (auto& t : triangles) t = s.index(V);
    for (int i = 0; i < N; ++i) {
      const int t = s.index(Triangles);
      for (int k = 0; k < 3; ++k) corners(i, k) = triangles[std::size_t(3 * t + k)];
    }
    affine absolute[22];
    for (int b = 0; b < 22; ++b) {
      ct::array<double, 3> r, shift;
      s.uniform(-0.5, 0.5, r, shift);
      double R[3][3], by[3][3][3];
      rotation_by_hand(r.data(), R, by);
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) relative(b, i, j) = R[i][j];
        relative(b, i, 3) = shift(i);
      }
      relative(b, 3, 3) = inverse_base(b, 3, 3) = 1;
      absolute[b] = b == 0 ? at_rest(b) : absolute[b % 4 == 1 ? 0 : b - 1].times(at_rest(b));
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) inverse_base(b, i, j) = absolute[b].m[j][i], inverse_base(b, i, 3) -= absolute[b].m[j][i] * absolute[b].m[j][3];
      }
    }
  }

  void ours() { ct::jit(jacobian).into(result)(theta, us, corners, points, relative, inverse_base, weights, base); }
  double difference() const {
    return std::max(gradbench::difference(numbers(std::get<0>(result)), numbers(by_theta)), gradbench::difference(numbers(std::get<1>(result)), numbers(by_us)));
  }
  /// Of a sum of all distances with weights.
  double slope_error() {
    ct::array<double, 26> g;
    ct::array<double, N, 2> gu;
    const auto weight = [](int i) { return std::sin(i + 1.0); };
    for (int i = 0; i < 3 * N; ++i) {
      for (int a = 0; a < 26; ++a) g(a) += weight(i) * by_theta.data()[26 * i + a];
      for (int k = 0; k < 2; ++k) gu(i / 3, k) += weight(i) * by_us.data()[2 * i + k];
    }
    const auto value = [&] {
      static std::vector<vertex> moved(V);
      move(moved.data());
      double sum = 0;
      for (int i = 0; i < N; ++i)
        for (int j = 0; j < 3; ++j) {
          double d = points(i, j);
          const double u[3] = {us(i, 0), us(i, 1), 1 - us(i, 0) - us(i, 1)};
          for (int k = 0; k < 3; ++k) d -= u[k] * moved[std::size_t(corners(i, k))].at[j];
          sum += weight(3 * i + j) * d;
        }
      return sum;
    };
    return gradbench::slope_error(value, {{numbers(theta), numbers(g)}, {numbers(us), numbers(gu)}});
  }

  // ---- by hand ----

  struct vertex { double at[3], by[3][26]; };

  affine at_rest(int b) const { affine a; std::copy_n(&relative(b, 0, 0), 12, &a.m[0][0]); return a; }
  affine inverse_at_rest(int b) const { affine a; std::copy_n(&inverse_base(b, 0, 0), 12, &a.m[0][0]); return a; }
  /// R = 1 + sin K + (1 - cos) K^2 for the unit axis' cross product K, and dR / dr_k.
  static void rotation_by_hand(const double* r, double (&R)[3][3], double (&by)[3][3][3]) {
    const double angle = std::sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), c = std::cos(angle), s = std::sin(angle);
    const double w[3] = {r[0] / angle, r[1] / angle, r[2] / angle};
    const auto cross = [](const double* a, int i, int j) { return i == j ? 0.0 : (j == (i + 1) % 3 ? -1 : 1) * a[3 - i - j]; };
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        R[i][j] = (i == j ? c : 0) + s * cross(w, i, j) + (1 - c) * w[i] * w[j];
        for (int k = 0; k < 3; ++k) {
          const double dw[3] = {((k == 0) - w[0] * w[k]) / angle, ((k == 1) - w[1] * w[k]) / angle, ((k == 2) - w[2] * w[k]) / angle};
          by[k][i][j] = (i == j ? -s * w[k] : 0) + c * w[k] * cross(w, i, j) + s * cross(dw, i, j) + s * w[k] * w[i] * w[j] +
                        (1 - c) * (dw[i] * w[j] + w[i] * dw[j]);
        }
      }
  }
  /// A bone's own rotation, and its derivatives.
  static void bend_by_hand(double x, double z, affine& r, affine& by_x, affine& by_z) {
    const double cx = std::cos(x), sx = std::sin(x), cz = std::cos(z), sz = std::sin(z);
    r = {{{cz, -sz * cx, sz * sx, 0}, {sz, cz * cx, -cz * sx, 0}, {0, sx, cx, 0}}};
    by_x = {{{0, sz * sx, sz * cx, 0}, {0, -cz * sx, -cz * cx, 0}, {0, cx, -sx, 0}}};
    by_z = {{{-sz, -cz * cx, cz * sx, 0}, {cz, -sz * cx, sz * sx, 0}, {0, 0, 0, 0}}};
  }
  struct pose {
    double R[3][3], by_r[3][3][3];
    affine bone[22], by_angle[5][4][3];  // the latter turned, of bones 1 to 3 of each finger
  };
  pose posed() const {
    pose p;
    auto& [R, by_r, bone, by_angle] = p;
    rotation_by_hand(theta.data(), R, by_r);
    const affine turn{{{R[0][0], R[0][1], R[0][2], 0}, {R[1][0], R[1][1], R[1][2], 0}, {R[2][0], R[2][1], R[2][2], 0}}};
    const affine wrist = at_rest(0);
    bone[0] = wrist.times(inverse_at_rest(0)), bone[21] = wrist.times(at_rest(21)).times(inverse_at_rest(21));
    for (int f = 0; f < 5; ++f) {
      const double* a = &theta(6 + 4 * f);
      affine at = wrist.times(at_rest(1 + 4 * f)), by[4];
      bone[1 + 4 * f] = at.times(inverse_at_rest(1 + 4 * f));
      for (int k = 1; k < 4; ++k) {
        affine own, by_x, by_z;
        const affine rest = at_rest(1 + 4 * f + k), inverse = inverse_at_rest(1 + 4 * f + k), before = at.times(rest);
        bend_by_hand(k == 1 ? a[0] : a[k], k == 1 ? a[1] : 0, own, by_x, by_z);
        for (int i = 0; i < k && k > 1; ++i) by[i] = by[i].times(rest).times(own);
        if (k == 1) by[0] = before.times(by_x, 0), by[1] = before.times(by_z, 0);
        else by[k] = before.times(by_x, 0);
        at = before.times(own);
        bone[1 + 4 * f + k] = at.times(inverse);
        for (int i = 0; i <= k; ++i) by_angle[f][i][k - 1] = turn.times(by[i].times(inverse), 0);
      }
    }
    return p;
  }
  /// All vertices and their derivatives: a finger's angles move at most 3 bones, and a vertex belongs to few.
  void move(vertex* out) const {
    const auto [R, by_r, bone, by_angle] = posed();
    for (int v = 0; v < V; ++v) {
      const double* b = &base(v, 0);
      double p[3] = {};
      vertex& o = out[v];
      for (int i = 0; i < 3; ++i) std::fill_n(o.by[i], 26, 0.0), o.by[i][3 + i] = 1;
      for (int k = 0; k < 22; ++k)
        if (const double w = weights(v, k); w != 0) {
          const auto& m = bone[k].m;
          for (int i = 0; i < 3; ++i) p[i] += w * (m[i][0] * b[0] + m[i][1] * b[1] + m[i][2] * b[2] + m[i][3] * b[3]);
          const int f = (k - 1) / 4, j = (k - 1) % 4;
          if (k > 0 && k < 21 && j > 0)
            for (int a = 0; a <= j; ++a) {
              const auto& d = by_angle[f][a][j - 1].m;
              for (int i = 0; i < 3; ++i) o.by[i][6 + 4 * f + a] += w * (d[i][0] * b[0] + d[i][1] * b[1] + d[i][2] * b[2] + d[i][3] * b[3]);
            }
        }
      for (int i = 0; i < 3; ++i) {
        o.at[i] = R[i][0] * p[0] + R[i][1] * p[1] + R[i][2] * p[2] + theta(3 + i);
        for (int k = 0; k < 3; ++k) o.by[i][k] = by_r[k][i][0] * p[0] + by_r[k][i][1] * p[1] + by_r[k][i][2] * p[2];
      }
    }
  }
  [[gnu::noinline]] void by_hand() {
    static std::vector<vertex> moved(V);
    move(moved.data());
    for (int i = 0; i < N; ++i) {
      const double a = us(i, 0), b = us(i, 1), c = 1 - a - b;
      const vertex &p = moved[std::size_t(corners(i, 0))], &q = moved[std::size_t(corners(i, 1))], &r = moved[std::size_t(corners(i, 2))];
      double* to = &by_theta.data()[78 * i];
      for (int j = 0; j < 3; ++j) {
        for (int k = 0; k < 26; ++k) to[26 * j + k] = -(a * p.by[j][k] + b * q.by[j][k] + c * r.by[j][k]);
        by_us.data()[6 * i + 2 * j] = r.at[j] - p.at[j], by_us.data()[6 * i + 2 * j + 1] = r.at[j] - q.at[j];
      }
    }
  }

  /// Every bone moves every vertex, and so do its derivatives by each angle of its finger, in arrays [3][V] that loops over vertices go through.
  [[gnu::noinline]] void by_hand_of_all_bones() {
    static std::vector<double> planes(3 * V * 21), columns(4 * V), weight(V);
    const auto [R, by_r, bone, by_angle] = posed();
    std::fill(planes.begin(), planes.end(), 0.0);
    for (int v = 0; v < V; ++v)
      for (int k = 0; k < 4; ++k) columns[std::size_t(k * V + v)] = base(v, k);
    const double *x = columns.data(), *y = x + V, *z = y + V, *one = z + V;
    const auto add = [&](const affine& a, double* to) {
      for (int i = 0; i < 3; ++i)
        for (int v = 0; v < V; ++v) to[i * V + v] += (a.m[i][0] * x[v] + a.m[i][1] * y[v] + a.m[i][2] * z[v] + a.m[i][3] * one[v]) * weight[std::size_t(v)];
    };
    for (int k = 0; k < 22; ++k) {
      for (int v = 0; v < V; ++v) weight[std::size_t(v)] = weights(v, k);
      add(bone[k], planes.data());
      const int f = (k - 1) / 4, j = (k - 1) % 4;
      for (int a = 0; a <= j && j > 0 && k < 21; ++a) add(by_angle[f][a][j - 1], &planes[std::size_t(3 * V * (1 + 4 * f + a))]);
    }
    for (int n = 0; n < N; ++n) {
      const double u[3] = {us(n, 0), us(n, 1), 1 - us(n, 0) - us(n, 1)};
      const auto corner = [&](int plane, int i, int k) { return planes[std::size_t(3 * V * plane + V * i + corners(n, k))]; };
      double mean[3], own[3][3];
      for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) own[k][i] = corner(0, i, k);
      for (int i = 0; i < 3; ++i) mean[i] = u[0] * own[0][i] + u[1] * own[1][i] + u[2] * own[2][i];
      for (int i = 0; i < 3; ++i) {
        double* to = &by_theta(n, i, 0);
        for (int k = 0; k < 3; ++k) to[k] = -(by_r[k][i][0] * mean[0] + by_r[k][i][1] * mean[1] + by_r[k][i][2] * mean[2]), to[3 + k] = i == k ? -1 : 0;
        for (int a = 0; a < 20; ++a) to[6 + a] = -(u[0] * corner(1 + a, i, 0) + u[1] * corner(1 + a, i, 1) + u[2] * corner(1 + a, i, 2));
        for (int k = 0; k < 2; ++k) by_us(n, i, k) = R[i][0] * (own[2][0] - own[k][0]) + R[i][1] * (own[2][1] - own[k][1]) + R[i][2] * (own[2][2] - own[k][2]);
      }
    }
  }
};

}  // namespace

template <int Points> void add_ht() {
  const std::string name = "HT: complicated, 10,000 vertices, " + std::to_string(Points) + " points";
  add_scalar<ht<Points>>(name);
  add<ht<Points>>(name, "hand-written, every bone", [](ht<Points>& p) { p.by_hand_of_all_bones(); });
}
template void add_ht<HT_POINTS>();

}  // namespace gradbench
