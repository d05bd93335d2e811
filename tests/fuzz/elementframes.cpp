// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws frames.
#include "tests/fuzz/elementframes.h"

#include <array>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "gst/metas/boxes.h"
#include "gst/tensors/tensors.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/drawnboxes.h"

namespace keepbox::fuzz {
namespace {

constexpr const char* kIds[]{"yolo-26-end2end-out", "yolo-v8-out", "yolox-out", "a", ""};

/// Returns a tensor's data: complete, in two memories, too short, or none.
GstBuffer* any_data(Input& input, std::span<const float> values) {
  if (values.empty()) return gst_buffer_new();
  GstBuffer* data = gst_buffer_new_memdup(values.data(), values.size_bytes());
  if (input.chance(3))
    gst_buffer_set_size(data, input.below(static_cast<uint32_t>(values.size_bytes())));
  if (!input.chance(5)) return data;
  const gsize half = gst_buffer_get_size(data) / 2;
  GstBuffer* first = gst_buffer_copy_region(data, GST_BUFFER_COPY_MEMORY, 0, half);
  GstBuffer* second =
      gst_buffer_copy_region(data, GST_BUFFER_COPY_MEMORY, half, static_cast<gsize>(-1));
  gst_buffer_unref(data);
  return gst_buffer_append(first, second);
}

void add(Input& input, GstBuffer* frame, const char* id, const Shape& shape,
         std::span<const float> values) {
  const DataType type =
      input.chance(97) ? DataType::kFloat32 : static_cast<DataType>(input.below(kDataTypes));
  const auto order =
      input.chance(97) ? GST_TENSOR_DIM_ORDER_ROW_MAJOR : GST_TENSOR_DIM_ORDER_COL_MAJOR;
  add_tensor(frame, id, type, shape, order, any_data(input, values));
}

/// Draws a frame from few bytes of an input, so that many frames follow each other.
class Values {
 public:
  explicit Values(Input& input) : random_(1 + input.below(1 << 16)) {}

  float below(uint32_t n) { return static_cast<float>(random_() % n); }

 private:
  std::minstd_rand random_;
};

void spoil(Input& input, std::vector<float>& values) {
  while (!values.empty() && input.chance(10))
    values[input.below(static_cast<uint32_t>(values.size()))] = input.number();
}

/// Adds rows of x1 y1 x2 y2 score class.
void add_rows(Input& input, GstBuffer* frame) {
  const size_t rows = input.below(9);
  Values random(input);
  std::vector<float> values;
  for (size_t i = 0; i < rows; ++i)
    for (const float value : {random.below(32), random.below(32), 16 + random.below(32),
                              16 + random.below(32), random.below(101) / 100, random.below(5)})
      values.push_back(value);
  spoil(input, values);
  add(input, frame, kIds[0], {1, rows, 6}, values);
}

void add_columns(Input& input, GstBuffer* frame) {
  const size_t anchors = 1 + input.below(30), rows = 4 + 1 + input.below(4);
  Values random(input);
  std::vector<float> values(anchors * rows);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i < 4 * anchors ? random.below(32) : random.below(101) / 100;
  spoil(input, values);
  add(input, frame, kIds[1], {1, rows, anchors}, values);
}

void add_other(Input& input, GstBuffer* frame) {
  std::array<size_t, 4> dims{};
  size_t elements = 1;
  const size_t rank = input.between(0, 4);
  for (size_t i = 0; i < rank; ++i) elements *= dims[i] = input.below(9);
  if (input.chance(3) && rank > 0) dims[0] = SIZE_MAX;
  const std::vector<float> values(elements, input.number());
  add(input, frame, input.pick(kIds), Shape(std::span(dims).first(rank)), values);
}

/// Adds boxes as a decoder attaches them, and data of trackers and other elements.
void add_metas(Input& input, GstBuffer* frame, Size size) {
  DrawnBoxes drawn(input, 4, size);
  std::erase_if(drawn.boxes, [](const FrameBox& box) {  // decoders do not attach these
    const char* label = g_quark_to_string(box.label);
    return (label != nullptr && !is_utf8(label)) ||
           !std::isfinite(box.box.x1 + box.box.y1 + box.box.x2 + box.box.y2) ||
           !std::isfinite(box.angle);
  });
  static_cast<void>(
      attach_boxes(frame, drawn.boxes,
                   {.classes = input.chance(30), .regions = input.chance(30), .frame = size}));
  GstAnalyticsRelationMeta* meta = gst_buffer_add_analytics_relation_meta(frame);
  for (uint32_t i = input.below(4); i > 0; --i) {
    GstAnalyticsODMtd od;
    const auto place = [&] { return static_cast<gint>(input.below(200)) - 50; };
    gst_analytics_relation_meta_add_oriented_od_mtd(meta, any_quark(input), place(), place(),
                                                    place(), place(), input.number(),
                                                    input.number(), &od);
    GstAnalyticsTrackingMtd track;
    if (!input.chance(40)) continue;
    gst_analytics_relation_meta_add_tracking_mtd(meta, input.below(100), input.below(1000), &track);
    gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od.id,
                                             track.id);
  }
  if (input.chance(30))
    gst_buffer_add_video_region_of_interest_meta(frame, "x", input.below(64), 0, 9,
                                                 input.below(64));
  if (input.chance(10)) gst_buffer_add_video_crop_meta(frame);
}

}  // namespace

GstVideoInfo any_info(Input& input) {
  static constexpr const char* kFormats[]{"RGB", "I420", "NV12", "GRAY8", "BGRx", "Y444"};
  GstVideoInfo info;
  const auto side = [&] {
    return input.chance(70) ? 32 : static_cast<guint>(input.between(1, 70));
  };
  const guint width = side(), height = side();
  gst_video_info_set_format(&info, gst_video_format_from_string(input.pick(kFormats)), width,
                            height);
  info.fps_n = 30;
  if (input.chance(10)) info.par_n = static_cast<gint>(input.between(1, 9));
  return info;
}

GstBuffer* any_frame(Input& input, const GstVideoInfo& info) {
  gsize size = info.size;
  if (input.chance(1)) size = input.below(static_cast<uint32_t>(size + 1));
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, size, nullptr);
  gst_buffer_memset(frame, 0, 0x55, size);
  for (uint32_t i = input.chance(15) ? input.below(4) : 1; i > 0; --i) {
    const uint32_t kind = input.below(10);
    kind < 6   ? add_rows(input, frame)
    : kind < 8 ? add_columns(input, frame)
               : add_other(input, frame);
  }
  if (input.chance(25))
    add_metas(input, frame,
              {static_cast<uint32_t>(info.width), static_cast<uint32_t>(info.height)});
  return frame;
}

}  // namespace keepbox::fuzz
