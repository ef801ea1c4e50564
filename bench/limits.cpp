/// What the machine can do: the baselines alone.

#include <memory>
#include <vector>

#include "baselines/chains.hpp"
#include "baselines/mlp_eigen.hpp"
#include "harness.hpp"

namespace {

struct buffers {
  std::vector<float> x, y;
  explicit buffers(std::size_t n) : x(n), y(n) {
    for (std::size_t i = 0; i < n; ++i) x[i] = float(i % 1000) * 1e-3f;
  }
};

template <baselines::chain_kind Kind, int Operations> void chain(const char* kind) {
  const std::string name = std::to_string(Operations) + " " + kind + " operations, 64k, forward";
  bench::limit("limits", name, 1, "plain loop", [] {
    return [b = std::make_shared<buffers>(1 << 16)] {
      baselines::chain_forward<baselines::plain_math, Kind, Operations>(b->x.data(), b->y.data(), b->x.size());
    };
  });
  bench::limit("limits", name, 1, "-ffast-math loop", [] {
    return [b = std::make_shared<buffers>(1 << 16)] {
      baselines::chain_forward<baselines::fast_math, Kind, Operations>(b->x.data(), b->y.data(), b->x.size());
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::init(argc, argv);
  for (const int threads : {1, 2}) {
    bench::limit("limits", "copy 16M floats", threads, "memcpy", [=] {
      return [b = std::make_shared<buffers>(1 << 24), copy = std::make_shared<bench::copier>(threads)] {
        (*copy)(b->y.data(), b->x.data(), b->x.size() * sizeof(float));
      };
    });
    bench::limit("limits", "mlp train step, batch 256", threads, "eigen by hand", [=] {
      struct state {
        std::vector<float> x = buffers(256 * 784).x;
        std::vector<std::int32_t> y = std::vector<std::int32_t>(256, 3);
        baselines::mlp_eigen network;
        explicit state(int t) : network(256, t) {}
      };
      return [s = std::make_shared<state>(threads)] { return s->network.step(s->x.data(), s->y.data(), 256); };
    }, 301);
  }
  chain<baselines::chain_kind::compute, 4>("compute");
  chain<baselines::chain_kind::compute, 20>("compute");
  chain<baselines::chain_kind::memory, 20>("memory");
  return bench::run(argc, argv);
}
