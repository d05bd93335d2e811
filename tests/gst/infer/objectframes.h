// SPDX-License-Identifier: LGPL-2.1-or-later
// Models that run on the objects of frames, and frames with objects.
#pragma once

#include <string>
#include <vector>

#include "gst/metas/boxes.h"
#include "gst/metas/records.h"
#include "tests/gst/infer/infer.h"

namespace keepbox::test {

class InferObjects : public Inference {
 protected:
  static constexpr int kWidth = 160, kHeight = 120;
  const std::string caps_ = raw("RGB", kWidth, kHeight);

  static FrameBox object(Box box, const char* label = "car", float score = 0.5f) {
    return {.box = box,
            .score = score,
            .label = g_quark_from_string(label),
            .class_id = 0,
            .anchor = 0};
  }

  std::string identity(const std::string& more, const char* batch = nullptr) {
    const auto first = batch != nullptr ? onnx::Dim(batch) : onnx::Dim(1);
    return infer(identity_model({first, 3, 48, 64}),
                 "regions=objects input-mean=0 input-std=1 channel-order=rgb " + more);
  }

  GstBuffer* frame(std::vector<FrameBox> boxes) {
    GstBuffer* out = painted(caps_, noise);
    EXPECT_TRUE(attach_boxes(out, boxes, {.frame = {kWidth, kHeight}}));
    return out;
  }

  /// Returns the records of the only tensor's producer.
  static std::vector<PictureRecord> pictures(const Buffer& out) {
    FrameTensors tensors;
    EXPECT_TRUE(tensors.list_tensors(out.get()));
    if (tensors.listed().size() != 1) return {};
    return read_pictures(out.get(), tensors.source(0)->producer);
  }
};

}  // namespace keepbox::test
