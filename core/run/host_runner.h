// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs frames in host memory by a backend's kernels.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/run/backend.h"
#include "core/run/host_payload.h"
#include "core/run/workspace.h"

namespace keepbox {

/// Decodes, selects, suppresses and maps the images of a frame one after the other.
class HostRunner final : public Runner {
 public:
  /// Returns kNoResource if the memory for the plan is not available.
  /// @param kernels outlive the runner. @param threads to decode large tensors in parts, or null.
  static Result<std::unique_ptr<Runner>> create(const HostKernels& kernels, const Plan& plan,
                                                ThreadPool* threads);

  Status run(const Plan& plan, std::span<const TensorView> tensors, const Stop& stop) override;
  Status retune(const Plan&) override { return {}; }
  std::span<const Detection> detections(uint32_t image) const override {
    return images_[image].detections.first(images_[image].count);
  }
  const Funnel& funnel(uint32_t image) const override { return images_[image].funnel; }
  PayloadOutput payload(uint32_t image) const override { return payloads_[image].output(); }

 private:
  struct Image {
    std::span<Detection> detections;  // kept_capacity
    uint32_t count = 0;               // of detections
    Funnel funnel;
  };

  HostRunner(const HostKernels& kernels, const Plan& plan, Workspace workspace,
             ThreadPool* threads);
  Status run(const Plan& plan, std::span<const TensorView> tensors, uint32_t image, Stop stop);

  const HostKernels& kernels_;
  Workspace workspace_;
  ThreadPool* threads_;
  std::vector<Image> images_;
  std::vector<HostPayload> payloads_;  // one per image, if boxes have a payload
};

}  // namespace keepbox
