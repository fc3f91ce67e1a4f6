#include "runtime/synth/random.h"

namespace berth::synth {

double PowerOfTwo(double x) {
  // Rounds to the nearest integer: 2^x = 2^whole * e^y, |y| <= ln(2) / 2.
  const double whole = static_cast<double>(static_cast<int64_t>(x + (x < 0 ? -0.5 : 0.5)));
  const double y = (x - whole) * 0.69314718055994530942;
  // The series of e^y: the first term left out is below 2e-9.
  double sum = 1.0 / 40320;
  sum = sum * y + 1.0 / 5040;
  sum = sum * y + 1.0 / 720;
  sum = sum * y + 1.0 / 120;
  sum = sum * y + 1.0 / 24;
  sum = sum * y + 1.0 / 6;
  sum = sum * y + 0.5;
  sum = sum * y + 1.0;
  sum = sum * y + 1.0;
  const uint64_t exponent = static_cast<uint64_t>(1023 + static_cast<int64_t>(whole));
  return sum * std::bit_cast<double>(exponent << 52);
}

double Exponential(double x) { return PowerOfTwo(x * 1.44269504088896340736); }

}  // namespace berth::synth
