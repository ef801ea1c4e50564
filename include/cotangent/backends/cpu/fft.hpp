#pragma once
/// Fourier transforms on the CPU: one line per lane. Lines side by side go through Stockham's algorithm together, so that every operation
/// works on whole vectors. A line that is alone, or does not fit the caches so, is taken as a matrix, whose columns and then rows are
/// such lines (D. H. Bailey, "FFTs in external or hierarchical memory", 1990). Lengths with large prime factors go through a convolution
/// (L. I. Bluestein, "A linear filtering approach to the computation of the discrete Fourier transform", 1970).

#include <cmath>
#include <complex>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <cotangent/backends/cpu/opaque.hpp>
#include <cotangent/backends/cpu/pack.hpp>
#include <cotangent/backends/cpu/scratch.hpp>

namespace cotangent::host {
inline namespace COTANGENT_ISA {

template <class T> class fft_plan;
template <class T, class V> V* transform_lanes(const fft_plan<T>& plan, V* x);

/// What transforms of one length share.
template <class T> class fft_plan {
 public:
  using complex = std::complex<T>;
  static constexpr int lanes = native_lanes<T>;

  extent n;
  std::vector<int> radices;  // of the stages; none if there is a convolution
  /// Per stage, the roots exp(-2 pi i k / radix), and then exp(-2 pi i p k / length of the stage) for all p and for k in [1, radix).
  std::vector<complex> factors;
  /// exp(-pi i k / n), k <= n: of 2 n real numbers taken as n complex ones.
  std::vector<complex> half_turns;
  /// Of a convolution: exp(-pi i j^2 / n), and the transform of their conjugates.
  std::vector<complex> chirp, transformed_chirp;
  const fft_plan* convolution = nullptr;
  /// A line as a matrix: its rows, or 1, and what its columns and rows are transformed by. In between element k of column j is multiplied
  /// by exp(-2 pi i j k / n): for all groups of columns and all k, the real and the imaginary parts of a vector.
  extent rows = 1;
  const fft_plan *of_columns = nullptr, *of_rows = nullptr;
  std::vector<T> twists;

  /// Of each length there is one plan, which is kept.
  static const fft_plan& of(extent n) {
    static std::recursive_mutex mutex;
    static std::map<extent, std::unique_ptr<fft_plan>> plans;
    const std::lock_guard<std::recursive_mutex> lock(mutex);
    std::unique_ptr<fft_plan>& plan = plans[n];
    if (!plan) plan.reset(new fft_plan(n));
    return *plan;
  }

  /// The numbers per lane that a transform works with.
  extent room() const { return 2 * n + (convolution ? convolution->room() : 2 * n) + 2; }

 private:
  explicit fft_plan(extent length) : n(length) {
    for (extent k = 0; k <= n; ++k) half_turns.push_back(root(k, 2 * n));
    extent rest = n;
    for (const int radix : {8, 4, 2, 3, 5, 7, 11, 13})
      for (; rest % radix == 0; rest /= radix) radices.push_back(radix);
    if (rest > 1) {
      plan_convolution();
      return;
    }
    extent m = n;
    for (const int radix : radices) {
      m /= radix;
      for (int k = 0; k < radix; ++k) factors.push_back(root(k, radix));
      for (extent p = 0; p < m; ++p)
        for (int k = 1; k < radix; ++k) factors.push_back(root(p * k, m * radix));
    }
    // The matrix with the fewest lanes that stay empty; of those, the nearest to a square.
    constexpr extent least = 64;
    const auto in_lanes = [](extent lines) { return divide_up(lines, lanes) * lanes; };
    extent fewest = 4 * n;
    for (extent r = 4; n >= least && r * r <= n; ++r)
      if (const extent used = in_lanes(r) * (n / r) + in_lanes(n / r) * r; n % r == 0 && used <= fewest) rows = r, fewest = used;
    if (rows > 1) plan_matrix();
  }
  void plan_matrix() {
    of_columns = &of(rows), of_rows = &of(n / rows);
    for (extent first = 0; first < n / rows; first += lanes)
      for (extent k = 0; k < rows; ++k) {
        for (extent j = first; j < first + lanes; ++j) twists.push_back(root(j * k, n).real());
        for (extent j = first; j < first + lanes; ++j) twists.push_back(root(j * k, n).imag());
      }
  }
  void plan_convolution() {
    radices.clear();
    extent m = 1;
    while (m < 2 * n - 1) m *= 2;
    convolution = &of(m);
    for (extent j = 0; j < n; ++j) chirp.push_back(root(j * j, 2 * n));
    using lane = pack<T, 1>;
    std::vector<lane> work(std::size_t(convolution->room()), lane(T(0)));
    for (extent j = 0; j < n; ++j)
      for (const extent at : {j, (m - j) % m}) work[std::size_t(2 * at)] = chirp[std::size_t(j)].real(), work[std::size_t(2 * at + 1)] = -chirp[std::size_t(j)].imag();
    const lane* const r = transform_lanes(*convolution, work.data());
    for (extent j = 0; j < m; ++j) transformed_chirp.push_back(complex(r[2 * j][0], r[2 * j + 1][0]) / T(m));
  }
  static complex root(extent k, extent n) {
    const long double angle = -2 * 3.14159265358979323846264338327950288L * static_cast<long double>(k % n) / static_cast<long double>(n);
    return {T(std::cos(angle)), T(std::sin(angle))};
  }
};

/// Complex numbers in lanes.
template <class V> struct complex_lanes {
  using lanes = V;
  V re, im;
  friend COTANGENT_HOST_INLINE complex_lanes operator+(complex_lanes a, complex_lanes b) { return {a.re + b.re, a.im + b.im}; }
  friend COTANGENT_HOST_INLINE complex_lanes operator-(complex_lanes a, complex_lanes b) { return {a.re - b.re, a.im - b.im}; }
  COTANGENT_HOST_INLINE complex_lanes times_i() const { return {-im, re}; }
  COTANGENT_HOST_INLINE complex_lanes conjugate() const { return {re, -im}; }
  COTANGENT_HOST_INLINE complex_lanes times(V a, V b) const { return {re * a - im * b, re * b + im * a}; }
  template <class T> COTANGENT_HOST_INLINE complex_lanes times(std::complex<T> w) const { return times(V(w.real()), V(w.imag())); }
  template <class T> COTANGENT_HOST_INLINE complex_lanes plus_scaled(complex_lanes a, T x) const { return {re + a.re * V(x), im + a.im * V(x)}; }
};

/// The transform of R numbers in place.
template <int R, class Z, class T> COTANGENT_HOST_INLINE void transform_few(Z (&z)[R], [[maybe_unused]] const std::complex<T>* roots) {
  if constexpr (R == 2) {
    const Z a = z[0];
    z[0] = a + z[1], z[1] = a - z[1];
  } else if constexpr (R == 4) {
    const Z a = z[0] + z[2], b = z[0] - z[2], c = z[1] + z[3], d = (z[1] - z[3]).times_i();
    z[0] = a + c, z[1] = b - d, z[2] = a - c, z[3] = b + d;
  } else if constexpr (R == 8) {
    Z even[] = {z[0], z[2], z[4], z[6]}, odd[] = {z[1], z[3], z[5], z[7]};
    transform_few(even, roots), transform_few(odd, roots);
    const typename Z::lanes root_of_half(roots[1].real());
    const Z a = odd[1], c = odd[3];
    odd[1] = {(a.re + a.im) * root_of_half, (a.im - a.re) * root_of_half};
    odd[2] = {odd[2].im, -odd[2].re};
    odd[3] = {(c.im - c.re) * root_of_half, -((c.re + c.im) * root_of_half)};
    for (int k = 0; k < 4; ++k) z[k] = even[k] + odd[k], z[k + 4] = even[k] - odd[k];
  } else {  // odd: by sums and differences of numbers j and R - j
    constexpr int half = R / 2;
    Z sums[half], differences[half];
    const Z first = z[0];
    for (int j = 0; j < half; ++j) sums[j] = z[j + 1] + z[R - 1 - j], differences[j] = (z[j + 1] - z[R - 1 - j]).times_i(), z[0] = z[0] + sums[j];
    for (int k = 1; k <= half; ++k) {
      Z even = first, odd{};
      for (int j = 1; j <= half; ++j) even = even.plus_scaled(sums[j - 1], roots[j * k % R].real()), odd = odd.plus_scaled(differences[j - 1], roots[j * k % R].imag());
      z[k] = even + odd, z[R - k] = even - odd;
    }
  }
}

template <class V> COTANGENT_HOST_INLINE complex_lanes<V> number_at(const V* x, extent k) { return {x[2 * k], x[2 * k + 1]}; }
template <class V> COTANGENT_HOST_INLINE void set_number(V* x, extent k, complex_lanes<V> z) { x[2 * k] = z.re, x[2 * k + 1] = z.im; }

/// One stage: n = R m numbers of x become R parts of y, `apart` numbers side by side each.
template <int R, class V, class T> void run_stage(const std::complex<T>* factors, extent m, extent apart, const V* x, V* y) {
  const std::complex<T>* const roots = factors;
  factors += R;
  for (extent p = 0; p < m; ++p, factors += R - 1)
    for (extent q = 0; q < apart; ++q) {
      complex_lanes<V> z[R];
      for (int k = 0; k < R; ++k) z[k] = number_at(x, q + apart * (p + m * k));
      transform_few(z, roots);
      V* to = y + 2 * (q + apart * R * p);
      for (int k = 0; k < R; ++k, to += 2 * apart) {
        if (k > 0 && p > 0) z[k] = z[k].times(factors[k - 1]);
        to[0] = z[k].re, to[1] = z[k].im;
      }
    }
}

/// The transforms of n numbers per lane, their parts one after the other in `x`, which has room for what the plan needs. Returns where
/// they are.
template <class T, class V> V* transform_lanes(const fft_plan<T>& plan, V* x) {
  const extent n = plan.n;
  V* y = x + 2 * n;
  if (plan.convolution) {
    const fft_plan<T>& inner = *plan.convolution;
    for (extent j = 0; j < inner.n; ++j) {
      const complex_lanes<V> z = j < n ? number_at(x, j).times(plan.chirp[std::size_t(j)]) : complex_lanes<V>{V(T(0)), V(T(0))};
      set_number(y, j, z);
    }
    const V* const u = transform_lanes(inner, y);
    for (extent j = 0; j < inner.n; ++j) {  // to go back, the parts change places
      const complex_lanes<V> z = number_at(u, j).times(plan.transformed_chirp[std::size_t(j)]);
      set_number(y, j, {z.im, z.re});
    }
    const V* const w = transform_lanes(inner, y);
    for (extent j = 0; j < n; ++j) {
      set_number(x, j, complex_lanes<V>{w[2 * j + 1], w[2 * j]}.times(plan.chirp[std::size_t(j)]));
    }
    return x;
  }
  const std::complex<T>* factors = plan.factors.data();
  extent m = n, apart = 1;
  for (const int radix : plan.radices) {
    m /= radix;
    switch (radix) {
      case 2: run_stage<2>(factors, m, apart, x, y); break;
      case 3: run_stage<3>(factors, m, apart, x, y); break;
      case 4: run_stage<4>(factors, m, apart, x, y); break;
      case 5: run_stage<5>(factors, m, apart, x, y); break;
      case 7: run_stage<7>(factors, m, apart, x, y); break;
      case 8: run_stage<8>(factors, m, apart, x, y); break;
      case 11: run_stage<11>(factors, m, apart, x, y); break;
      default: run_stage<13>(factors, m, apart, x, y);
    }
    factors += radix + m * (radix - 1), apart *= radix;
    std::swap(x, y);
  }
  return x;
}

/// Where lines of complex numbers lie: the distances of the numbers of a line, and of the lines, in complex numbers. `once`: they leave the
/// caches before they are read, and are stored past them.
template <class T> struct lines_at {
  T* first;
  extent step, line;
  bool once = false;
  /// Whether vectors that are `apart` complex numbers from each other are stored past the caches: they are aligned.
  bool stores_once(extent apart) const {
    constexpr int bytes = native_bytes;
    return once && reinterpret_cast<std::uintptr_t>(first) % bytes == 0 && 2 * apart * extent(sizeof(T)) % bytes == 0;
  }
};

/// The numbers of some lines into lanes. `exchanged`: the parts change places, as they do for inverse transforms.
template <int Lanes, bool All, class T> void load_lines(lines_at<const T> lines, extent n, int count, bool exchanged, pack<T, Lanes>* x) {
  using V = pack<T, Lanes>;
  const int re = exchanged, im = !exchanged;
  if constexpr (Lanes > 1) {
    if (lines.line == 1) {
      for (extent j = 0; j < n; ++j) {
        const T* const p = lines.first + 2 * j * lines.step;
        const V v[2] = {All ? V::load(p) : V::load(p, 2 * count), All ? V::load(p + Lanes) : V::load(p + Lanes, 2 * count - Lanes)};
        x[2 * j + re] = column_of_rows<2, 0>(v), x[2 * j + im] = column_of_rows<2, 1>(v);
      }
      return;
    }
    if (lines.step == 1) {
      for (extent j = 0; j < n; j += Lanes / 2) {
        V square[Lanes];
        const int there = int(smaller(Lanes, 2 * (n - j)));
        if (All && there == Lanes)
          for (int i = 0; i < Lanes; ++i) square[i] = V::load(lines.first + 2 * (i * lines.line + j));
        else
          for (int i = 0; i < Lanes; ++i) square[i] = i < count ? V::load(lines.first + 2 * (i * lines.line + j), there) : V(T(0));
        transpose(square);
        if (there == Lanes)
          for (int k = 0; k < Lanes; k += 2) x[2 * j + k + re] = square[k], x[2 * j + k + im] = square[k + 1];
        else
          for (int k = 0; k < there; ++k) x[2 * j + (k ^ re)] = square[k];
      }
      return;
    }
  }
  for (extent j = 0; j < n; ++j)
    for (int i = 0; i < Lanes; ++i) {
      const T* const p = lines.first + 2 * (j * lines.step + i * lines.line);
      x[2 * j + re].set(i, i < count ? p[0] : T(0)), x[2 * j + im].set(i, i < count ? p[1] : T(0));
    }
}
/// And back; change(k, number k) is what is stored.
template <int Lanes, bool All, class T, class Change> void store_lines(const pack<T, Lanes>* x, extent n, int count, bool exchanged, lines_at<T> lines, const Change& change) {
  using V = pack<T, Lanes>;
  const int re = exchanged, im = !exchanged;
  const auto number = [&](extent j) COTANGENT_EXPANDED { return change(j, complex_lanes<V>{x[2 * j + re], x[2 * j + im]}); };
  if constexpr (Lanes > 1) {
    if (lines.line == 1) {
      const bool once = All && lines.stores_once(lines.step);
      for (extent j = 0; j < n; ++j) {
        T* const p = lines.first + 2 * j * lines.step;
        const complex_lanes<V> z = number(j);
        const V v[2] = {z.re, z.im}, low = rows_of_columns<2, 0>(v), high = rows_of_columns<2, 1>(v);
        if (once) low.store_once(p), high.store_once(p + Lanes);
        else if constexpr (All) low.store(p), high.store(p + Lanes);
        else low.store(p, 2 * count), high.store(p + Lanes, 2 * count - Lanes);
      }
      return;
    }
    if (lines.step == 1) {
      const bool once = All && lines.stores_once(lines.line);
      for (extent j = 0; j < n; j += Lanes / 2) {
        V square[Lanes];
        const int there = int(smaller(Lanes, 2 * (n - j)));
        for (int k = 0; k < Lanes; k += 2) {
          const complex_lanes<V> z = k < there ? number(j + k / 2) : complex_lanes<V>{V(T(0)), V(T(0))};
          square[k] = z.re, square[k + 1] = z.im;
        }
        transpose(square);
        if (All && there == Lanes && once)
          for (int i = 0; i < Lanes; ++i) square[i].store_once(lines.first + 2 * (i * lines.line + j));
        else if (All && there == Lanes)
          for (int i = 0; i < Lanes; ++i) square[i].store(lines.first + 2 * (i * lines.line + j));
        else
          for (int i = 0; i < count; ++i) square[i].store(lines.first + 2 * (i * lines.line + j), there);
      }
      return;
    }
  }
  for (extent j = 0; j < n; ++j) {
    const complex_lanes<V> z = number(j);
    for (int i = 0; i < count; ++i) {
      T* const p = lines.first + 2 * (j * lines.step + i * lines.line);
      p[0] = z.re[i], p[1] = z.im[i];
    }
  }
}
/// The same for however many of the lanes there are.
template <int Lanes, class T> void load_lines(lines_at<const T> lines, extent n, int count, bool exchanged, pack<T, Lanes>* x) {
  if (count == Lanes) load_lines<Lanes, true>(lines, n, Lanes, exchanged, x);
  else load_lines<Lanes, false>(lines, n, count, exchanged, x);
}
template <int Lanes, class T, class Change> void store_lines(const pack<T, Lanes>* x, extent n, int count, bool exchanged, lines_at<T> lines, const Change& change) {
  if (count == Lanes) store_lines<Lanes, true>(x, n, Lanes, exchanged, lines, change);
  else store_lines<Lanes, false>(x, n, count, exchanged, lines, change);
}
template <int Lanes, class T> void store_lines(const pack<T, Lanes>* x, extent n, int count, bool exchanged, lines_at<T> lines) {
  store_lines(x, n, count, exchanged, lines, [](extent, complex_lanes<pack<T, Lanes>> z) { return z; });
}

/// Real numbers into lanes: number j as part j of complex ones, or as the real part of one.
template <int Lanes, class T> void load_reals(const lines_at<const T>& lines, extent n, int count, bool as_parts, pack<T, Lanes>* x) {
  using V = pack<T, Lanes>;
  for (extent j = 0; j < n; ++j) {
    V& to = x[as_parts ? j : 2 * j];
    const T* const p = lines.first + j * lines.step;
    if (lines.line == 1) to = V::load(p, count);
    else
      for (int i = 0; i < Lanes; ++i) to.set(i, i < count ? p[i * lines.line] : T(0));
    if (!as_parts) x[2 * j + 1] = V(T(0));
  }
}
/// And back; `exchanged`: the parts have changed places.
template <int Lanes, class T> void store_reals(const pack<T, Lanes>* x, extent n, int count, bool as_parts, bool exchanged, const lines_at<T>& lines) {
  for (extent j = 0; j < n; ++j) {
    const pack<T, Lanes>& from = x[(as_parts ? j : 2 * j) ^ extent(exchanged)];
    T* const p = lines.first + j * lines.step;
    if (lines.line == 1) from.store(p, count);
    else
      for (int i = 0; i < count; ++i) p[i * lines.line] = from[i];
  }
}

/// The transform of 2 n real numbers from that of the n complex ones whose parts they are: n + 1 numbers, in place.
template <class T, class V> void split_reals(const fft_plan<T>& plan, V* z) {
  const extent n = plan.n;
  const V half(T(0.5));
  for (extent k = 0; 2 * k <= n; ++k) {
    const complex_lanes<V> a = number_at(z, k), b = number_at(z, k == 0 ? 0 : n - k).conjugate(), sum = a + b, turned = (b - a).times_i().times(plan.half_turns[std::size_t(k)]);
    const complex_lanes<V> first = sum + turned, last = (sum - turned).conjugate();
    set_number(z, k, {first.re * half, first.im * half}), set_number(z, n - k, {last.re * half, last.im * half});
  }
}
/// The way back. Of the first and the last number the real parts count.
template <class T, class V> void join_reals(const fft_plan<T>& plan, V* z) {
  const extent n = plan.n;
  z[1] = z[2 * n + 1] = V(T(0));
  for (extent k = 0; 2 * k <= n; ++k) {
    const complex_lanes<V> a = number_at(z, k), b = number_at(z, n - k).conjugate(), sum = a + b, turned = (a - b).times_i().times(std::conj(plan.half_turns[std::size_t(k)]));
    set_number(z, n - k, (sum - turned).conjugate()), set_number(z, k, sum + turned);
  }
}

/// The transforms of some lines of n numbers, of which those on the one side may be real.
template <class T> class fourier_lines {
 public:
  /// `once`: see lines_at.
  fourier_lines(extent n, fourier what, bool once) : n_(n), what_(what), once_(once), plan_(fft_plan<T>::of(is_halved() ? n / 2 : n)) {}

  void run(const axis_lines& lines, const T* x, T* y) const {
    constexpr extent few = divide_up(lanes, 2), cache = 132 << 10;
    const extent in = what_ == fourier::inverse_real ? n_ / 2 + 1 : n_, out = what_ == fourier::real ? n_ / 2 + 1 : n_;
    const extent from = in * (is_real_in() ? 1 : 2) * lines.behind, to = out * (is_real_out() ? 1 : 2) * lines.behind;
    const bool fits = plan_.room() * lanes * extent(sizeof(T)) <= cache;
    if (lines.behind >= few) {
      const extent together = divide_up(task_numbers, n_ * lines.behind);
      parallel_for(divide_up(lines.before, together), [&](extent task) {
        for (extent i = task * together; i < smaller((task + 1) * together, lines.before); ++i) run_all({x + i * from, lines.behind, 1}, {y + i * to, lines.behind, 1, once_}, lines.behind);
      });
    } else if (lines.behind == 1 && plan_.rows > 1 && (!fits || lines.before < few) && (is_halved() || !(is_real_in() || is_real_out()))) {
      const extent together = divide_up(task_numbers, n_);
      parallel_for(divide_up(lines.before, together), [&](extent task) {
        for (extent i = task * together; i < smaller((task + 1) * together, lines.before); ++i) run_long(x + i * from, y + i * to);
      });
    } else {
      for (extent j = 0; j < lines.behind; ++j) {
        const lines_at<const T> a{x + j * (is_real_in() ? 1 : 2), lines.behind, in * lines.behind};
        const lines_at<T> b{y + j * (is_real_out() ? 1 : 2), lines.behind, out * lines.behind, once_};
        if (lines.before >= few) run_all(a, b, lines.before);
        else
          for (extent i = 0; i < lines.before; ++i) run_group<1>(from_line(a, i, is_real_in()), from_line(b, i, is_real_out()), 1);
      }
    }
  }

 private:
  static constexpr int lanes = native_lanes<T>;
  static constexpr extent task_numbers = 1 << 14;
  using V = pack<T, lanes>;

  extent n_;
  fourier what_;
  bool once_;
  const fft_plan<T>& plan_;

  bool is_real_in() const { return what_ == fourier::real; }
  bool is_real_out() const { return what_ == fourier::inverse_real; }
  /// Real numbers are taken as half as many complex ones.
  bool is_halved() const { return (is_real_in() || is_real_out()) && n_ % 2 == 0; }
  bool is_inverse() const { return what_ == fourier::inverse || what_ == fourier::inverse_real; }

  template <class P> static lines_at<P> from_line(const lines_at<P>& lines, extent k, bool are_real) {
    return {lines.first + k * lines.line * (are_real ? 1 : 2), lines.step, lines.line, lines.once};
  }

  /// All of some lines.
  void run_all(const lines_at<const T>& from, const lines_at<T>& to, extent count) const {
    const extent groups = divide_up(count, lanes), together = divide_up(task_numbers, lanes * n_);
    parallel_for(divide_up(groups, together), [&](extent task) {
      for (extent g = task * together; g < smaller((task + 1) * together, groups); ++g)
        run_group<lanes>(from_line(from, g * lanes, is_real_in()), from_line(to, g * lanes, is_real_out()), int(smaller(lanes, count - g * lanes)));
      if (once_) store_fence();
    });
  }

  /// Some lines, at most one per lane. Of inverse transforms the parts change places before and after.
  template <int Lanes> void run_group(const lines_at<const T>& from, const lines_at<T>& to, int count) const {
    const scratch room(std::size_t(plan_.room()) * sizeof(pack<T, Lanes>));
    pack<T, Lanes>* x = reinterpret_cast<pack<T, Lanes>*>(room.data());
    const bool in_rows = is_halved() && Lanes > 1;  // reals of a line, read or written two by two as complex numbers
    if (what_ == fourier::real) {
      if (in_rows && from.step == 1) load_lines<Lanes, T>({from.first, 1, from.line / 2}, n_ / 2, count, false, x);
      else load_reals(from, n_, count, is_halved(), x);
    } else if (what_ == fourier::inverse_real) {
      load_lines(from, n_ / 2 + 1, count, false, x);
      if (is_halved()) join_reals(plan_, x);
      else mirror(x);
      exchange_parts(x);
    } else load_lines(from, n_, count, is_inverse(), x);
    x = transform_lanes(plan_, x);
    if (what_ == fourier::inverse_real) {
      if (in_rows && to.step == 1) store_lines<Lanes, T>(x, n_ / 2, count, true, {to.first, 1, to.line / 2, to.once});
      else store_reals(x, n_, count, is_halved(), true, to);
      return;
    }
    if (is_halved()) split_reals(plan_, x);
    store_lines(x, what_ == fourier::real ? n_ / 2 + 1 : n_, count, is_inverse(), to);
  }
  /// The second half of an odd number of conjugates.
  template <class W> void mirror(W* x) const {
    x[1] = W(T(0));
    for (extent k = n_ / 2 + 1; k < n_; ++k) set_number(x, k, number_at(x, n_ - k).conjugate());
  }
  template <class W> void exchange_parts(W* x) const {
    for (extent k = 0; k < plan_.n; ++k) std::swap(x[2 * k], x[2 * k + 1]);
  }

  /// A line as a matrix.
  void run_long(const T* from, T* to) const {
    using lane = pack<T, 1>;
    if (what_ != fourier::inverse_real) {
      run_matrix(from, to);
      if (is_halved()) split_reals(plan_, reinterpret_cast<lane*>(to));
      return;
    }
    const scratch room(std::size_t(plan_.n + 1) * 2 * sizeof(T));
    T* const pairs = reinterpret_cast<T*>(room.data());
    std::copy_n(from, 2 * plan_.n + 2, pairs);
    join_reals(plan_, reinterpret_cast<lane*>(pairs));
    run_matrix(pairs, to);
  }
  void run_matrix(const T* from, T* to) const {
    const extent rows = plan_.rows, columns = plan_.n / rows;
    const scratch room(std::size_t(plan_.n) * 2 * sizeof(T));
    T* const between = reinterpret_cast<T*>(room.data());
    const auto in_groups = [&](const fft_plan<T>& plan, extent count, const auto& run) {
      const extent groups = divide_up(count, lanes), together = divide_up(task_numbers, lanes * plan.n);
      parallel_for(divide_up(groups, together), [&](extent task) {
        const scratch memory(std::size_t(plan.room()) * sizeof(V));
        for (extent g = task * together; g < smaller((task + 1) * together, groups); ++g) run(reinterpret_cast<V*>(memory.data()), g, int(smaller(lanes, count - g * lanes)));
        if (once_) store_fence();
      });
    };
    in_groups(*plan_.of_columns, columns, [&](V* x, extent g, int count) {
      load_lines<lanes, T>({from + 2 * g * lanes, columns, 1}, rows, count, is_inverse(), x);
      x = transform_lanes(*plan_.of_columns, x);
      const T* const twists = plan_.twists.data() + 2 * g * rows * lanes;
      store_lines<lanes, T>(x, rows, count, false, {between + 2 * g * lanes, columns, 1}, [&](extent k, complex_lanes<V> z) {
        return z.times(V::load(twists + 2 * k * lanes), V::load(twists + (2 * k + 1) * lanes));
      });
    });
    in_groups(*plan_.of_rows, rows, [&](V* x, extent g, int count) {
      load_lines<lanes, T>({between + 2 * g * lanes * columns, 1, columns}, columns, count, false, x);
      x = transform_lanes(*plan_.of_rows, x);
      store_lines<lanes, T>(x, columns, count, is_inverse(), {to + 2 * g * lanes, rows, 1, once_ && !is_halved()});
    });
  }
};

}  // namespace COTANGENT_ISA

template <> struct opaque<fft_lines_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    if (result.dims.size() == 0) return;
    constexpr extent many_bytes = extent(1) << 22;
    const axis_lines lines = lines_of_transform(operands[0], result, attributes);
    const fourier_lines<T> transforms(lines.count, fourier(attributes[1]), result.dims.size() * extent(sizeof(T)) >= many_bytes);
    transforms.run(lines, static_cast<const T*>(operands[0].data), static_cast<T*>(result.data));
  }
};

}  // namespace cotangent::host
