// Equal shares.
#ifndef BERTH_RUNTIME_BASE_QUOTA_H_
#define BERTH_RUNTIME_BASE_QUOTA_H_

namespace berth {

// Share `index` of `count` shares of `total` that are as equal as they can be; the first ones get
// the remainder.
template <typename T>
constexpr T EqualQuota(T total, T count, T index) {
  return total / count + (index < total % count ? 1 : 0);
}

}  // namespace berth

#endif  // BERTH_RUNTIME_BASE_QUOTA_H_
