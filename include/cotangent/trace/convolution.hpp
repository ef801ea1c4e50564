#pragma once
/// Convolutions as networks have them, in the conventions of jax.lax.conv_general_dilated: the kernel is not turned around.

#include <cotangent/trace/operations.hpp>

namespace cotangent {

/// Options of convolutions and windows; each list has an entry per spatial axis.
template <extent... E> struct strides_tag {};
template <extent... E> struct lhs_dilation_tag {};
template <extent... E> struct rhs_dilation_tag {};
template <class Low, class High> struct padding_tag {};
template <extent G> struct feature_groups_tag {};
struct same_tag {};
struct valid_tag {};
/// How far apart the places of the kernel are (1).
template <extent... E> inline constexpr strides_tag<E...> strides{};
/// How far apart the elements of x are, with zeros between (1).
template <extent... E> inline constexpr lhs_dilation_tag<E...> lhs_dilation{};
/// How far apart the elements of the kernel are (1).
template <extent... E> inline constexpr rhs_dilation_tag<E...> rhs_dilation{};
/// Zeros before and after: ct::padding<ct::low<1, 1>, ct::high<1, 1>>.
template <class Low, class High> inline constexpr padding_tag<Low, High> padding{};
/// As many zeros around that the result has ceil(n / stride) elements; of an odd number there is one more behind.
inline constexpr same_tag same{};
/// None, which is the default: the kernel lies inside of x.
inline constexpr valid_tag valid{};
/// Channels in so many groups, each of which makes its own part of the features.
template <extent G> inline constexpr feature_groups_tag<G> feature_groups{};

struct convolution_options {
  enum padding_kind { valid, same, given };
  shape strides, lhs_dilation, rhs_dilation, low, high;
  padding_kind padding = valid;
  extent groups = 1;
};
template <extent... E> constexpr void read(convolution_options& o, strides_tag<E...>) { o.strides = {E...}; }
template <extent... E> constexpr void read(convolution_options& o, lhs_dilation_tag<E...>) { o.lhs_dilation = {E...}; }
template <extent... E> constexpr void read(convolution_options& o, rhs_dilation_tag<E...>) { o.rhs_dilation = {E...}; }
template <extent... L, extent... H> constexpr void read(convolution_options& o, padding_tag<low<L...>, high<H...>>) {
  o.low = {L...}, o.high = {H...}, o.padding = convolution_options::given;
}
template <extent G> constexpr void read(convolution_options& o, feature_groups_tag<G>) { o.groups = G; }
constexpr void read(convolution_options& o, same_tag) { o.padding = convolution_options::same; }
constexpr void read(convolution_options& o, valid_tag) { o.padding = convolution_options::valid; }
template <class... Tags> constexpr convolution_options convolution_options_from() {
  convolution_options o;
  (read(o, Tags{}), ...);
  return o;
}

/// Where a window of `span` elements lies along an axis of x, `stride` apart, if x's elements are `spacing` apart and padded as entry i of the options says.
struct placed_window {
  extent low = 0, high = 0, places = 0;
  message error;

