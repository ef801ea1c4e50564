/// u_t = div(k grad u) without flux through the edges, explicit in time; the misfit at the end by the diffusivity k.

#include "loops.hpp"

namespace loops {
namespace {

constexpr ct::extent cells = 64;
constexpr int heat_steps = 500;

constexpr auto heat_step = [](auto u, auto k) {
  using namespace ct;
  const auto upper = [](auto a) { return slice<range<1, cells>, full_extent>(a); };
  const auto lower = [](auto a) { return slice<range<0, cells - 1>, full_extent>(a); };
  const auto right = [](auto a) { return slice<full_extent, range<1, cells>>(a); };
  const auto left = [](auto a) { return slice<full_extent, range<0, cells - 1>>(a); };
  const auto down = 0.5f * (upper(k) + lower(k)) * (upper(u) - lower(u)), across = 0.5f * (right(k) + left(k)) * (right(u) - left(u));
  return u + 0.2f * (pad<low<0, 0>, high<1, 0>>(down, 0.0f) - pad<low<1, 0>, high<0, 0>>(down, 0.0f) +
                     pad<low<0, 0>, high<0, 1>>(across, 0.0f) - pad<low<0, 1>, high<0, 0>>(across, 0.0f));
};
constexpr auto heat_loss = [](auto k, auto start, auto seen) {
  const auto step = [&](auto u, auto) { return std::tuple(heat_step(u, k), ct::none); };
  return ct::sum(ct::square(std::get<0>(ct::checkpointed_scan<2>(step, start, ct::none, ct::length<heat_steps>)) - seen));
};
using grid = ct::array<float, cells, cells>;

}  // namespace

void add_heat_equation() {
  const auto k = std::make_shared<grid>(), u = std::make_shared<grid>(), seen = std::make_shared<grid>();
  for (int i = 0; i < cells * cells; ++i) k->data()[i] = 0.5f + 0.3f * std::sin(0.01f * float(i)), u->data()[i] = std::sin(0.37f * float(i));
  bench::measure("loops", "heat equation, 64 x 64, 500 steps, forward", 2, [=] { return [=] { return ct::jit(heat_loss)(*k, *u, *seen); }; });
  bench::measure("loops", "heat equation, 64 x 64, 500 steps, grad", 2, [=] { return [=] { return ct::jit(ct::grad(heat_loss))(*k, *u, *seen); }; });
  bench::memory("loops", "heat equation, 64 x 64, 500 steps, grad, peak memory", 2, ct::jit(ct::grad(heat_loss)).cost(*k, *u, *seen).peak_bytes);
}

}  // namespace loops
