// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks what applications hand over, and passes it on.
#include "gst/api/keepbox.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "gst/base/error.h"
#include "gst/metas/analytics.h"
#include "gst/tensors/cudascope.h"
#include "gst/tensors/cudawrap.h"
#include "gst/tensors/tensors.h"

namespace keepbox {
namespace {

static_assert(KEEPBOX_MAX_DIMS == Shape::kMaxRank);
static_assert(int{KEEPBOX_READY_EVENT} == static_cast<int>(DeviceData::Ready::kBehindEvent));
static_assert(int{KEEPBOX_READY_STREAM} == static_cast<int>(DeviceData::Ready::kBehindStream));

std::unexpected<Error> bad(std::string expected, std::string found, std::string hint) {
  return fail(ErrorKind::kInvalid, std::move(expected), std::move(found), std::move(hint));
}

Status check_buffer(GstBuffer* buffer) {
  if (!GST_IS_BUFFER(buffer))
    return bad("a GstBuffer", buffer == nullptr ? "NULL" : "something else",
               "pass the frame that the tensor was made of");
  if (!gst_buffer_is_writable(buffer))
    return bad("a buffer of the caller's alone", "one that others hold, too",
               "call gst_buffer_make_writable() before");
  return {};
}

/// C puts any number into an enumeration, which C++ may not even look at.
template <class Enum>
int number_of(const Enum& value) {
  int number = 0;
  static_assert(sizeof value == sizeof number);
  std::memcpy(&number, &value, sizeof number);
  return number;
}
template <class Enum>
bool is_known(const Enum& value, Enum last) {
  return number_of(value) >= 0 && number_of(value) <= static_cast<int>(last);
}

/// Type and shape, and that the data is as large as they say.
Result<TensorView> check_form(const KeepboxTensor& tensor) {
  const auto type = is_known(tensor.data_type, GST_TENSOR_DATA_TYPE_BFLOAT16)
                        ? to_data_type(tensor.data_type)
                        : std::nullopt;
  if (!type)
    return bad("a data_type of 8 bits or more",
               "GstTensorDataType " + std::to_string(number_of(tensor.data_type)),
               "set data_type to what the model puts out, as GST_TENSOR_DATA_TYPE_FLOAT32");
  if (tensor.n_dims < 1 || tensor.n_dims > KEEPBOX_MAX_DIMS)
    return bad("1 to 8 dimensions", std::to_string(tensor.n_dims), "set n_dims and dims");
  TensorView view{.data = tensor.data,
                  .bytes = tensor.size,
                  .type = *type,
                  .shape = Shape(std::span(tensor.dims, tensor.n_dims))};
  const Result<size_t> count = view.shape.count();
  if (!count) return bad(count.error().expected, count.error().found, "set n_dims and dims");
  const size_t bytes = *count * size_of(*type);
  if (tensor.size != bytes)
    return bad(std::to_string(bytes) + " bytes for " + view.to_string(),
               "a size of " + std::to_string(tensor.size),
               "set data_type, dims and size to what the model puts out");
  if (tensor.data == nullptr && bytes != 0)
    return bad("data", "NULL", "set data to where the model put the tensor");
  return view;
}

Status check_place(const KeepboxTensor& tensor) {
  if (!is_known(tensor.memory, KEEPBOX_MEMORY_CUDA))
    return bad("a value of KeepboxMemory", std::to_string(number_of(tensor.memory)), "set memory");
  if (!is_known(tensor.ready, KEEPBOX_READY_EVENT))
    return bad("a value of KeepboxReady", std::to_string(number_of(tensor.ready)), "set ready");
  if (tensor.memory == KEEPBOX_MEMORY_SYSTEM && tensor.ready != KEEPBOX_READY_NOW)
    return bad("KEEPBOX_READY_NOW for system memory", "a stream or an event",
               "wait for the data, or set memory to KEEPBOX_MEMORY_CUDA");
  if (tensor.ready == KEEPBOX_READY_EVENT && tensor.ready_on == nullptr)
    return bad("an event for KEEPBOX_READY_EVENT", "NULL", "set ready_on to a cudaEvent_t");
  return {};
}

Result<GstMemory*> wrap(const KeepboxTensor& tensor, GDestroyNotify notify, gpointer user_data) {
  if (tensor.memory == KEEPBOX_MEMORY_CUDA && tensor.size != 0)
    return wrap_device_data({.data = const_cast<gpointer>(tensor.data),
                             .bytes = tensor.size,
                             .ready = static_cast<DeviceData::Ready>(tensor.ready),
                             .ready_on = tensor.ready_on},
                            notify, user_data);
  static char nothing;  // an empty tensor may have no data, but its memory must have an address
  gpointer data = tensor.size != 0 ? const_cast<gpointer>(tensor.data) : &nothing;
  return gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, data, tensor.size, 0, tensor.size,
                                user_data, notify);
}

Status add(GstBuffer* buffer, const KeepboxTensor* tensor, GDestroyNotify notify,
           gpointer user_data) {
  KB_TRY(check_buffer(buffer));
  if (tensor == nullptr) return bad("a KeepboxTensor", "NULL", "pass the tensor's description");
  const Result<TensorView> view = check_form(*tensor);
  if (!view) return std::unexpected(view.error());
  KB_TRY(check_place(*tensor));
  const Result<GstMemory*> memory = wrap(*tensor, notify, user_data);
  if (!memory) return std::unexpected(memory.error());
  GstBuffer* data = gst_buffer_new();
  gst_buffer_append_memory(data, *memory);
  add_tensor(buffer, tensor->id, view->type, view->shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR, data);
  return {};
}

KeepboxBox to_c(const FrameBox& box) {
  const auto number = [](std::optional<uint32_t> value) {
    return value ? static_cast<gint>(*value) : -1;
  };
  return {.x = box.box.x1,
          .y = box.box.y1,
          .width = box.box.x2 - box.box.x1,
          .height = box.box.y2 - box.box.y1,
          .score = box.score,
          .angle = box.angle,
          .class_id = number(box.class_id),
          .anchor = number(box.anchor),
          .od_id = box.od_id,
          .label = g_quark_to_string(box.label)};
}

/// TRUE, or FALSE with the error handed over.
gboolean report(const Status& status, GError** error) {
  if (!status) set_error(error, status.error());
  return status.has_value();
}

}  // namespace
}  // namespace keepbox

using namespace keepbox;

gboolean keepbox_buffer_add_tensor(GstBuffer* buffer, const KeepboxTensor* tensor,
                                   GDestroyNotify notify, gpointer user_data, GError** error) {
  return report(add(buffer, tensor, notify, user_data), error);
}

gboolean keepbox_cuda_available(GError** error) {
  return report(require_cuda("add tensors in system memory"), error);
}

guint keepbox_buffer_get_boxes(GstBuffer* buffer, KeepboxBox* boxes, guint capacity) {
  std::vector<FrameBox> found;
  if (!GST_IS_BUFFER(buffer) || !read_boxes(buffer, found)) return 0;
  const size_t written = boxes != nullptr ? std::min<size_t>(capacity, found.size()) : 0;
  std::ranges::transform(std::span(found).first(written), boxes, to_c);
  return static_cast<guint>(found.size());
}

const gchar* keepbox_version(void) { return PACKAGE_VERSION; }
