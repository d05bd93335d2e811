// SPDX-License-Identifier: LGPL-2.1-or-later
// Uses every function and macro of keepbox.h from C.
#include "tests/gst/api/api_c.h"

#include <keepbox.h>

#if !KEEPBOX_CHECK_VERSION(0, 2, 0) || \
    !KEEPBOX_CHECK_VERSION(KEEPBOX_VERSION_MAJOR, KEEPBOX_VERSION_MINOR, KEEPBOX_VERSION_MICRO)
#error "the headers are of 0.2.0 or newer"
#endif
#if KEEPBOX_CHECK_VERSION(KEEPBOX_VERSION_MAJOR + 1, 0, 0) ||                     \
    KEEPBOX_CHECK_VERSION(KEEPBOX_VERSION_MAJOR, KEEPBOX_VERSION_MINOR + 1, 0) || \
    KEEPBOX_CHECK_VERSION(KEEPBOX_VERSION_MAJOR, KEEPBOX_VERSION_MINOR, KEEPBOX_VERSION_MICRO + 1)
#error "the headers are not newer than they are"
#endif

gboolean api_c_add(GstBuffer* buffer, GError** error) {
  static const gfloat row[6] = {10, 20, 50, 80, 0.9f, 7};
  const gsize dims[KEEPBOX_MAX_DIMS] = {1, 1, 6};
  g_autoptr(KeepboxTensorInfo) first =
      keepbox_tensor_info_new("yolo-26-end2end-out", GST_TENSOR_DATA_TYPE_FLOAT32, dims, 3);
  g_autoptr(KeepboxTensorInfo) info = g_boxed_copy(KEEPBOX_TYPE_TENSOR_INFO, first);
  g_autoptr(GBytes) bytes = g_bytes_new_static(row, sizeof row);
  keepbox_tensor_info_set_memory(first, KEEPBOX_MEMORY_CUDA);
  keepbox_tensor_info_set_ready(first, KEEPBOX_READY_NOW, NULL);
  return !keepbox_buffer_add_tensor_bytes(buffer, first, bytes, NULL) &&
         keepbox_buffer_add_tensor(buffer, info, row, sizeof row, NULL, NULL, error) &&
         (keepbox_cuda_available(NULL) || TRUE);
}

gboolean api_c_add_batch(GstBuffer** buffers, gsize count, GError** error) {
  static const gfloat rows[2][6] = {{10, 20, 50, 80, 0.9f, 7}, {10, 20, 50, 80, 0.9f, 7}};
  const gsize dims[] = {count, 1, 6};
  g_autoptr(KeepboxTensorInfo) info =
      keepbox_tensor_info_new("yolo-26-end2end-out", GST_TENSOR_DATA_TYPE_FLOAT32, dims, 3);
  return keepbox_buffers_add_tensor(buffers, count, info, rows, sizeof rows, NULL, NULL, error);
}

static gboolean carries_nothing(const KeepboxBox* box) {
  guint width = 1, height = 1;
  gsize points = 1, edges = 1, stride = 1;
  g_autoptr(GBytes) bytes = keepbox_box_dup_mask(box, NULL, NULL);
  return keepbox_box_get_points(box, &points) == NULL && points == 0 &&
         keepbox_box_get_edges(box, &edges) == NULL && edges == 0 &&
         keepbox_box_get_points_name(box) == NULL && bytes == NULL &&
         keepbox_box_get_mask(box, &width, &height, &stride) == NULL && width == 0 && height == 0 &&
         !keepbox_box_get_mask_rect(box, NULL, NULL, NULL, NULL);
}

static gboolean check_box(const KeepboxBox* box) {
  gfloat x, y, width, height;
  keepbox_box_get_rect(box, &x, &y, &width, &height);
  keepbox_box_get_rect(box, NULL, NULL, NULL, NULL);
  return x == 10 && y == 20 && width == 40 && height == 60 && keepbox_box_get_score(box) == 0.9f &&
         keepbox_box_get_angle(box) == 0 && g_strcmp0(keepbox_box_get_label(box), "class-7") == 0 &&
         keepbox_box_get_class_id(box) == 7 && keepbox_box_get_anchor(box) == 0 &&
         keepbox_box_get_od_id(box) == 0 && g_strcmp0(keepbox_box_get_model(box), "rows") == 0 &&
         !keepbox_box_get_tracking_id(box, NULL) && carries_nothing(box);
}

gboolean api_c_check(GstBuffer* buffer) {
  guint count = 0, again = 0;
  g_autofree KeepboxBox** boxes = keepbox_buffer_get_boxes(buffer, &count);
  g_autofree KeepboxBox** own = keepbox_buffer_dup_boxes(buffer, &again);
  if (count != 1 || again != 1) return FALSE;
  g_autoptr(KeepboxBox) box = own[0];
  g_autoptr(KeepboxBox) copy = g_boxed_copy(KEEPBOX_TYPE_BOX, boxes[0]);
  return check_box(boxes[0]) && check_box(box) && check_box(copy);
}

void api_c_set_place(KeepboxTensorInfo* info, gint memory, gint ready) {
  keepbox_tensor_info_set_memory(info, (KeepboxMemory)memory);
  keepbox_tensor_info_set_ready(info, (KeepboxReady)ready, NULL);
}
