// SPDX-License-Identifier: LGPL-2.1-or-later
// The scalar backend: the specification that every other backend is compared with.
#pragma once

#include "core/backend.h"
#include "core/judge.h"

namespace keepbox::reference {

Backend backend();

uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                AnchorRange anchors, std::span<Candidate> out, Funnel& funnel);
uint32_t select(const Plan& plan, std::span<const Candidate> candidates,
                std::span<SortSlot> slots, std::span<Candidate> ordered);
uint32_t nms(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch& scratch);
Result<std::unique_ptr<InputMaker>> input_maker(const InputPlan& plan);

/// Score and class of an anchor.
Verdict judge(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
              uint32_t anchor);

/// The candidates of one image while they are decoded, for kernels that judge anchors in another
/// way and decode them in this one.
class Collector {
 public:
  Collector(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
            std::span<Candidate> out, Funnel& funnel)
      : plan_(plan), tensors_(tensors), image_(image), out_(out), funnel_(funnel) {}

  /// Compares with the class's threshold, decodes the box, filters, and writes the candidate.
  void take(uint32_t anchor, Verdict verdict);

  uint32_t count() const { return count_; }

 private:
  const Plan& plan_;
  std::span<const TensorView> tensors_;
  uint32_t image_;
  std::span<Candidate> out_;
  Funnel& funnel_;
  uint32_t count_ = 0;
};

}  // namespace keepbox::reference
