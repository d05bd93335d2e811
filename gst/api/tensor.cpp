// SPDX-License-Identifier: LGPL-2.1-or-later
// Validates the arguments of applications, and attaches their tensors.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gst/api/keepbox.h"
#include "gst/base/error.h"
#include "gst/tensors/cudascope.h"
#include "gst/tensors/tensors.h"

struct _KeepboxTensorInfo {
  GQuark id = 0;
  GstTensorDataType data_type{};
  std::array<gsize, KEEPBOX_MAX_DIMS> dims{};
  gsize n_dims = 0;  // as given by the caller, possibly too many
  KeepboxMemory memory = KEEPBOX_MEMORY_SYSTEM;
  KeepboxReady ready = KEEPBOX_READY_NOW;
  gpointer ready_on = nullptr;
};

namespace keepbox {
namespace {

static_assert(KEEPBOX_MAX_DIMS == Shape::kMaxRank);
static_assert(int{KEEPBOX_READY_EVENT} == static_cast<int>(DeviceData::Ready::kAfterEvent));
static_assert(int{KEEPBOX_READY_STREAM} == static_cast<int>(DeviceData::Ready::kAfterStream));

/// Data of a tensor, and the callback that releases it.
struct BorrowedData {
  gconstpointer data;
  gsize size;
  GDestroyNotify notify;
  gpointer user_data;
};

std::unexpected<Error> bad(std::string expected, std::string found, std::string hint) {
  return fail(ErrorKind::kInvalid, std::move(expected), std::move(found), std::move(hint));
}

Status check_buffer(GstBuffer* buffer) {
  if (!GST_IS_BUFFER(buffer))
    return bad("a GstBuffer", buffer == nullptr ? "NULL" : "something else",
               "pass the frame that the tensor was inferred from");
  if (!gst_buffer_is_writable(buffer))
    return bad("a writable buffer", "a shared one", "call gst_buffer_make_writable() first");
  return {};
}

/// Returns an enumeration's value, which from C may be outside of the enumeration.
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

Status check_buffers(std::span<GstBuffer* const> buffers) {
  if (buffers.empty()) return bad("at least one buffer", "none", "pass the frames of the batch");
  for (GstBuffer* buffer : buffers) KB_TRY(check_buffer(buffer));
  if (std::set(buffers.begin(), buffers.end()).size() != buffers.size())
    return bad("different buffers", "one of them twice", "pass each frame of the batch once");
  return {};
}

/// Checks type and shape, and that the data has the matching size.
Result<TensorView> check_form(const KeepboxTensorInfo& info, const BorrowedData& lent) {
  const auto type = is_known(info.data_type, GST_TENSOR_DATA_TYPE_BFLOAT16)
                        ? to_data_type(info.data_type)
                        : std::nullopt;
  if (!type)
    return bad("a data_type of 8 bits or more",
               "GstTensorDataType " + std::to_string(number_of(info.data_type)),
               "set data_type to the model's type, such as GST_TENSOR_DATA_TYPE_FLOAT32");
  if (info.n_dims < 1 || info.n_dims > KEEPBOX_MAX_DIMS)
    return bad("1 to 8 dimensions", std::to_string(info.n_dims), "set n_dims and dims");
  TensorView view{.data = lent.data,
                  .bytes = lent.size,
                  .type = *type,
                  .shape = Shape(std::span(info.dims).first(info.n_dims))};
  const Result<size_t> count = view.shape.count();
  if (!count) return reject(ErrorKind::kInvalid, count.error().what, "set n_dims and dims");
  const size_t bytes = *count * size_of(*type);
  if (lent.size != bytes)
    return bad(std::to_string(bytes) + " bytes for " + view.to_string(),
               "a size of " + std::to_string(lent.size),
               "set data_type, dims and size to those of the model's output");
  if (lent.data == nullptr && bytes != 0)
    return bad("data", "NULL", "pass the address of the model's output");
  return view;
}

Status check_place(const KeepboxTensorInfo& info) {
  if (!is_known(info.memory, KEEPBOX_MEMORY_CUDA))
    return bad("a value of KeepboxMemory", std::to_string(number_of(info.memory)),
               "call keepbox_tensor_info_set_memory() with such a value");
  if (!is_known(info.ready, KEEPBOX_READY_EVENT))
    return bad("a value of KeepboxReady", std::to_string(number_of(info.ready)),
               "call keepbox_tensor_info_set_ready() with such a value");
  if (info.memory == KEEPBOX_MEMORY_SYSTEM && info.ready != KEEPBOX_READY_NOW)
    return bad("KEEPBOX_READY_NOW for system memory", "a stream or an event",
               "wait for the data, or set KEEPBOX_MEMORY_CUDA");
  if (info.ready == KEEPBOX_READY_EVENT && info.ready_on == nullptr)
    return bad("an event for KEEPBOX_READY_EVENT", "NULL", "set ready_on to a cudaEvent_t");
  return {};
}

Result<GstMemory*> wrap(const KeepboxTensorInfo& info, const BorrowedData& lent) {
  if (info.memory == KEEPBOX_MEMORY_CUDA && lent.size != 0)
    return wrap_device_data({.data = const_cast<gpointer>(lent.data),
                             .bytes = lent.size,
                             .ready = static_cast<DeviceData::Ready>(info.ready),
                             .ready_on = info.ready_on},
                            lent.notify, lent.user_data);
  static char nothing;  // an empty tensor may have no data, but memory needs an address
  gpointer data = lent.size != 0 ? const_cast<gpointer>(lent.data) : &nothing;
  return gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, data, lent.size, 0, lent.size,
                                lent.user_data, lent.notify);
}

Result<TensorView> check_tensor(const KeepboxTensorInfo* info, const BorrowedData& lent) {
  if (info == nullptr)
    return bad("a KeepboxTensorInfo", "NULL", "create one with keepbox_tensor_info_new()");
  KB_ASSIGN(const TensorView view, check_form(*info, lent));
  KB_TRY(check_place(*info));
  return view;
}

/// @param memory transfer full.
void attach(GstBuffer* buffer, GQuark id, const TensorView& view, GstMemory* memory) {
  GstBuffer* data = gst_buffer_new();
  gst_buffer_append_memory(data, memory);
  add_tensor(buffer, g_quark_to_string(id), view.type, view.shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR,
             data);
}

Status add(GstBuffer* buffer, const KeepboxTensorInfo* info, const BorrowedData& lent) {
  KB_TRY(check_buffer(buffer));
  KB_ASSIGN(const TensorView view, check_tensor(info, lent));
  KB_ASSIGN(GstMemory* const memory, wrap(*info, lent));
  attach(buffer, info->id, view, memory);
  return {};
}

/// Data of a batch that was lent; its slices own it.
struct BorrowedBatch {
  explicit BorrowedBatch(const BorrowedData& from) : lent(from) {}
  BorrowedBatch(const BorrowedBatch&) = delete;
  BorrowedBatch& operator=(const BorrowedBatch&) = delete;
  ~BorrowedBatch() {
    if (lent.notify != nullptr) lent.notify(lent.user_data);
  }
  BorrowedData lent;
};
using SharedBatch = std::shared_ptr<BorrowedBatch>;

void release_slice(gpointer owner) { delete static_cast<SharedBatch*>(owner); }

Result<GstMemory*> wrap_slice(const KeepboxTensorInfo& info, const SharedBatch& batch, size_t index,
                              size_t count) {
  const gsize bytes = batch->lent.size / count;
  auto* owner = new SharedBatch(batch);
  auto memory = wrap(info, {static_cast<const std::byte*>(batch->lent.data) + index * bytes, bytes,
                            release_slice, owner});
  if (!memory) release_slice(owner);
  return memory;
}

/// Wraps all slices. If one fails, none is left, and the data is not released.
Result<std::vector<GstMemory*>> wrap_slices(const KeepboxTensorInfo& info, const BorrowedData& lent,
                                            size_t count) {
  const auto batch = std::make_shared<BorrowedBatch>(lent);
  std::vector<GstMemory*> out;
  while (out.size() < count) {
    const auto memory = wrap_slice(info, batch, out.size(), count);
    if (!memory) {
      batch->lent.notify = nullptr;
      std::ranges::for_each(out, gst_memory_unref);
      return std::unexpected(memory.error());
    }
    out.push_back(*memory);
  }
  return out;
}

Status add_slices(std::span<GstBuffer* const> buffers, const KeepboxTensorInfo* info,
                  const BorrowedData& lent) {
  KB_TRY(check_buffers(buffers));
  KB_ASSIGN(TensorView view, check_tensor(info, lent));
  if (view.shape[0] != buffers.size())
    return bad("a first dimension of " + std::to_string(buffers.size()) + ", the number of buffers",
               view.to_string(), "pass a buffer for each frame of the batch");
  KB_ASSIGN(const auto memories, wrap_slices(*info, lent, buffers.size()));
  view.shape = slice_shape(view.shape);
  for (size_t i = 0; i < buffers.size(); ++i) attach(buffers[i], info->id, view, memories[i]);
  return {};
}

Status add_bytes(GstBuffer* buffer, const KeepboxTensorInfo* info, GBytes* bytes) {
  if (bytes == nullptr) return bad("GBytes", "NULL", "pass the tensor data");
  if (info != nullptr && number_of(info->memory) == KEEPBOX_MEMORY_CUDA)
    return bad("system memory for GBytes", "KEEPBOX_MEMORY_CUDA",
               "call keepbox_buffer_add_tensor() for device memory");
  gsize size = 0;
  gconstpointer data = g_bytes_get_data(bytes, &size);
  const auto unref = [](gpointer held) { g_bytes_unref(static_cast<GBytes*>(held)); };
  KB_TRY(add(buffer, info, {data, size, unref, bytes}));
  g_bytes_ref(bytes);
  return {};
}

/// Returns TRUE, or FALSE and sets the error.
gboolean report(const Status& status, GError** error) {
  if (!status) set_error(error, status.error());
  return status.has_value();
}

}  // namespace
}  // namespace keepbox

