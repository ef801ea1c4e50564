#pragma once
/// `view<T, E...>`: contiguous row-major elements that somebody else owns.

#include <cotangent/core/device.hpp>
#include <cotangent/core/fwd.hpp>
#include <cotangent/core/layout.hpp>

namespace cotangent {

template <class X> inline constexpr bool is_array_v = false;
template <class T, extent... E> inline constexpr bool is_array_v<array<T, E...>> = true;
template <class X> inline constexpr bool is_view_v = false;
template <class T, extent... E> inline constexpr bool is_view_v<view<T, E...>> = true;
/// Arrays, and views of them, in the memory of a device.
template <class X> inline constexpr bool is_device_array_v = false;
template <class T, extent... E> inline constexpr bool is_device_array_v<device_array<T, E...>> = true;
template <class X> inline constexpr bool is_on_device_v = is_device_array_v<X>;
template <class T, extent... E> inline constexpr bool is_on_device_v<device_view<T, E...>> = true;

/// Eigen's Matrix, Array and Map, recognized without including Eigen.
template <class M>
concept eigen_like = requires(M& m) {
  m.data();
  m.rows();
  m.cols();
  int(std::remove_cvref_t<M>::IsRowMajor);
};

/// std::mdspan and its predecessors.
template <class M>
concept mdspan_like = requires(M& m) {
  m.data_handle();
  m.extent(0);
  m.stride(0);
  std::remove_cvref_t<M>::rank();
};

/// std::vector, std::span, std::array and their like, with elements that `T*` can point at.
template <class R, class T>
concept buffer_of = !is_array_v<std::remove_cvref_t<R>> && !is_view_v<std::remove_cvref_t<R>> && !is_on_device_v<std::remove_cvref_t<R>> && !eigen_like<R> && !mdspan_like<R> &&
                    requires(R& r) {
                      r.size();
                      static_cast<T (*)[]>(static_cast<std::remove_pointer_t<decltype(r.data())> (*)[]>(nullptr));
                    };

/// A temporary may be viewed only as const, as a function argument.
template <class R, class T>
concept viewable = std::is_lvalue_reference_v<R> || std::is_const_v<T>;

[[noreturn, gnu::cold]] inline void throw_not_contiguous(const char* kind, dtype d, const shape& type) {
  throw shape_error(text_of(kind, d, type) + ": the elements given are not contiguous; copy them first");
}

/// A non-owning array. `view<const T, ...>` reads only. A default-made view points at nothing.
template <class T, extent... Extents> class view : public layout<Extents...> {
  static_assert(element<std::remove_const_t<T>>, "view: T is not an element type (float, double, bool, std::int8..64_t, "
                                                 "std::uint8..64_t, half, bfloat16, std::complex<float or double>)");
  using base = layout<Extents...>;
  static constexpr dtype type = dtype_of<std::remove_const_t<T>>;
  T* first = nullptr;

 public:
  using value_type = std::remove_const_t<T>;
  using element_type = T;

  constexpr view() = default;

  /// `view<const float, dyn, 3> v(pointer, {n, 3})`.
  constexpr view(T* pointer, const cotangent::shape& s) : base(s, "view", type), first(pointer) {}
  /// All extents in the type: `view<float, 3, 4> v(pointer)`.
  constexpr explicit view(T* pointer) requires(base::is_static()) : first(pointer) {}

  /// Of an array or another view; run-time extents are checked against the type's.
  template <class U, cotangent::extent... F>
    requires std::is_convertible_v<U (*)[], T (*)[]> && (may_agree(typename base::extents{}, typename layout<F...>::extents{}))
  constexpr explicit(!always_fits(typename base::extents{}, typename layout<F...>::extents{})) view(const view<U, F...>& o)
      : base(o.shape(), "view", type), first(o.data()) {}
  template <class U, cotangent::extent... F>
    requires std::is_convertible_v<U (*)[], T (*)[]> && (may_agree(typename base::extents{}, typename layout<F...>::extents{}))
  constexpr explicit(!always_fits(typename base::extents{}, typename layout<F...>::extents{})) view(array<U, F...>& a)
      : base(a.shape(), "view", type), first(a.data()) {}
  template <class U, cotangent::extent... F>
    requires std::is_convertible_v<const U (*)[], T (*)[]> && (may_agree(typename base::extents{}, typename layout<F...>::extents{}))
  constexpr explicit(!always_fits(typename base::extents{}, typename layout<F...>::extents{})) view(const array<U, F...>& a)
      : base(a.shape(), "view", type), first(a.data()) {}

  /// Of a std::vector, std::span, ...: a vector of any length, or a static shape of as many elements.
  template <class R>
    requires buffer_of<R, T> && viewable<R, T> && (base::is_static() || base::rank() == 1)
  constexpr view(R&& buffer) : base(shape_for(std::ptrdiff_t(buffer.size())), "view", type), first(buffer.data()) {}
  /// The same with its shape: `view<float, dyn, 3>(vector, {n, 3})`.
  template <class R>
    requires buffer_of<R, T> && viewable<R, T>
  constexpr view(R&& buffer, const cotangent::shape& s) : base(s, "view", type), first(buffer.data()) {
    if (std::ptrdiff_t(buffer.size()) != s.size()) throw_wrong_count("view", type, s, std::ptrdiff_t(buffer.size()));
  }

  /// Of an Eigen Matrix, Array or Map with contiguous elements; a column-major one appears transposed.
  template <class M>
    requires eigen_like<M> && viewable<M, T> && std::is_convertible_v<decltype(std::declval<M&>().data()), T*> &&
             (base::rank() == 1 || base::rank() == 2)
  constexpr view(M&& m) : base(eigen_shape(m), "view", type), first(m.data()) {}

  /// Of an mdspan with row-major contiguous elements.
  template <class M>
    requires mdspan_like<M> && (int(std::remove_cvref_t<M>::rank()) == base::rank()) &&
             std::is_convertible_v<decltype(std::declval<M&>().data_handle()), T*>
  constexpr view(M&& m) : base(mdspan_shape(m), "view", type), first(m.data_handle()) {}

  /// Where it lives: the CPU.
  cotangent::device device() const { return {}; }
  constexpr T* data() const { return first; }
  constexpr T* begin() const { return first; }
  constexpr T* end() const { return first + this->size(); }

  /// Element (i, j, ...), not checked.
  template <std::integral... I> constexpr T& operator()(I... i) const { return first[this->offset(i...)]; }
  /// Element (i, j, ...); throws shape_error if it is out of range.
  template <std::integral... I> constexpr T& at(I... i) const { return first[this->checked_offset(i...)]; }
  /// A rank-0 view reads as its element.
  constexpr operator value_type() const requires(sizeof...(Extents) == 0) { return *first; }

 private:
  static constexpr cotangent::shape shape_for(std::ptrdiff_t count) {
    if constexpr (base::is_static()) {
      if (count != base::type_shape().size()) throw_wrong_count("view", type, base::type_shape(), count);
      return base::type_shape();
    } else return {count};
  }
  template <class M> static constexpr cotangent::shape eigen_shape(M& m) {
    const std::ptrdiff_t rows = m.rows(), cols = m.cols();
    const bool row_major = std::remove_cvref_t<M>::IsRowMajor;
    if constexpr (requires { m.innerStride(), m.outerStride(); })
      if (m.innerStride() != 1 || (rows > 1 && cols > 1 && m.outerStride() != (row_major ? cols : rows)))
        throw_not_contiguous("view", type, base::type_shape());
    const cotangent::shape s = row_major ? cotangent::shape{rows, cols} : cotangent::shape{cols, rows};
    if constexpr (base::rank() == 1) {
      if (rows == 1 || cols == 1) return {rows * cols};
    }
    return s;
  }
  template <class M> static constexpr cotangent::shape mdspan_shape(M& m) {
    cotangent::shape s;
    std::ptrdiff_t stride = 1;
    for (int k = 0; k < base::rank(); ++k) s.push_back(std::ptrdiff_t(m.extent(std::size_t(k))));
    for (int k = base::rank(); k-- > 0; stride *= s[k])
      if (s[k] > 1 && std::ptrdiff_t(m.stride(std::size_t(k))) != stride) throw_not_contiguous("view", type, base::type_shape());
    return s;
  }
};

template <class T, extent... E> view(array<T, E...>&) -> view<T, E...>;
template <class T, extent... E> view(const array<T, E...>&) -> view<const T, E...>;

}  // namespace cotangent
