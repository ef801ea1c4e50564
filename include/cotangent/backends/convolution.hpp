#pragma once
/// Convolutions as they run: extents and form as numbers, of three spatial axes.

#include <cotangent/backends/products.hpp>
#include <cotangent/compiler/executable.hpp>

namespace cotangent {

/// A spatial axis: of x, the kernel and the result. Of `spacing` 1 element o of the result and k of the kernel meet element o * stride + k * dilation - low of x.
struct convolution_axis {
  extent in = 1, taps = 1, out = 1, stride = 1, dilation = 1, low = 0, spacing = 1;

  /// The element of x that they meet; -1 if none.
  COTANGENT_HD extent place(extent o, extent k) const {
    const extent p = o * stride + k * dilation - low;
    return p < 0 || p % spacing != 0 || p / spacing >= in ? -1 : p / spacing;
  }
};
/// Arrays x [count, axes[0..2].in, groups, channels], kernel [axes[0..2].taps, channels, groups, features] and y [count, axes[0..2].out, groups, features].
struct convolution_sizes {
  extent count, groups, channels, features;
  convolution_axis axes[3];

  convolution_sizes(const shape& x, const shape& kernel, const shape& y, const extent* attributes) {
    const convolution_form f = convolution_primitive::form(attributes);
    const int n = f.axes();
    count = x[0], channels = kernel[n];
    groups = channels > 0 ? x[n + 1] / channels : 1;
    features = groups > 0 ? kernel[n + 1] / groups : 0;
    for (int i = 0; i < n; ++i) axes[3 - n + i] = {x[1 + i], kernel[i], y[1 + i], f.stride[i], f.dilation[i], f.low[i], f.spacing[i]};
  }
  COTANGENT_HD extent taps() const { return axes[0].taps * axes[1].taps * axes[2].taps; }
  COTANGENT_HD extent pixels() const { return count * axes[0].out * axes[1].out * axes[2].out; }
  /// Where the channels of group g begin that pixel `at` of the result and tap t meet; -1 if none.
  COTANGENT_HD extent place(extent at, extent t, extent g) const {
    extent o[3], k[3], from = 0;
    for (int i = 3; i-- > 0; at /= axes[i].out, t /= axes[i].taps) o[i] = at % axes[i].out, k[i] = t % axes[i].taps;
    from = at;
    for (int i = 0; i < 3; ++i) {
      const extent p = axes[i].place(o[i], k[i]);
      if (p < 0) return -1;
      from = from * axes[i].in + p;
    }
    return (from * groups + g) * channels;
  }
};

}  // namespace cotangent
