/// Forward kinematics of an arm of 7 joints and the Jacobian of the tool's position by their angles. The links are those of Franka
/// Emika's Panda, in the convention of Denavit and Hartenberg that Craig modified.

#include "problems.hpp"

namespace simulation {
namespace {

constexpr int joints = 7;
/// From a joint to the next: along x, about x by 90 degrees or not, then along the joint's own axis; the tool is further along the last.
constexpr float lengths[joints] = {0, 0, 0, 0.0825f, -0.0825f, 0, 0.088f}, offsets[joints] = {0.333f, 0, 0.316f, 0, 0.384f, 0, 0}, tool = 0.107f;
constexpr int twists[joints] = {0, -1, 1, 1, -1, 1, 1};

/// A point in the frame of link K, in the one before it: turned about the joint's axis z, then by the twist about x.
template <int K> constexpr auto carried = [](auto angle, auto point) {
  constexpr float s = float(twists[K]);
  const auto cosine = ct::cos(angle), sine = ct::sin(angle), u = point(ct::index<0>), v = point(ct::index<1>), z = point(ct::index<2>);
  const auto x = cosine * u - sine * v, y = sine * u + cosine * v;
  if constexpr (s == 0) return ct::stack<0>(x + lengths[K], y, z + offsets[K]);
  else return ct::stack<0>(x + lengths[K], -s * (z + offsets[K]), s * y);
};
template <int K, class Q, class P> constexpr auto carried_to_base(Q q, P point) {
  const auto before = carried<K>(q(ct::index<K>), point);
  if constexpr (K == 0) return before;
  else return carried_to_base<K - 1>(q, before);
}
constexpr auto position = [](auto q, auto point) { return carried_to_base<joints - 1>(q, point); };
/// Where the tool is and how it is turned [3, 4], and the Jacobian [3, joints]. How it is turned is what its position changes by
/// when it moves in its own frame.
constexpr auto kinematics = ct::vmap([](auto q) {
  const auto at = ct::zeros_like(ct::slice<ct::range<0, 3>>(q)) + ct::array<float, 3>{0, 0, tool};
  const auto [by_angles, turned] = ct::jacrev(position, ct::wrt<0, 1>)(q, at);
  return std::tuple(ct::concatenate<1>(turned, ct::expand_dims<1>(position(q, at))), by_angles);
});

struct arm {
  static constexpr ct::extent n = 1000000;
  using frames = ct::array<float, n, 3, 4>;
  using jacobians = ct::array<float, n, 3, joints>;
  ct::array<float, n, joints> q;
  std::tuple<frames, jacobians> result, expected;

  arm() { source().uniform(-2, 2, q); }
  void ours() { ct::jit(kinematics).into(result)(q); }
  double difference() const {
    return std::max(simulation::difference(std::get<0>(result), std::get<0>(expected)), simulation::difference(std::get<1>(result), std::get<1>(expected)));
  }

  struct vector { floats x, y, z; };
  [[gnu::always_inline]] static vector sum(floats a, const vector& u, floats b, const vector& v) {
    return {a * u.x + b * v.x, a * u.y + b * v.y, a * u.z + b * v.z};
  }
  [[gnu::always_inline]] static void move(vector& p, float by, const vector& u) { if (by != 0) p = {p.x + by * u.x, p.y + by * u.y, p.z + by * u.z}; }

  /// The geometric Jacobian, axis x (tool - joint), of 16 arms at a time.
  [[gnu::noinline]] void by_hand() {
    auto& [frames_, jacobians_] = expected;
    in_blocks(n, 1600, [&, this](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (std::ptrdiff_t i = first; i < last; i += 16) {
        alignas(64) float copied[16 * joints + 16];
        std::copy_n(&q(i, 0), 16 * joints, copied);
        floats angles[16], out[16], more[16], jacobian[3][joints];
        for (int l = 0; l < 16; ++l) angles[l] = load<floats>(copied + joints * l);
        transpose(angles);
        const floats zero{}, one = zero + 1.0f, c0 = cosine(angles[0]), s0 = sine(angles[0]);
        vector x{c0, s0, zero}, y{-s0, c0, zero}, p{zero, zero, zero + offsets[0]}, axes[joints] = {{zero, zero, one}}, at[joints] = {p};
#pragma GCC unroll 7
        for (int k = 1; k < joints; ++k) {
          const vector &z = axes[k - 1], minus_y{-y.x, -y.y, -y.z}, minus_z{-z.x, -z.y, -z.z};
          move(p, lengths[k], x);
          axes[k] = twists[k] > 0 ? minus_y : y;
          move(p, offsets[k], axes[k]);
          const vector across = twists[k] > 0 ? z : minus_z;
          const floats c = cosine(angles[k]), s = sine(angles[k]);
          y = sum(c, across, -s, x), x = sum(c, x, s, across), at[k] = p;
        }
        const vector& z = axes[joints - 1];
        move(p, tool, z);
#pragma GCC unroll 7
        for (int k = 0; k < joints; ++k) {
          const floats a = p.x - at[k].x, b = p.y - at[k].y, c = p.z - at[k].z;
          jacobian[0][k] = axes[k].y * c - axes[k].z * b, jacobian[1][k] = axes[k].z * a - axes[k].x * c, jacobian[2][k] = axes[k].x * b - axes[k].y * a;
        }
        const floats frame[16] = {x.x, y.x, z.x, p.x, x.y, y.y, z.y, p.y, x.z, y.z, z.z, p.z};
        std::copy_n(frame, 16, out);
        transpose(out);
        for (int l = 0; l < 16; ++l) __builtin_memcpy(&frames_(i + l, 0, 0), &out[l], 48);
        std::copy_n(&jacobian[0][0], 16, out), std::copy_n(&jacobian[0][0] + 16, 5, more), std::fill_n(more + 5, 11, zero);
        transpose(out), transpose(more);
        for (int l = 0; l < 16; ++l) store(&jacobians_(i + l, 0, 0), out[l]), __builtin_memcpy(&jacobians_(i + l, 0, 0) + 16, &more[l], 20);
      }
    });
  }
};

}  // namespace

void add_arm() { add<arm>("arm of 7 joints: frame and Jacobian, 1 M configurations", 1e-5, {.bytes = 4.0 * arm::n * (7 + 12 + 21)}); }

}  // namespace simulation
