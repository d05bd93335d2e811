// SPDX-License-Identifier: LGPL-2.1-or-later
// Models that run on a GPU.
#pragma once

#include <string>

#include "gst/infer/onnx/runtime.h"
#include "tests/gst/device.h"
#include "tests/gst/infer/infer.h"

namespace keepbox::test {

/// Tests that need ONNX Runtime with CUDA.
class InferOnGpu : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto runtime = OnnxRuntime::load();
    if (!runtime || !(*runtime)->has_provider("CUDAExecutionProvider"))
      GTEST_SKIP() << "no ONNX Runtime with CUDA";
  }

  std::string infer(const onnx::Model& model, const std::string& more) {
    return "tensorinfer name=infer model-file=" + dir_.write("model.onnx", model.file()) + " " +
           more;
  }

  TempDir dir_;
};

/// True if the model of the element "infer" runs with that provider.
inline bool runs_on(Harness& h, const char* provider) {
  g_autoptr(GstElement) found = gst_bin_get_by_name(h.bin(), "infer");
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(found, "stats", &stats, nullptr);
  return g_strcmp0(gst_structure_get_string(stats, "provider"), provider) == 0;
}

}  // namespace keepbox::test
