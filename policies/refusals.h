// Refusals: whether keeping newcomers out has been right of late.
//
// A newcomer is refused because the unit that would leave for it, its rival, is held to be worth
// more. Which of the two is touched first tells, and it tells as well where the newcomer was let
// in: a pool that has stopped refusing sees when to begin again.
#ifndef BERTH_POLICIES_REFUSALS_H_
#define BERTH_POLICIES_REFUSALS_H_

namespace berth::policies {

class Refusals {
 public:
  void Judged(bool right) {
    (right ? right_ : wrong_) += 1;
    right_ *= kKeep;
    wrong_ *= kKeep;
  }
  // Three wrong of five: where the two are worth about the same, either comes first, and what a
  // victim would have been a little later is worth more than the rival was.
  bool Losing() const { return wrong_ + kDoubt > kWrongPerRight * (right_ + kDoubt); }

 private:
  static constexpr double kKeep = 1 - 1.0 / 512;
  static constexpr double kDoubt = 32;  // of each answer
  static constexpr double kWrongPerRight = 1.5;

  double right_ = 0, wrong_ = 0;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_REFUSALS_H_