using namespace keepbox;

G_DEFINE_BOXED_TYPE(KeepboxTensorInfo, keepbox_tensor_info, keepbox_tensor_info_copy,
                    keepbox_tensor_info_free)

KeepboxTensorInfo* keepbox_tensor_info_new(const gchar* id, GstTensorDataType data_type,
                                           const gsize* dims, gsize n_dims) {
  auto* info = new KeepboxTensorInfo{.id = g_quark_from_string(id), .data_type = data_type};
  if (dims == nullptr) return info;
  info->n_dims = n_dims;
  std::copy_n(dims, std::min<gsize>(n_dims, KEEPBOX_MAX_DIMS), info->dims.begin());
  return info;
}

KeepboxTensorInfo* keepbox_tensor_info_copy(const KeepboxTensorInfo* info) {
  g_return_val_if_fail(info != nullptr, nullptr);
  return new KeepboxTensorInfo(*info);
}

void keepbox_tensor_info_free(KeepboxTensorInfo* info) { delete info; }

void keepbox_tensor_info_set_memory(KeepboxTensorInfo* info, KeepboxMemory memory) {
  g_return_if_fail(info != nullptr);
  info->memory = memory;
}

void keepbox_tensor_info_set_ready(KeepboxTensorInfo* info, KeepboxReady ready, gpointer ready_on) {
  g_return_if_fail(info != nullptr);
  info->ready = ready;
  info->ready_on = ready_on;
}

gboolean keepbox_buffer_add_tensor(GstBuffer* buffer, const KeepboxTensorInfo* info,
                                   gconstpointer data, gsize size, GDestroyNotify notify,
                                   gpointer user_data, GError** error) {
  return report(add(buffer, info, {data, size, notify, user_data}), error);
}

gboolean keepbox_buffers_add_tensor(GstBuffer** buffers, gsize n_buffers,
                                    const KeepboxTensorInfo* info, gconstpointer data, gsize size,
                                    GDestroyNotify notify, gpointer user_data, GError** error) {
  return report(add_slices(std::span(buffers, buffers != nullptr ? n_buffers : 0), info,
                           {data, size, notify, user_data}),
                error);
}

gboolean keepbox_buffer_add_tensor_bytes(GstBuffer* buffer, const KeepboxTensorInfo* info,
                                         GBytes* bytes, GError** error) {
  return report(add_bytes(buffer, info, bytes), error);
}

gboolean keepbox_cuda_available(GError** error) {
  return report(require_cuda("add tensors in system memory"), error);
}

const gchar* keepbox_version(void) { return PACKAGE_VERSION; }
