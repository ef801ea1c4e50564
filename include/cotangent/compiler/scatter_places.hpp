#pragma once
/// Where the updates of a scatter go. The updates are blocks: those along their trailing axes lie beside one computed place.

#include <cotangent/compiler/executable.hpp>
#include <cotangent/core/macros.hpp>
#include <cotangent/primitives/indexing.hpp>

namespace cotangent {

/// Where the blocks of updates go. Operands and attributes are those of scatter_base; an index operand may lack trailing
/// axes of the updates, along which it does not change.
class scatter_places {
 public:
  scatter_places(const array_ref* operands, const extent* attributes) {
    const array_ref &x = operands[0], &updates = operands[1];
    dims_ = updates.dims;
    extent strides[max_rank];
    for (extent k = x.dims.rank, s = 1; k-- > 0; s *= x.dims[int(k)]) strides[k] = s;
    const auto dimension_of = [&](int a) { return int(attributes[1 + 2 * a]); };
    const auto index_of = [&](int a) { return int(attributes[2 + 2 * a]); };
    for (int a = 0; a < x.dims.rank; ++a) {
      if (index_of(a) < 0) continue;
      const int depends = dimension_of(a) + 1, own = operands[2 + index_of(a)].dims.rank;
      if (lead_ < depends) lead_ = depends;
      if (lead_ < own) lead_ = own;
    }
    for (int d = 0; d < dims_.rank; ++d) (d < lead_ ? blocks : size) *= dims_[d];
    for (int a = 0; a < x.dims.rank; ++a) {
      if (index_of(a) < 0 && dimension_of(a) < 0) continue;  // always at 0
      if (index_of(a) < 0 && dimension_of(a) >= lead_) {
        block_strides_[dimension_of(a)] += strides[a];
        continue;
      }
      axis& to = axes_[axis_count_++];
      to = {strides[a], x.dims[a], dimension_of(a), nullptr, false, 1};
      span += (x.dims[a] - 1) * strides[a];
      if (index_of(a) < 0) continue;
      const array_ref& list = operands[2 + index_of(a)];
      to.list = list.data, to.wide = list.type == dtype::int64;
      for (int d = list.dims.rank; d < lead_; ++d) to.repeats *= dims_[d];
    }
    for (int d = dims_.rank; d-- > lead_;) contiguous_ = contiguous_ && block_strides_[d] == (d + 1 < dims_.rank ? block_strides_[d + 1] * dims_[d + 1] : 1);
  }

  extent blocks = 1, size = 1;  // of how many updates each
  extent span = 1;              // places of blocks lie in [0, span)

  /// The places of blocks first, ..., first + count - 1; negative if they lie outside. Place: extent, or int32 if is_near().
  template <class Place> COTANGENT_HD void find(extent first, int count, Place* places) const {
    for (int i = 0; i < count; ++i) places[i] = 0;
    for (int a = 0; a < axis_count_; ++a) {
      const axis& x = axes_[a];
      if (x.wide) add(x, static_cast<const std::int64_t*>(x.list), first, count, places);
      else add(x, static_cast<const std::int32_t*>(x.list), first, count, places);
    }
  }

  /// Whether places are so small that sums of a few of them are int32.
  bool is_near() const { return span <= extent(1) << 28; }

  /// Whether blocks are whole rows of `row` numbers, with nothing between them.
  bool are_rows(extent row) const {
    if (!contiguous_ || size != row) return false;
    for (int a = 0; a < axis_count_; ++a)
      if (axes_[a].stride % row != 0) return false;
    return true;
  }
  /// The places of such blocks in an array whose rows begin every `apart` numbers.
  scatter_places with_rows(extent apart) const {
    scatter_places r = *this;
    for (int a = 0; a < axis_count_; ++a) r.axes_[a].stride = axes_[a].stride / size * apart;
    r.span = (span - 1) / size * apart + 1;
    return r;
  }

