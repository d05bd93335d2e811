// SPDX-License-Identifier: LGPL-2.1-or-later
// Every function and struct of keepbox.h, used from C.
#include "tests/gst/api_c.h"

#include "gst/api/keepbox.h"

gboolean api_c_add(GstBuffer* buffer, GError** error) {
  static const gfloat row[6] = {10, 20, 50, 80, 0.9f, 7};
  const KeepboxTensor tensor = {.id = "yolo-26-end2end-out",
                                .data_type = GST_TENSOR_DATA_TYPE_FLOAT32,
                                .n_dims = 3,
                                .dims = {1, 1, 6},
                                .data = row,
                                .size = sizeof row};
  return keepbox_version() != NULL && (keepbox_cuda_available(NULL) || TRUE) &&
         keepbox_buffer_add_tensor(buffer, &tensor, NULL, NULL, error);
}

const gchar* api_c_first_label(GstBuffer* buffer) {
  KeepboxBox box;
  return keepbox_buffer_get_boxes(buffer, &box, 1) > 0 ? box.label : NULL;
}

gsize api_c_tensor_size(void) { return sizeof(KeepboxTensor); }

gsize api_c_box_size(void) { return sizeof(KeepboxBox); }
