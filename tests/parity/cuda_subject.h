// SPDX-License-Identifier: LGPL-2.1-or-later
// The CUDA backend as the harness sees it: kernels that take the host's memory, and ways to run
// whole frames.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/backend.h"

namespace keepbox::test {

/// Names of what can be tested here: none without a device.
std::vector<std::string> cuda_subjects();

/// "cuda": single kernels, and frames in CUDA memory. "cuda slow": frames whose frame kernel only
/// decodes. "cuda masked": the same without a grid that waits for itself. "cuda alone": frames whose
/// blocks wait for none. "cuda staged": frames in system memory.
Backend cuda_subject(const std::string& name);

/// The same names but the last, for circles: frames alone.
Backend circle_subject(const std::string& name);

/// Copies of tensors in CUDA memory, as far off their alignment as the originals.
class OnDevice {
 public:
  explicit OnDevice(std::span<const TensorView> views);
  ~OnDevice();
  std::span<const TensorView> views() const { return views_; }

 private:
  std::vector<TensorView> views_;
  std::vector<void*> blobs_;
};

}  // namespace keepbox::test
