// SPDX-License-Identifier: LGPL-2.1-or-later
// Registers and transforms the meta of float boxes.
#include "gst/metas/boxmeta.h"

#include <gst/video/video.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

namespace keepbox {
namespace {

struct Room {
  BoxRecord* first;
  gsize capacity;
};

/// Rooms that metas gave back: frame after frame needs as much again.
class Shelf {
 public:
  Room take(gsize count) {
    {
      const std::lock_guard lock(mutex_);
      for (gsize i = used_; i-- > 0;) {
        if (rooms_[i].capacity < count) continue;
        std::swap(rooms_[i], rooms_[--used_]);
        return rooms_[used_];
      }
    }
    const gsize capacity = std::bit_ceil(std::max<gsize>(count, 64));
    return {g_new(BoxRecord, capacity), capacity};
  }

  void give_back(Room room) {
    constexpr gsize kLargest = 1 << 14;  // larger ones are rare and would stay
    {
      const std::lock_guard lock(mutex_);
      if (used_ < std::size(rooms_) && room.capacity <= kLargest) {
        rooms_[used_++] = room;
        return;
      }
    }
    g_free(room.first);
  }

 private:
  std::mutex mutex_;
  Room rooms_[32];
  gsize used_ = 0;
};

Shelf& shelf() {
  static Shelf& one = *new Shelf;  // outlives streaming threads that the program's end cuts off
  return one;
}

/// libkeepbox reads what the plugin writes: new members go to the end.
struct BoxMeta {
  GstMeta meta;
  BoxRecord* first;
  gsize count;
  gsize capacity;

  std::span<BoxRecord> boxes() const { return {first, count}; }
};

gboolean init(GstMeta* meta, gpointer, GstBuffer*) {
  auto* self = reinterpret_cast<BoxMeta*>(meta);
  self->first = nullptr;
  self->count = self->capacity = 0;
  return TRUE;
}

void release(GstMeta* meta, GstBuffer*) {
  const auto* self = reinterpret_cast<BoxMeta*>(meta);
  if (self->first != nullptr) shelf().give_back({self->first, self->capacity});
}

void reserve(BoxMeta& meta, gsize count) {
  if (count <= meta.capacity) return;
  const Room room = shelf().take(count);
  std::ranges::copy(meta.boxes(), room.first);
  if (meta.first != nullptr) shelf().give_back({meta.first, meta.capacity});
  meta.first = room.first;
  meta.capacity = room.capacity;
}

void scale(std::span<BoxRecord> boxes, const GstVideoMetaTransform& change) {
  const float x = static_cast<float>(GST_VIDEO_INFO_WIDTH(change.out_info)) /
                  static_cast<float>(GST_VIDEO_INFO_WIDTH(change.in_info));
  const float y = static_cast<float>(GST_VIDEO_INFO_HEIGHT(change.out_info)) /
                  static_cast<float>(GST_VIDEO_INFO_HEIGHT(change.in_info));
  for (BoxRecord& box : boxes) {
    box.x1 *= x;
    box.x2 *= x;
    box.y1 *= y;
    box.y2 *= y;
  }
}

gboolean transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data);

constexpr const char* kApiName = "KeepboxBoxMetaAPI";

// Looked up first: an application that links this code beside the plugin shares its types.
GType api_type() {
  static const GType type = [] {
    if (const GType there = g_type_from_name(kApiName)) return there;
    static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_ORIENTATION_STR,
                                  GST_META_TAG_VIDEO_SIZE_STR, nullptr};
    return gst_meta_api_type_register(kApiName, tags);
  }();
  return type;
}

const GstMetaInfo* info() {
  static const GstMetaInfo* registered = [] {
    const GstMetaInfo* there = gst_meta_get_info("KeepboxBoxMeta");
    return there != nullptr ? there
                            : gst_meta_register(api_type(), "KeepboxBoxMeta", sizeof(BoxMeta), init,
                                                release, transform);
  }();
  return registered;
}

gboolean transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data) {
  const auto* self = reinterpret_cast<BoxMeta*>(meta);
  const bool copy = GST_META_TRANSFORM_IS_COPY(type);
  if (!copy && !GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) return FALSE;
  std::ranges::copy(self->boxes(), add_box_meta(to, self->count).begin());
  if (!copy) {
    auto* added = reinterpret_cast<BoxMeta*>(gst_buffer_get_meta(to, api_type()));
    scale(added->boxes(), *static_cast<GstVideoMetaTransform*>(data));
  }
  return TRUE;
}

}  // namespace

GType box_meta_api_type() { return api_type(); }

std::span<BoxRecord> add_box_meta(GstBuffer* buffer, size_t count) {
  auto* self = reinterpret_cast<BoxMeta*>(gst_buffer_get_meta(buffer, api_type()));
  if (self == nullptr)
    self = reinterpret_cast<BoxMeta*>(gst_buffer_add_meta(buffer, info(), nullptr));
  reserve(*self, self->count + count);
  self->count += count;
  return self->boxes().last(count);
}

std::span<const BoxRecord> get_box_meta(GstBuffer* buffer) {
  // Registers nothing: two copies of this code that did so at once would be in each other's way.
  const GType api = g_type_from_name(kApiName);
  if (api == 0) return {};
  const auto* self = reinterpret_cast<BoxMeta*>(gst_buffer_get_meta(buffer, api));
  return self == nullptr ? std::span<const BoxRecord>() : self->boxes();
}

const BoxRecord* find_box(std::span<const BoxRecord> boxes, guint od_id) {
  const auto found = std::ranges::lower_bound(boxes, od_id, {}, &BoxRecord::od_id);
  return found == boxes.end() || found->od_id != od_id ? nullptr : &*found;
}

}  // namespace keepbox
