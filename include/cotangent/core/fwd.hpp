#pragma once
/// The array families: `array` owns, `view` points, `device_array` owns memory of a device and `device_view` points at it, `var` is a traced value.
/// None is constrained on its element, so that each matches `template <class, extent...> class Family`.

#include <cotangent/core/extents.hpp>

namespace cotangent {

template <class T, extent... Extents> class array;
template <class T, extent... Extents> class view;
template <class T, extent... Extents> class device_array;
template <class T, extent... Extents> class device_view;
template <class T, extent... Extents> struct var;

template <class X> inline constexpr bool is_var_v = false;
template <class T, extent... Extents> inline constexpr bool is_var_v<var<T, Extents...>> = true;

}  // namespace cotangent
