// SPDX-License-Identifier: LGPL-2.1-or-later
// Models whose results are colours, and frames with objects of these.
#pragma once

#include <string>
#include <vector>

#include "gst/metas/boxes.h"
#include "tests/gst/infer/infer.h"

namespace keepbox::test {

inline constexpr int kWidth = 160, kHeight = 120;
inline const std::string kScene = raw("RGB", kWidth, kHeight);

/// Returns a model whose scores are the means of R, G and B, of 16 x 8 pixels in 0..1.
inline onnx::Model colour_model(const std::string& output = "output0") {
  onnx::Model out;
  out.inputs = {{"images", onnx::Type::kFloat, {"N", 3, 8, 16}}};
  out.outputs = {{output, onnx::Type::kFloat, {"N", 3, 1, 1}}};
  out.add("GlobalAveragePool", {"images"}, {}, output);
  out.metadata["names"] = "{0: 'red', 1: 'green', 2: 'blue'}";
  return out;
}

/// Returns a model that reads green columns as A and blue ones as B; red ones are blank.
inline onnx::Model stripe_model() {
  onnx::Model out;
  out.inputs = {{"images", onnx::Type::kFloat, {"N", 3, 8, 16}}};
  out.outputs = {{"steps", onnx::Type::kFloat, {"N", 16, 3}}};
  const std::string means =
      out.add("ReduceMean", {"images"},
              {{"axes", std::vector<int64_t>{2}}, {"keepdims", int64_t{0}}}, "means");
  out.add("Transpose", {means}, {{"perm", std::vector<int64_t>{0, 2, 1}}}, "steps");
  out.metadata["character"] = "A\nB";
  return out;
}

/// Paints red with a green and a blue rectangle.
inline Paint coloured(Rect green, Rect blue) {
  return [=](int x, int y) -> Pixel {
    if (green.has(x, y)) return {0, 255, 0};
    return blue.has(x, y) ? Pixel{0, 0, 255} : Pixel{255, 0, 0};
  };
}

inline FrameBox object(Box box) {
  return {
      .box = box, .score = 0.5f, .label = g_quark_from_string("car"), .class_id = 0, .anchor = 0};
}

/// Returns "attribute=text" of all boxes, one after the other.
inline std::string results(const Buffer& out) {
  std::string text;
  std::vector<FrameBox> found;
  read_boxes(out.get(), found, nullptr, {kWidth, kHeight});
  for (const FrameBox& box : found) {
    for (const BoxLabel& label : box.labels) {
      const gchar* attribute = g_quark_to_string(label.attribute);
      text +=
          std::string(attribute != nullptr ? attribute : "?") + "=" + std::string(label.text) + " ";
    }
    text += "| ";
  }
  return text;
}

class ClassDecode : public Inference {
 protected:
  std::string line(const onnx::Model& model, const std::string& more = "",
                   const std::string& of_infer = "regions=objects") {
    return infer(model, of_infer + " channel-order=rgb resize-mode=stretch") + " ! classdecode " +
           more;
  }

  /// Returns a frame with a green, a blue and a red object.
  static GstBuffer* frame(const std::vector<guint64>& ids = {}) {
    GstBuffer* out = painted(kScene, coloured({0, 0, 40, 40}, {60, 0, 100, 40}));
    put_objects(out, ids);
    return out;
  }
  static void put_objects(GstBuffer* out, const std::vector<guint64>& ids) {
    std::vector<FrameBox> boxes{object({5, 5, 35, 35}), object({65, 5, 95, 35}),
                                object({5, 65, 35, 95})};
    EXPECT_TRUE(attach_boxes(out, boxes, {.frame = {kWidth, kHeight}}));
    auto* meta = gst_buffer_get_analytics_relation_meta(out);
    for (size_t i = 0; i < ids.size(); ++i) {
      GstAnalyticsTrackingMtd mtd;
      gst_analytics_relation_meta_add_tracking_mtd(meta, ids[i], 0, &mtd);
      gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                               boxes[i].od_id, mtd.id);
    }
  }
};

}  // namespace keepbox::test
