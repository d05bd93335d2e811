// SPDX-License-Identifier: LGPL-2.1-or-later
// A meta tagged with size and orientation, which takes part in every transform, or is dropped by
// elements that do not support it.
#include "gst/metas/pixeltransforms.h"

#include <memory>
#include <new>
#include <utility>

#include "gst/base/picture.h"
#include "gst/tensors/metatype.h"

namespace keepbox {
namespace {

struct InferredMeta {
  GstMeta meta;
  guint64 producer;
  PixelTransforms transforms;  // made and destroyed by init and release
};

InferredMeta* cast(GstMeta* meta) { return reinterpret_cast<InferredMeta*>(meta); }

gboolean init_inferred(GstMeta* meta, gpointer, GstBuffer*) {
  cast(meta)->producer = 0;
  new (&cast(meta)->transforms) PixelTransforms;
  return TRUE;
}

void release_inferred(GstMeta* meta, GstBuffer*) { std::destroy_at(&cast(meta)->transforms); }

gboolean extend_inferred(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data);

GType inferred_api() {
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_ORIENTATION_STR,
                                GST_META_TAG_VIDEO_SIZE_STR, nullptr};
  static const GType type = meta_api("KeepboxInferredMetaAPI", sizeof(InferredMeta), tags);
  return type;
}

InferredMeta& add_inferred(GstBuffer* buffer) {
  static const GstMetaInfo* info =
      meta_info(inferred_api(), "KeepboxInferredMeta", sizeof(InferredMeta),
                {init_inferred, release_inferred, extend_inferred});
  return *cast(gst_buffer_add_meta(buffer, info, nullptr));
}

InferredMeta* find_inferred(GstBuffer* buffer, uint64_t producer) {
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(buffer, &state, inferred_api()))
    if (cast(meta)->producer == producer) return cast(meta);
  return nullptr;
}

gboolean extend_inferred(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data) {
  const bool copy = GST_META_TRANSFORM_IS_COPY(type);
  auto step = copy ? std::nullopt : step_of(type, data);
  if (!copy && !step) return FALSE;
  // The source may be in the same list of metas, which adding does not move.
  InferredMeta& added = add_inferred(to);
  added.producer = cast(meta)->producer;
  added.transforms = cast(meta)->transforms;
  if (step) added.transforms.push_back(std::move(*step));
  return TRUE;
}

bool same_shape(const Picture& a, const Picture& b) {
  return a.size == b.size && uint64_t{a.par_n} * b.par_d == uint64_t{b.par_n} * a.par_d;
}

}  // namespace

std::optional<PixelStep> step_of(GQuark type, gpointer data) {
  const auto step = [](const GstVideoInfo* from, const GstVideoInfo* to) {
    return PixelStep{picture_of(*from), picture_of(*to), std::nullopt};
  };
  if (const auto map = matrix_of(type, data)) {
    const auto& change = *static_cast<const MatrixTransform*>(data);
    PixelStep out = step(change.in_info, change.out_info);
    out.map = map;
    return out;
  }
  if (!GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) return std::nullopt;
  const auto& change = *static_cast<const GstVideoMetaTransform*>(data);
  return step(change.in_info, change.out_info);
}

PixelMap map_of(PixelTransforms transforms, const Picture& now, ResizeMode mode) {
  // The last element scaled but only copied metas.
  if (const Picture last = transforms.back().to; last.size != now.size)
    transforms.push_back({last, now, std::nullopt});
  PixelMap map;
  for (const PixelStep& step : transforms) {
    if (step.map) map = map.then(*step.map);
    else if (!same_shape(step.from, step.to))
      map = map.then(PixelMap::of(make_letterbox(step.from, step.to, mode)));
  }
  return map;
}

void begin_transforms(GstBuffer* frame, uint64_t producer, const Picture& picture) {
  if (InferredMeta* there = find_inferred(frame, producer))
    gst_buffer_remove_meta(frame, &there->meta);
  InferredMeta& added = add_inferred(frame);
  added.producer = producer;
  added.transforms.push_back({picture, picture, PixelMap()});
}

std::optional<PixelMap> map_from_inferred(GstBuffer* buffer, uint64_t producer, const Picture& now,
                                          ResizeMode mode) {
  const InferredMeta* inferred = find_inferred(buffer, producer);
  if (inferred == nullptr) return std::nullopt;
  return map_of(inferred->transforms, now, mode);
}

bool is_pixel_transforms(GType api) { return api == inferred_api(); }

SharedProvenance moved_provenance(const SharedProvenance& source, Size from, Size to,
                                  const PixelMap& map) {
  TensorProvenance out = *source;
  const auto& m = map.rows();
  const bool upright = m[1] == 0 && m[3] == 0 && m[6] == 0 && m[7] == 0 && m[8] == 1;
  const auto on_picture = [&](const auto& each) {
    return moved(scaled_to(each, from), to, m[0], m[4], m[2], m[5]);
  };
  if (upright && m[0] > 0 && m[4] > 0) {
    out.geometry = on_picture(source->geometry);
    for (Tile& tile : out.tiles) tile = on_picture(tile);
  } else {
    out.geometry = {}, out.tiles.clear(), out.lost_geometry = true;
  }
  return std::make_shared<const TensorProvenance>(std::move(out));
}

}  // namespace keepbox
