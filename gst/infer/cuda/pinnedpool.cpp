// SPDX-License-Identifier: LGPL-2.1-or-later
// An allocator of page-locked memory, and pools that use it.
#include "gst/infer/cuda/pinnedpool.h"

#include <gst/video/gstvideopool.h>
#include <gst/video/video.h>

#include <cstring>

#include "gst/tensors/cudaobjects.h"

struct KeepboxPinnedAllocator {
  GstAllocator parent;
  keepbox::CudaContext* context;
};
struct KeepboxPinnedAllocatorClass {
  GstAllocatorClass parent;
};

static GType keepbox_pinned_allocator_get_type();

G_DEFINE_TYPE(KeepboxPinnedAllocator, keepbox_pinned_allocator, GST_TYPE_ALLOCATOR)

namespace keepbox {
namespace {

constexpr const char* kPinnedMemory = "KeepboxPinnedMemory";

struct PinnedMemory {
  GstMemory memory;
  gpointer data;
};

const CudaContext& context_of(GstAllocator* allocator) {
  return *reinterpret_cast<KeepboxPinnedAllocator*>(allocator)->context;
}

/// Returns page-locked memory, which begins at a page; nullptr if there is none.
gpointer allocate_pinned(const CudaContext& context, gsize bytes) {
  const CudaScope scope(context);
  gpointer data = nullptr;
  if (!scope.status() || cuda_driver().host_alloc(&data, bytes, CU_MEMHOSTALLOC_PORTABLE) != 0)
    return nullptr;
  return data;
}

GstMemory* make_memory(GstAllocator* allocator, GstMemoryFlags flags, GstMemory* parent,
                       gpointer data, gsize max_size, gsize align, gsize offset, gsize size) {
  auto* out = g_new0(PinnedMemory, 1);
  gst_memory_init(&out->memory, flags, allocator, parent, max_size, align, offset, size);
  out->data = data;
  return &out->memory;
}

/// Falls back to ordinary memory, from which frames are only slower to read.
GstMemory* alloc(GstAllocator* allocator, gsize size, GstAllocationParams* params) {
  constexpr gsize kPageMask = 4095;
  const gsize max_size = params->prefix + size + params->padding;
  gpointer data =
      params->align <= kPageMask ? allocate_pinned(context_of(allocator), max_size) : nullptr;
  if (data == nullptr) return gst_allocator_alloc(nullptr, size, params);
  auto* bytes = static_cast<guint8*>(data);
  if ((params->flags & GST_MEMORY_FLAG_ZERO_PREFIXED) != 0) std::memset(bytes, 0, params->prefix);
  if ((params->flags & GST_MEMORY_FLAG_ZERO_PADDED) != 0)
    std::memset(bytes + params->prefix + size, 0, params->padding);
  return make_memory(allocator, params->flags, nullptr, data, max_size, params->align,
                     params->prefix, size);
}

void free_memory(GstAllocator* allocator, GstMemory* memory) {
  auto* pinned = reinterpret_cast<PinnedMemory*>(memory);
  if (memory->parent == nullptr) {
    const CudaScope scope(context_of(allocator));
    if (scope.status()) cuda_driver().host_free(pinned->data);
  }
  g_free(pinned);
}

gpointer map(GstMemory* memory, gsize, GstMapFlags) {
  return reinterpret_cast<PinnedMemory*>(memory)->data;
}

void unmap(GstMemory*) {}

GstMemory* share(GstMemory* memory, gssize offset, gssize size) {
  GstMemory* parent = memory->parent != nullptr ? memory->parent : memory;
  if (size < 0) size = static_cast<gssize>(memory->size) - offset;
  const auto flags = static_cast<GstMemoryFlags>(GST_MINI_OBJECT_FLAGS(parent) |
                                                 GST_MINI_OBJECT_FLAG_LOCK_READONLY);
  return make_memory(memory->allocator, flags, parent, map(memory, 0, GST_MAP_READ),
                     memory->maxsize, memory->align, memory->offset + static_cast<gsize>(offset),
                     static_cast<gsize>(size));
}

void finalize(GObject* object) {
  delete reinterpret_cast<KeepboxPinnedAllocator*>(object)->context;
  G_OBJECT_CLASS(keepbox_pinned_allocator_parent_class)->finalize(object);
}

GstAllocator* make_allocator(const CudaContext& context) {
  auto* out = static_cast<KeepboxPinnedAllocator*>(
      g_object_new(keepbox_pinned_allocator_get_type(), nullptr));
  gst_object_ref_sink(out);
  out->context = new CudaContext(context);
  return GST_ALLOCATOR(out);
}

/// Returns the format of frames in system memory that upstream wants a pool for.
bool wants_pool(GstQuery* query, GstCaps*& caps, GstVideoInfo& info) {
  gboolean need_pool = FALSE;
  gst_query_parse_allocation(query, &caps, &need_pool);
  if (caps == nullptr || !need_pool || gst_query_get_n_allocation_pools(query) != 0) return false;
  const GstCapsFeatures* features = gst_caps_get_features(caps, 0);
  return gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY) != FALSE &&
         gst_video_info_from_caps(&info, caps) != FALSE;
}

/// Names the allocator in the first parameters, which base classes set in a pool's configuration
/// again. @return false if downstream wants a different one.
bool offer_allocator(GstQuery* query, GstAllocator* allocator) {
  if (gst_query_get_n_allocation_params(query) == 0) {
    gst_query_add_allocation_param(query, allocator, nullptr);
    return true;
  }
  g_autoptr(GstAllocator) wanted = nullptr;
  GstAllocationParams params;
  gst_query_parse_nth_allocation_param(query, 0, &wanted, &params);
  if (wanted != nullptr) return false;
  gst_query_set_nth_allocation_param(query, 0, allocator, &params);
  return true;
}

}  // namespace

bool offer_pinned_pool(GstQuery* query, const CudaContext& context) {
  GstCaps* caps = nullptr;
  GstVideoInfo info;
  if (!wants_pool(query, caps, info)) return false;
  g_autoptr(GstAllocator) allocator = make_allocator(context);
  if (!offer_allocator(query, allocator)) return false;
  g_autoptr(GstBufferPool) pool = gst_video_buffer_pool_new();
  const auto size = static_cast<guint>(GST_VIDEO_INFO_SIZE(&info));
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, size, 0, 0);
  gst_buffer_pool_config_set_allocator(config, allocator, nullptr);
  if (!gst_buffer_pool_set_config(pool, config)) return false;
  gst_query_add_allocation_pool(query, pool, size, 0, 0);
  return true;
}

bool is_pinned(const void* data) {
  unsigned type = 0;
  return cuda_driver().pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                         reinterpret_cast<CUdeviceptr>(data)) == CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_HOST;
}

}  // namespace keepbox

static void keepbox_pinned_allocator_init(KeepboxPinnedAllocator* self) {
  GstAllocator* allocator = GST_ALLOCATOR(self);
  allocator->mem_type = keepbox::kPinnedMemory;
  allocator->mem_map = keepbox::map;
  allocator->mem_unmap = keepbox::unmap;
  allocator->mem_share = keepbox::share;
}

static void keepbox_pinned_allocator_class_init(KeepboxPinnedAllocatorClass* klass) {
  klass->parent.alloc = keepbox::alloc;
  klass->parent.free = keepbox::free_memory;
  G_OBJECT_CLASS(klass)->finalize = keepbox::finalize;
}
