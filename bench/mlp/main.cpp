/// Training of the main job's network (mlp.hpp) against the same by hand with Eigen.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "mlp.hpp"

#include "../baselines/mlp_eigen.hpp"
#include "../harness.hpp"

namespace mlp {
namespace {

struct our_side {
  network<ct::array> net;
  adam_state state = optimizer.init(net);
  minibatch data;

  our_side() {
    const auto initialize = [](auto& w) { baselines::mlp_eigen::initialize(w.data(), int(w.extent(0)), int(w.extent(1))); };
    initialize(net.w1), initialize(net.w2), initialize(net.w3);
  }
  float step() { return train_step(net, state, data); }
};

struct their_side {
  baselines::mlp_eigen net;
  minibatch data;

  explicit their_side(int threads) : net(batch, threads) {}
  float step() { return net.step(data.images.data(), data.labels.data(), data.rows); }
};

template <class Side> float epoch(Side& side, const data_set& data) {
  float sum = 0;
  for (std::size_t first = 0; first < data.shuffled.size(); first += batch) {
    side.data.fill(data, data.shuffled, first);
    sum += side.step();
  }
  return sum;
}

void add(int threads, const std::shared_ptr<data_set>& data) {
  bench::compare("mlp", "train step, batch 256", threads, "eigen by hand", [=] {
    ct::set_num_threads(threads);
    const auto ours = std::make_shared<our_side>();
    const auto theirs = std::make_shared<their_side>(threads);
    for (minibatch* b : {&ours->data, &theirs->data}) b->fill(*data, data->in_order, 0);
    float a = 0, b = 0;
    for (int i = 0; i < 20; ++i) a = ours->step(), b = theirs->step();
    std::printf("loss after 20 steps: ours %.6f, by hand %.6f\n", double(a), double(b));
    if (!(std::abs(a - b) < 2e-3f)) std::fputs("mlp: the two sides do not train alike\n", stderr), std::exit(1);
    return bench::sides{[=] { return ours->step(); }, [=] { return theirs->step(); }};
  }, 601);
  bench::compare("mlp", "epoch of 60000, batch 256", threads, "eigen by hand", [=] {
    ct::set_num_threads(threads);
    const auto ours = std::make_shared<our_side>();
    const auto theirs = std::make_shared<their_side>(threads);
    return bench::sides{[=] { return epoch(*ours, *data); }, [=] { return epoch(*theirs, *data); }};
  }, 5);
}

}  // namespace
}  // namespace mlp

int main(int argc, char** argv) {
  bench::init(argc, argv);
  const auto data = std::make_shared<mlp::data_set>();
  mlp::add(2, data);
  mlp::add(1, data);
  return bench::run(argc, argv);
}
