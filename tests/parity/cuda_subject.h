// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter of the CUDA backend for the harness: kernels on host memory, and variants of running
// frames.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/run/backend.h"
#include "tests/boxlist.h"

namespace keepbox::test {

/// Returns the testable variants: none without a device.
std::vector<std::string> cuda_subjects();

/// Variants: "cuda": single kernels, and frames in CUDA memory. "cuda crowd": the frame kernel only
/// decodes, and is followed by the kernel for crowds. "cuda slow": it only decodes, and others
/// follow. "cuda masked": likewise, without cooperative launches. "cuda alone": blocks do not wait
/// for others. "cuda staged": frames in system memory.
Backend cuda_subject(const std::string& name);

/// Returns the same variants except the last, for circles; frames only.
Backend circle_subject(const std::string& name);

/// Copies of tensors in CUDA memory, with the alignment of the originals.
class OnDevice {
 public:
  explicit OnDevice(std::span<const TensorView> views);
  ~OnDevice();
  std::span<const TensorView> views() const { return views_; }

 private:
  std::vector<TensorView> views_;
  std::vector<void*> blobs_;
};

/// Suppresses a table in CUDA memory on a new stream. Only the indices of kept boxes may be
/// written.
/// @param waits true if the counts are on the host.
Result<KeptOf> suppressed_on_device(Suppressor& suppressor, const BoxTable& table, bool waits);

}  // namespace keepbox::test
