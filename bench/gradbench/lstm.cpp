/// LSTM: the gradient of ADBench's loss of L layers of B = 14 diagonal LSTM cells over a text of C characters of 14 bits, by the
/// layers' weights and biases of forget, in, out and change gate, [L, 2, 4, B], and the weights of the input and the weights and
/// bias of the output, [3, B]. bench/meson.build compiles this file once for each size, LSTM_LAYERS and LSTM_CHARACTERS.

#include "problems.hpp"

namespace gradbench {
namespace {

/// One layer: the next (hidden, cell) and what it passes on; p is [2, 4, B].
constexpr auto cell = [](auto p, auto hidden, auto cell, auto input) {
  const auto w = p(ct::index<0>), b = p(ct::index<1>);
  const auto forget = ct::logistic(input * w(ct::index<0>) + b(ct::index<0>));
  const auto in = ct::logistic(hidden * w(ct::index<1>) + b(ct::index<1>));
  const auto out = ct::logistic(input * w(ct::index<2>) + b(ct::index<2>));
  const auto change = ct::tanh(hidden * w(ct::index<3>) + b(ct::index<3>));
  const auto next = cell * forget + in * change;
  return std::pair(out * ct::tanh(next), next);
};
/// All layers: the next state [L, 2, B] and the prediction.
template <int... Layer> constexpr auto predict(auto main, auto extra, auto state, auto input, std::integer_sequence<int, Layer...>) {
  auto x = input * extra(ct::index<0>);
  const auto layer = [&](auto p, auto s) {
    const auto [hidden, next] = cell(p, s(ct::index<0>), s(ct::index<1>), x);
    x = hidden;
    return ct::stack<0>(hidden, next);
  };
  const std::tuple states{layer(main(ct::index<Layer>), state(ct::index<Layer>))...};
  return std::pair(ct::stack<0>(std::get<Layer>(states)...), x * extra(ct::index<1>) + extra(ct::index<2>));
}
constexpr auto loss = [](auto main, auto extra, auto state, auto text) {
  constexpr int layers = int(main.extent(0)), characters = int(text.extent(0)), bits = int(text.extent(1));
  const auto step = [=](auto s, auto x) { return predict(main, extra, s, x, std::make_integer_sequence<int, layers>{}); };
  const auto seen = ct::slice<ct::range<0, characters - 1>>(text), wanted = ct::slice<ct::range<1, characters>>(text);
  const auto predicted = std::get<1>(ct::scan(step, state, seen));  // [C - 1, B]
  const auto normal = ct::log(ct::sum(ct::exp(predicted), ct::axis<1>, ct::keepdims) + 2.0);
  return -ct::sum(wanted * (predicted - normal)) / double((characters - 1) * bits);
};
constexpr auto gradient = ct::grad(loss, ct::wrt<0, 1>);

template <int L, int C> struct lstm {
  static constexpr int B = 14;
  ct::array<double, L, 2, 4, B> main, by_main;
  ct::array<double, 3, B> extra, by_extra;
  ct::array<double, L, 2, B> state;
  ct::array<double, C, B> text;
  std::tuple<ct::array<double, L, 2, 4, B>, ct::array<double, 3, B>> result;

  lstm() {
    source s;
    s.uniform(0, 1, main, extra, state);
    for (int t = 0; t < C; ++t) {  // letters of 7 bits and, rarely, all 14
      const int letter = s.index(50) ? 97 + s.index(26) : 8217;
      for (int i = 0; i < B; ++i) text(t, i) = letter >> (B - 1 - i) & 1;
    }
  }

  void ours() { ct::jit(gradient).into(result)(main, extra, state, text); }
  double difference() const {
    return std::max(gradbench::difference(numbers(std::get<0>(result)), numbers(by_main)),
                    gradbench::difference(numbers(std::get<1>(result)), numbers(by_extra)));
  }
  double slope_error() {
    return gradbench::slope_error([this] { return value(); }, {{numbers(main), numbers(by_main)}, {numbers(extra), numbers(by_extra)}});
  }

  double value() const {
    auto s = state;
    double loss = 0;
    for (int t = 0; t < C - 1; ++t) {
      double sum = 2, seen = 0, bits = 0;
      for (int i = 0; i < B; ++i) {
        double x = text(t, i) * extra(0, i);
        for (int l = 0; l < L; ++l) {
          const auto logistic = [&](int gate, double v) { return 1 / (1 + std::exp(-(v * main(l, 0, gate, i) + main(l, 1, gate, i)))); };
          const double h = s(l, 0, i), change = std::tanh(h * main(l, 0, 3, i) + main(l, 1, 3, i));
          s(l, 1, i) = s(l, 1, i) * logistic(0, x) + logistic(1, h) * change;
          x = s(l, 0, i) = logistic(2, x) * std::tanh(s(l, 1, i));
        }
        const double y = x * extra(1, i) + extra(2, i);
        sum += std::exp(y), seen += text(t + 1, i) * y, bits += text(t + 1, i);
      }
      loss -= seen - bits * std::log(sum);
    }
    return loss / (double(C - 1) * B);
  }

  // ---- by hand, on V = double, or on vectors of 8 hidden units ----

  template <class V> struct step_of_layer { V input, hidden, cell, forget, in, out, change, squashed; };
  template <class V> static V take(const double* p, int i) {
    if constexpr (std::is_same_v<V, double>) return p[i];
    else return load(p + 8 * i, std::min(8, B - 8 * i));
  }
  template <class V> static void put(double* p, int i, V v) {
    if constexpr (std::is_same_v<V, double>) p[i] = v;
    else for (int k = 0; k < 8 && 8 * i + k < B; ++k) p[8 * i + k] = v[k];
  }

  /// The way forward keeps all gates. Units beyond B compute on zeros, and their exponentials are left out of the sum.
  template <class V> void differentiate() {
    constexpr int units = sizeof(V) == 8 ? B : (B + 7) / 8;
    constexpr std::size_t turns = C;
    static std::vector<step_of_layer<V>> kept(turns * L * units);
    static std::vector<V> by_y(turns * units), last(turns * units);
    V p[L][2][4][units], e[3][units], hidden[L][units], cell[L][units], g[L][2][4][units] = {}, by_e[3][units] = {}, inside[units];
    for (int i = 0; i < units; ++i) {
      for (int l = 0; l < L; ++l) {
        for (int k = 0; k < 8; ++k) p[l][k / 4][k % 4][i] = take<V>(&main(l, k / 4, k % 4, 0), i);
        hidden[l][i] = take<V>(&state(l, 0, 0), i), cell[l][i] = take<V>(&state(l, 1, 0), i);
      }
      for (int k = 0; k < 3; ++k) e[k][i] = take<V>(&extra(k, 0), i);
      const double ones[B] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
      inside[i] = take<V>(ones, i);
    }
    const double scale = 1.0 / (double(C - 1) * B);
    for (int t = 0; t < C - 1; ++t) {
      V sum{}, bits{}, exps[units], wanted[units];
      for (int i = 0; i < units; ++i) {
        V x = take<V>(&text(t, 0), i) * e[0][i];
        for (int l = 0; l < L; ++l) {
          auto& s = kept[(std::size_t(t) * L + l) * units + i];
          const auto& [w, b] = p[l];
          s.input = x, s.hidden = hidden[l][i], s.cell = cell[l][i];
          s.forget = 1.0 / (1.0 + exponential(-(x * w[0][i] + b[0][i])));
          s.in = 1.0 / (1.0 + exponential(-(s.hidden * w[1][i] + b[1][i])));
          s.out = 1.0 / (1.0 + exponential(-(x * w[2][i] + b[2][i])));
          s.change = hyperbolic_tangent(s.hidden * w[3][i] + b[3][i]);
          cell[l][i] = s.cell * s.forget + s.in * s.change;
          s.squashed = hyperbolic_tangent(cell[l][i]);
          x = hidden[l][i] = s.out * s.squashed;
        }
        last[std::size_t(t) * units + i] = x;
        wanted[i] = take<V>(&text(t + 1, 0), i);
        exps[i] = inside[i] * exponential(x * e[1][i] + e[2][i]);
        sum += exps[i], bits += wanted[i];
      }
      const double share = total(bits) / (total(sum) + 2.0);
      for (int i = 0; i < units; ++i) by_y[std::size_t(t) * units + i] = scale * (share * exps[i] - wanted[i]);
    }
    V by_hidden[L][units] = {}, by_cell[L][units] = {};
    for (int t = C - 1; t-- > 0;)
      for (int i = 0; i < units; ++i) {
        const V y = by_y[std::size_t(t) * units + i];
        by_e[1][i] += y * last[std::size_t(t) * units + i], by_e[2][i] += y;
        V by_x = y * e[1][i];
        for (int l = L; l-- > 0;) {
          const auto& s = kept[(std::size_t(t) * L + l) * units + i];
          const V h = by_x + by_hidden[l][i], c = by_cell[l][i] + h * s.out * (1.0 - s.squashed * s.squashed);
          const V by[4] = {c * s.cell * s.forget * (1.0 - s.forget), c * s.change * s.in * (1.0 - s.in), h * s.squashed * s.out * (1.0 - s.out),
                           c * s.in * (1.0 - s.change * s.change)};
          for (int k = 0; k < 4; ++k) g[l][0][k][i] += by[k] * (k % 2 ? s.hidden : s.input), g[l][1][k][i] += by[k];
          by_cell[l][i] = c * s.forget;
          by_hidden[l][i] = by[1] * p[l][0][1][i] + by[3] * p[l][0][3][i];
          by_x = by[0] * p[l][0][0][i] + by[2] * p[l][0][2][i];
        }
        by_e[0][i] += by_x * take<V>(&text(t, 0), i);
      }
    for (int i = 0; i < units; ++i) {
      for (int l = 0; l < L; ++l) for (int k = 0; k < 8; ++k) put(&by_main(l, k / 4, k % 4, 0), i, g[l][k / 4][k % 4][i]);
      for (int k = 0; k < 3; ++k) put(&by_extra(k, 0), i, by_e[k][i]);
    }
  }
  [[gnu::noinline]] void by_hand() { differentiate<double>(); }
  [[gnu::noinline]] void by_hand_on_vectors() { differentiate<lanes>(); }
};

}  // namespace

template <int L, int C> void add_lstm() {
  const std::string name = "LSTM: " + std::to_string(L) + " layers, " + std::to_string(C) + " characters";
  add_scalar<lstm<L, C>>(name);
  add_vectors<lstm<L, C>>(name);
}
template void add_lstm<LSTM_LAYERS, LSTM_CHARACTERS>();

}  // namespace gradbench