  /// Where element i of a block lies, from the block's place.
  COTANGENT_HD extent offset_in_block(extent i) const {
    if (contiguous_) return i;
    extent offset = 0;
    for (int d = dims_.rank; d-- > lead_;) {
      offset += i % dims_.dims[d] * block_strides_[d];
      i /= dims_.dims[d];
    }
    return offset;
  }

  /// run(the size of blocks that lie beside their place, if it is a small known number, or 0): what is done with many blocks knows it.
  template <class Run> void with_size(const Run& run) const {
    if (contiguous_ && size == 1) return run(std::integral_constant<int, 1>());
    if (contiguous_ && size == 3) return run(std::integral_constant<int, 3>());  // points in space
    run(std::integral_constant<int, 0>());
  }
  /// Combines a block of updates u into y, which is at its place. Size: see with_size.
  template <class P, int Size = 0, class T> COTANGENT_HD void combine(T* y, const T* u) const {
    if constexpr (Size > 0) {
      for (int i = 0; i < Size; ++i) y[i] = P::combine(y[i], u[i]);
      return;
    }
    if (contiguous_) {
      for (extent i = 0; i < size; ++i) y[i] = P::combine(y[i], u[i]);
      return;
    }
    extent at[max_rank] = {}, place = 0;
    for (extent i = 0; i < size; ++i) {
      y[place] = P::combine(y[place], u[i]);
      for (int d = dims_.rank; d-- > lead_;) {
        place += block_strides_[d];
        if (++at[d] < dims_[d]) break;
        place -= block_strides_[d] * dims_[d];
        at[d] = 0;
      }
    }
  }

 private:
  template <class Place> static constexpr Place outside = std::numeric_limits<Place>::min() / 2;
  /// An axis of the operand on which a block's place depends: index of the updates' dimension + element of the list.
  struct axis {
    extent stride, count;
    int dimension;
    const void* list;
    bool wide;
    extent repeats;  // blocks that share an element of the list
  };
  /// Adds what an axis contributes to places.
  template <class I, class Place> COTANGENT_HD void add(const axis& x, const I* list, extent first, int count, Place* places) const {
    using bits = std::make_unsigned_t<Place>;  // what lies outside may wrap around
    const auto add_one = [places, count_of = x.count, stride = bits(x.stride)](int i, auto p) {
      using index = std::make_unsigned_t<decltype(p)>;
      const Place place = Place(bits(places[i]) + bits(p) * stride);
      places[i] = index(p) < index(count_of) ? place : outside<Place>;
    };
    if (x.dimension < 0 && x.repeats == 1) {
      for (int i = 0; i < count; ++i) add_one(i, std::conditional_t<sizeof(I) == sizeof(Place), I, extent>(list[first + i]));
      return;
    }
    // Runs of blocks that have one index of x.dimension, and one element of the list.
    extent behind = 1, index = 0, left = count;
    if (x.dimension >= 0) {
      for (int d = x.dimension + 1; d < lead_; ++d) behind *= dims_[d];
      index = first / behind % dims_[x.dimension], left = behind - first % behind;
    }
    extent at = list ? first / x.repeats : 0, of_one = list && x.repeats > 1 ? x.repeats - first % x.repeats : count;
    for (int i = 0; i < count;) {
      const extent rest = count - i, run = left < of_one ? (left < rest ? left : rest) : (of_one < rest ? of_one : rest);
      if (list && x.repeats == 1)
        for (int k = 0; k < int(run); ++k) add_one(i + k, index + extent(list[at + k]));
      else
        for (int k = 0; k < int(run); ++k) add_one(i + k, index + (list ? extent(list[at]) : 0));
      i += int(run), left -= run, of_one -= run;
      if (list && x.repeats == 1) at += run;
      else if (list && of_one == 0) ++at, of_one = x.repeats;
      if (left == 0 && x.dimension >= 0) left = behind, index = index + 1 < dims_[x.dimension] ? index + 1 : 0;
    }
  }

  axis axes_[max_rank];
  int axis_count_ = 0, lead_ = 0;
  shape dims_;
  extent block_strides_[max_rank + 1] = {};
  bool contiguous_ = true;
};

}  // namespace cotangent
