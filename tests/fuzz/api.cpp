// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls keepbox.h in any order: accepted memory is released once, rejected memory stays the
// caller's, and boxes outlive the buffers that they were read from.
#include <gst/gst.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "core/formula/oriented.h"
#include "gst/api/keepbox.h"
#include "gst/metas/boxes.h"
#include "gst/metas/masks.h"
#include "gst/metas/pixelmap.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/drawnboxes.h"

namespace keepbox::fuzz {
namespace {

/// Memory that counts its releases.
struct Lent {
  std::unique_ptr<uint8_t[]> bytes;
  int returned = 0;
};

void give_back(gpointer lent) { ++static_cast<Lent*>(lent)->returned; }

struct InfoFree {
  void operator()(KeepboxTensorInfo* info) const { keepbox_tensor_info_free(info); }
};
using Info = std::unique_ptr<KeepboxTensorInfo, InfoFree>;

struct Described {
  Info info;
  gsize bytes = 0;  // of the tensor, if the description is valid
  bool good = true;
  bool wrong = false;  // whatever else it describes
};

Described any_info(Input& input) {
  static constexpr gsize kSizes[]{0, 1, 2, 2, 4, 4, 8, 8, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 2};
  Described out;
  const bool ordinary = input.chance(70);
  const auto type = static_cast<GstTensorDataType>(ordinary ? GST_TENSOR_DATA_TYPE_FLOAT32
                                                            : static_cast<int>(input.below(20)));
  std::array<gsize, KEEPBOX_MAX_DIMS> dims{};
  gsize elements = 1;
  const gsize rank = ordinary ? input.between(1, 4) : input.below(KEEPBOX_MAX_DIMS + 1);
  for (gsize i = 0; i < rank; ++i) elements *= dims[i] = input.below(5);
  const bool wild = input.chance(5);
  if (wild) dims[0] = SIZE_MAX;
  const std::string id = any_name(input);
  out.info.reset(keepbox_tensor_info_new(input.chance(80) ? id.c_str() : nullptr, type, dims.data(),
                                         wild ? 8 : rank));
  out.good = ordinary && !wild;
  out.bytes = elements * (ordinary ? 4 : kSizes[input.below(std::size(kSizes))]);
  if (input.chance(5)) {
    keepbox_tensor_info_set_memory(out.info.get(), static_cast<KeepboxMemory>(2 + input.below(9)));
    out.wrong = true;
  }
  if (input.chance(5)) {
    keepbox_tensor_info_set_ready(out.info.get(), KEEPBOX_READY_STREAM, nullptr);
    out.wrong = true;
  }
  if (input.chance(20)) out.info.reset(keepbox_tensor_info_copy(out.info.get()));
  return out;
}

void check_refusal(bool taken, const GError* error) {
  if (taken != (error == nullptr)) violated("an error without a refusal, or the other way");
  if (error != nullptr && (error->domain != GST_RESOURCE_ERROR || !is_utf8(error->message)))
    violated("an error of another kind");
  count(taken ? "tensors taken" : "tensors refused");
}

/// Adds a tensor of lent memory. @return true if it was accepted.
bool add_lent(Input& input, GstBuffer* buffer, Lent& lent) {
  const Described described = any_info(input);
  const gsize bytes = std::min<gsize>(described.bytes, 1 << 16);
  lent.bytes.reset(new uint8_t[bytes]());
  const bool exact = !input.chance(5);  // the right size is given
  const gsize size = exact ? bytes : bytes + 1 + input.below(100);
  const bool shared = input.chance(5);
  if (shared) gst_buffer_ref(buffer);
  g_autoptr(GError) error = nullptr;
  const bool taken = keepbox_buffer_add_tensor(buffer, described.info.get(), lent.bytes.get(), size,
                                               give_back, &lent, &error);
  if (shared) gst_buffer_unref(buffer);
  check_refusal(taken, error);
  if (taken && (shared || described.wrong || (described.good && !exact)))
    violated("taken although it does not fit");
  if (!taken && described.good && !described.wrong && exact && !shared)
    violated(std::string("refused: ") + error->message);
  return taken;
}

void add_bytes(Input& input, GstBuffer* buffer) {
  const Described described = any_info(input);
  g_autoptr(GBytes) bytes = g_bytes_new_take(g_malloc0(std::min<gsize>(described.bytes, 1 << 16)),
                                             std::min<gsize>(described.bytes, 1 << 16));
  g_autoptr(GError) error = nullptr;
  const bool taken = keepbox_buffer_add_tensor_bytes(buffer, described.info.get(), bytes, &error);
  check_refusal(taken, error);
}

/// Adds a batch of lent memory to frames, one of which may be another's. @return true if it was
/// accepted.
bool add_batch(Input& input, std::vector<GstBuffer*> frames, Lent& lent) {
  const gsize rows = input.below(4), columns = input.below(7);
  const gsize dims[] = {input.chance(80) ? frames.size() : input.below(6), rows, columns};
  const Info info(keepbox_tensor_info_new("batch", GST_TENSOR_DATA_TYPE_UINT8, dims, 3));
  const gsize size = dims[0] * rows * columns;
  lent.bytes.reset(new uint8_t[size]());
  const bool twice = frames.size() > 1 && input.chance(10);
  if (twice) frames.back() = frames.front();
  g_autoptr(GError) error = nullptr;
  const bool taken = keepbox_buffers_add_tensor(frames.data(), frames.size(), info.get(),
                                                lent.bytes.get(), size, give_back, &lent, &error);
  check_refusal(taken, error);
  if (taken != (dims[0] == frames.size() && !twice && !frames.empty()))
    violated("a batch that is not as described");
  return taken;
}

/// Attaches tensors to buffers and copies of them, which are released in any order.
void tensors(Input& input) {
  std::vector<std::unique_ptr<Lent>> lent;
  std::map<Lent*, bool> taken;
  std::vector<GstBuffer*> buffers{gst_buffer_new()};
  for (uint32_t i = input.between(1, 12); i > 0 && !input.empty(); --i) {
    GstBuffer*& buffer = buffers[input.below(static_cast<uint32_t>(buffers.size()))];
    const uint32_t kind = input.below(11);
    if (kind == 10) {
      lent.push_back(std::make_unique<Lent>());
      taken[lent.back().get()] = add_batch(input, buffers, *lent.back());
    } else if (kind < 6) {
      lent.push_back(std::make_unique<Lent>());
      taken[lent.back().get()] = add_lent(input, buffer, *lent.back());
    } else if (kind < 8) {
      add_bytes(input, buffer);
    } else if (kind < 9) {
      buffers.push_back(gst_buffer_copy(buffer));
    } else {
      gst_buffer_unref(std::exchange(buffer, gst_buffer_new()));
    }
  }
  for (GstBuffer* buffer : buffers) gst_buffer_unref(buffer);
  for (const auto& each : lent)
    if (each->returned != (taken[each.get()] ? 1 : 0))
      violated("memory that was given back otherwise");
}

void check_mask(const KeepboxBox* box, const FrameBox& from) {
  guint width = 0, height = 0;
  gsize stride = 0;
  const guint8* rows = keepbox_box_get_mask(box, &width, &height, &stride);
  g_autoptr(GBytes) dense = keepbox_box_dup_mask(box, nullptr, nullptr);
  gfloat x = 0, y = 0, w = 0, h = 0;
  const bool has = keepbox_box_get_mask_rect(box, &x, &y, &w, &h);
  if ((rows != nullptr) != has || (dense != nullptr) != has) violated("half a mask");
  const MaskView mask(from.mask.pixels);
  if (has != is_mask(mask)) violated("a mask that is lost or invented");
  if (!has) return;
  const auto* pixels = static_cast<const guint8*>(g_bytes_get_data(dense, nullptr));
  if (g_bytes_get_size(dense) != gsize{width} * height) violated("a mask of another size");
  for (guint row = 0; row < height; ++row)
    for (guint column = 0; column < width; ++column)
      if (rows[row * stride + column] != pixels[row * width + column] ||
          (pixels[row * width + column] != 0) != (mask.row(row)[column] != 0))
        violated("a mask of other pixels");
  const Box& place = from.mask.place;
  if (x != place.x1 || y != place.y1 || w != place.x2 - place.x1 || h != place.y2 - place.y1)
    violated("a mask elsewhere");
  count("masks");
}

void check_box(const KeepboxBox* box, const FrameBox& from) {
  gfloat x = 0, y = 0, w = 0, h = 0;
  keepbox_box_get_rect(box, &x, &y, &w, &h);
  if (x != from.box.x1 || y != from.box.y1 || w != from.box.x2 - from.box.x1 ||
      h != from.box.y2 - from.box.y1)
    violated("a box elsewhere");
  guint64 id = 0;
  if (keepbox_box_get_tracking_id(box, &id) != from.tracking_id.has_value())
    violated("another track");
  gsize values = 0, ends = 0;
  const gfloat* points = keepbox_box_get_points(box, &values);
  const guint8* edges = keepbox_box_get_edges(box, &ends);
  if (values != 3 * from.keypoints.points.size() || ends != 2 * from.keypoints.edges.size())
    violated("points that are lost");
  const auto same = [](float a, float b) { return a == b || !std::isfinite(a); };
  for (gsize i = 0; i < from.keypoints.points.size(); ++i) {
    const Keypoint& point = from.keypoints.points[i];
    if (!same(points[3 * i], point.x) || !same(points[3 * i + 1], point.y) ||
        !same(points[3 * i + 2], point.score))
      violated("other points");
  }
  for (gsize i = 0; i < ends; ++i)
    if (edges[i] >= from.keypoints.points.size()) violated("a line to no point");
  if (keepbox_box_get_class_id(box) != (from.class_id ? static_cast<gint>(*from.class_id) : -1))
    violated("another class");
  check_mask(box, from);
  count("boxes");
}

/// True if a box, also in integer pixels, is partly right of and below the frame's first corner.
bool is_inside(const FrameBox& box) {
  const Box b = around({box.box, box.angle});
  return box.box.x1 < box.box.x2 && box.box.y1 < box.box.y2 && b.x2 >= 1 && b.y2 >= 1;
}

/// Boxes as a decoder attaches them, read by both functions.
void boxes(Input& input) {
  GstBuffer* buffer = gst_buffer_new();
  DrawnBoxes drawn(input, 5, {64, 48});
  std::erase_if(drawn.boxes, [](const FrameBox& box) {
    return !std::isfinite(box.box.x1 + box.box.y1 + box.box.x2 + box.box.y2 + box.angle);
  });
  const bool attached = attach_boxes(buffer, drawn.boxes, {.frame = {64, 48}}).has_value();
  guint number = 0, copies = 0;
  KeepboxBox** read = keepbox_buffer_get_boxes(buffer, &number);
  KeepboxBox** copied = keepbox_buffer_dup_boxes(buffer, &copies);
  std::vector<FrameBox> expected;
  KeypointStore points;
  GstBuffer* kept = gst_buffer_ref(buffer);
  read_boxes(kept, expected, &points);
  gst_buffer_unref(buffer);
  const auto inside = static_cast<size_t>(std::ranges::count_if(drawn.boxes, is_inside));
  if (attached && expected.size() < inside) violated("boxes that are lost");
  if (expected.size() > drawn.boxes.size()) violated("boxes from nowhere");
  if (number != expected.size() || copies != number) violated("other boxes");
  for (guint i = 0; i < number; ++i) {
    check_box(read[i], expected[i]);
    check_box(copied[i], expected[i]);
    g_autoptr(KeepboxBox) one = keepbox_box_copy(read[i]);
    check_box(one, expected[i]);
    keepbox_box_free(copied[i]);
  }
  gst_buffer_unref(kept);
  g_free(read);
  g_free(copied);
}

}  // namespace

const char* const kSurface = "api";

void set_up() { gst_init(nullptr, nullptr); }

void run_one(Input& input) { input.chance(50) ? tensors(input) : boxes(input); }

}  // namespace keepbox::fuzz