  constexpr placed_window(value x, int axis, const convolution_options& o, int i, extent span, extent stride, extent spacing, bool transposed = false) {
    symbol_table& s = x.b->symbols;
    const extent n = x.dims()[axis];
    if (o.padding == convolution_options::given) low = o.low[i], high = o.high[i];
    else if (transposed) {  // as jax.lax.conv_transpose: the result has n * spacing elements, or as many as meet all of the kernel
      const bool fits = o.padding == convolution_options::same;
      const extent all = span + spacing - 2 + (fits || span < spacing ? 0 : span - spacing);
      low = !fits || spacing > span - 1 ? span - 1 : (all + 1) / 2, high = all - low;
    } else if (o.padding == convolution_options::same) {
      if (is_symbol(n) && stride != 1) error << "ct::same with a stride of " << stride << " needs an extent that is known while compiling; say ct::padding<...>";
      else if (spacing != 1) error << "ct::same with ct::lhs_dilation says nothing; say ct::padding<...>";
      if (!error.empty()) return;
      const extent all = stride == 1 ? span - 1 : ((n + stride - 1) / stride - 1) * stride + span - n;
      low = all > 0 ? all / 2 : 0, high = all > 0 ? all - low : 0;
    }
    const extent spread = spacing == 1 ? n : s.combine(symbol::sum, s.combine(symbol::product, s.combine(symbol::difference, n, 1), spacing), 1);
    const extent room = s.combine(symbol::sum, spread, low + high);
    if (is_symbol(n)) {
      const extent least = (span - low - high + spacing - 2) / spacing + 1;
      s.require_at_least("conv", n, least > 1 ? least : 1);
    } else if (n < 1 || room < span) {
      error << "a window spans " << span << " elements, and x with its padding has " << (n < 1 ? 0 : room);
      return;
    }
    places = s.combine(symbol::sum, s.combine(symbol::quotient, s.combine(symbol::difference, room, span), stride), 1);
  }
};

/// The layouts in `Layout`, as "NHWC,HWIO->NHWC", or without text with the channels last: letters N and C of x and of the result, I and O of the
/// kernel; all others are spatial.
template <text Layout, convolution_options Options, bool Transposed> struct convolution_function {
  static constexpr std::string_view name = Transposed ? "conv_transpose" : "conv";

  constexpr value operator()(value x, value kernel) const {
    adopt_pair(x, kernel);
    const dtype t = promote(x.type(), kernel.type());
    x = convert(x, t == dtype::boolean ? dtype::int32 : t), kernel = convert(kernel, x.type());
    layouts l;
    if (!read_layouts(l, x, kernel)) return x;
    x = transpose(x, l.x), kernel = transpose(kernel, l.kernel);
    const int n = x.rank() - 2;
    convolution_form f;
    shape spatial;
    f.groups = Options.groups;
    if (!check_channels(x, kernel)) return x;
    if (!take(x, "ct::strides", Options.strides, n, Transposed ? f.spacing : f.stride) || !take(x, "ct::rhs_dilation", Options.rhs_dilation, n, f.dilation)) return x;
    if (Transposed && Options.lhs_dilation.rank > 0) return fail(x, message{} << "ct::strides say what ct::lhs_dilation would");
    if (!take(x, "ct::lhs_dilation", Transposed ? shape{} : Options.lhs_dilation, n, Transposed ? f.stride : f.spacing)) return x;
    if (Options.padding == convolution_options::given && (Options.low.rank != n || Options.high.rank != n))
      return fail(x, message{} << "ct::padding has " << Options.low << " and " << Options.high << " for " << n << " spatial axes");
    for (int i = 0; i < n; ++i)
      if (!place_along(i, x, kernel, f, spatial)) return x;
    shape back = filled(l.result.rank, 0);
    for (int i = 0; i < l.result.rank; ++i) back[int(l.result[i])] = i;
    return transpose(convolution(x, kernel, f, spatial), back);
  }

 private:
  /// Of each array the axes in the order of the primitive.
  struct layouts {
    shape x, kernel, result;
  };
  static constexpr value fail(value x, const message& why) {
    x.b->fail(message{} << name << ": " << why.view());
    return x;
  }
  static constexpr bool read_layouts(layouts& l, value x, value kernel) {
    if (Layout.view().empty()) {
      if (x.rank() < 3 || x.rank() > 5 || kernel.rank() != x.rank())
        return fail(x, message{} << "x is [n, spatial..., channels] and the kernel [spatial..., channels, features] with one to three spatial axes, got " << x.dims() << " and " << kernel.dims()), false;
      const int n = x.rank() - 2;
      l.x = l.kernel = l.result = axes_from(0, n + 2);
      return true;
    }
    std::string_view parts[3];
    const text own = Layout;  // g++'s undefined-behaviour sanitizer searches no template argument while it compiles
    const std::string_view all = own.view();
    const std::size_t comma = all.find(','), arrow = all.find("->");
    const bool has_three = comma != all.npos && arrow != all.npos && comma < arrow;
    if (has_three) parts[0] = all.substr(0, comma), parts[1] = all.substr(comma + 1, arrow - comma - 1), parts[2] = all.substr(arrow + 2);
    const auto wrong = [&] { return fail(x, message{} << all << " is no layout as NHWC,HWIO->NHWC: N and C of x and the result, I and O of the kernel, and one to three spatial axes of all three"), false; };
    shape* const orders[] = {&l.x, &l.kernel, &l.result};
    if (parts[0].size() < 3 || parts[0].size() > 5) return wrong();
    for (int k = 0; k < 3; ++k) {
      if (parts[k].size() != parts[0].size()) return wrong();
      const auto add = [&](char letter) {
        const std::size_t at = parts[k].find(letter);
        if (at == parts[k].npos || parts[k].find(letter, at + 1) != parts[k].npos) return false;
        orders[k]->push_back(extent(at));
        return true;
      };
      if (k != 1 && !add('N')) return wrong();
      for (char letter : parts[0])
        if (letter != 'N' && letter != 'C' && !add(letter)) return wrong();
      if (!add(k == 1 ? 'I' : 'C') || (k == 1 && !add('O'))) return wrong();
    }
    if (x.rank() != l.x.rank || kernel.rank() != l.x.rank)
      return fail(x, message{} << all << " is of " << l.x.rank << " axes, got shapes " << x.dims() << " and " << kernel.dims()), false;
    return true;
  }
  static constexpr bool check_channels(value x, value kernel) {
    symbol_table& s = x.b->symbols;
    const int n = x.rank() - 2;
    const extent channels = x.dims()[n + 1], own = kernel.dims()[n], features = kernel.dims()[n + 1], groups = Options.groups;
    if (groups < 1) return fail(x, message{} << "ct::feature_groups<" << groups << ">, where at least one is needed"), false;
    if (!s.unify("conv", channels, s.combine(symbol::product, own, groups)))
      return fail(x, message{} << "x has " << channels << " channels where the kernel is for " << own << (groups > 1 ? " in each group" : "") << ": shapes " << x.dims() << " and " << kernel.dims() << ", with the channels last"), false;
    if (!is_symbol(features) && features % groups != 0) return fail(x, message{} << features << " features do not divide into " << groups << " groups"), false;
    return true;
  }
  static constexpr bool take(value x, std::string_view tag, const shape& given, int n, shape& to) {
    to = given.rank == 0 ? filled(n, 1) : given;
    if (to.rank != n) return fail(x, message{} << tag << " has " << given.rank << " entries for " << n << " spatial axes"), false;
    for (extent e : to)
      if (e < 1) return fail(x, message{} << tag << " has an entry of " << e << ", where at least 1 is needed"), false;
    return true;
  }
  /// Appends the padding and the result's extent of spatial axis i.
  static constexpr bool place_along(int i, value x, value kernel, convolution_form& f, shape& spatial) {
    const extent taps = kernel.dims()[i];
    if (is_symbol(taps) || taps < 1)
      return fail(x, message{} << "the spatial extents of the kernel must be known while compiling, and at least 1, got " << kernel.dims()), false;
    const placed_window w(x, 1 + i, Options, i, (taps - 1) * f.dilation[i] + 1, f.stride[i], f.spacing[i], Transposed);
    if (!w.error.empty())
      return fail(x, message{} << "along spatial axis " << i << ' ' << w.error.view() << ": shapes " << x.dims() << " and " << kernel.dims() << ", with the channels last"), false;
    f.low.push_back(w.low), spatial.push_back(w.places);
    return true;
  }
};

/// x convolved with a kernel, which is not turned around: y[n, o, f] = sum over k and c of x[n, o stride + k dilation - low, c] kernel[k, c, f],
/// of one to three spatial axes. The layouts are in the text, as ct::conv<"NCHW,OIHW->NCHW">(x, kernel); without text the channels are last:
/// x [n, spatial..., channels], kernel [spatial..., channels / groups, features], result [n, spatial..., features]. Tags, in any order: ct::strides<...>,
/// ct::same, ct::valid or ct::padding<ct::low<...>, ct::high<...>>, ct::rhs_dilation<...>, ct::lhs_dilation<...>, ct::feature_groups<G>.
/// JAX: jax.lax.conv_general_dilated.
template <text Layout = "", tensor X, tensor K, class... Tags> constexpr auto conv(const X& x, const K& kernel, Tags...) {
  return apply_mixed<convolution_function<Layout, convolution_options_from<Tags...>(), false>{}>(x, kernel);
}
/// x with strides - 1 zeros between its elements, convolved so: where a convolution with ct::strides makes its result smaller, this makes it larger.
/// JAX: jax.lax.conv_transpose (whose kernel is not exchanged or turned around either).
template <text Layout = "", tensor X, tensor K, class... Tags> constexpr auto conv_transpose(const X& x, const K& kernel, Tags...) {
  return apply_mixed<convolution_function<Layout, convolution_options_from<Tags...>(), true>{}>(x, kernel);
}

}  // namespace cotangent
