// SPDX-License-Identifier: LGPL-2.1-or-later
// Attaches a model's output tensors to buffers.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * KEEPBOX_MAX_DIMS:
 *
 * The maximum number of dimensions of a tensor.
 *
 * Since: 0.2
 */
#define KEEPBOX_MAX_DIMS 8

/**
 * KeepboxMemory:
 * @KEEPBOX_MEMORY_SYSTEM: host memory, from malloc() or cudaMallocHost()
 * @KEEPBOX_MEMORY_CUDA: device memory, from cudaMalloc(), cudaMallocAsync() or cuMemAlloc()
 *
 * The memory of a tensor's data.
 *
 * Since: 0.2
 */
typedef enum { KEEPBOX_MEMORY_SYSTEM, KEEPBOX_MEMORY_CUDA } KeepboxMemory;

/**
 * KeepboxReady:
 * @KEEPBOX_READY_NOW: the data is complete; the only value for system memory
 * @KEEPBOX_READY_STREAM: after all work that is queued on a stream (a cudaStream_t, or %NULL for
 *   the default stream) when the tensor is added
 * @KEEPBOX_READY_EVENT: after a recorded event (a cudaEvent_t), which the caller owns and must keep
 *   until the tensor's data is released
 *
 * Moment at which data in CUDA memory is complete. The calling thread never waits for it:
 * boxdecode's work is queued after it on the device.
 *
 * Since: 0.2
 */
typedef enum { KEEPBOX_READY_NOW, KEEPBOX_READY_STREAM, KEEPBOX_READY_EVENT } KeepboxReady;

/**
 * KeepboxTensorInfo:
 *
 * Describes a tensor that a model outputs for each frame: dense, row-major, with elements of whole
 * bytes. Create it once and use it for all frames; buffers do not keep references to it.
 *
 * Since: 0.2
 */
typedef struct _KeepboxTensorInfo KeepboxTensorInfo;

#define KEEPBOX_TYPE_TENSOR_INFO (keepbox_tensor_info_get_type())
GST_API_EXPORT
GType keepbox_tensor_info_get_type(void);

/**
 * keepbox_tensor_info_new:
 * @id: (nullable): the tensor id, as in boxdecode's tensor-ids=. Ids are never freed, so use only a
 *   few
 * @data_type: the type of the elements, such as #GST_TENSOR_DATA_TYPE_FLOAT32; INT4 and UINT4 are
 *   not supported
 * @dims: (array length=n_dims): the dimensions, slowest first, such as 1, 84, 8400
 * @n_dims: the number of dimensions, from 1 to %KEEPBOX_MAX_DIMS
 *
 * Describes a tensor in system memory. Invalid values are reported when a tensor is added.
 *
 * Returns: (transfer full): the description
 *
 * Since: 0.2
 */
GST_API_EXPORT
KeepboxTensorInfo* keepbox_tensor_info_new(const gchar* id, GstTensorDataType data_type,
                                           const gsize* dims, gsize n_dims);

/**
 * keepbox_tensor_info_copy:
 * @info: a description
 *
 * Copies a description.
 *
 * Returns: (transfer full): the copy
 *
 * Since: 0.2
 */
GST_API_EXPORT
KeepboxTensorInfo* keepbox_tensor_info_copy(const KeepboxTensorInfo* info);

/**
 * keepbox_tensor_info_free: (skip)
 * @info: (transfer full) (nullable): a description
 *
 * Frees a description. Tensors that were added with it are not affected.
 *
 * Since: 0.2
 */
GST_API_EXPORT
void keepbox_tensor_info_free(KeepboxTensorInfo* info);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(KeepboxTensorInfo, keepbox_tensor_info_free)

/**
 * keepbox_tensor_info_set_memory:
 * @info: a description
 * @memory: the memory of the tensors' data
 *
 * Sets the memory of the data of tensors that are added from now on.
 *
 * Since: 0.2
 */
GST_API_EXPORT
void keepbox_tensor_info_set_memory(KeepboxTensorInfo* info, KeepboxMemory memory);

/**
 * keepbox_tensor_info_set_ready:
 * @info: a description
 * @ready: when the tensors' data is complete
 * @ready_on: (nullable): the stream or the event
 *
 * Sets when the data of tensors that are added from now on is complete.
 *
 * Since: 0.2
 */
GST_API_EXPORT
void keepbox_tensor_info_set_ready(KeepboxTensorInfo* info, KeepboxReady ready, gpointer ready_on);

/**
 * keepbox_buffer_add_tensor:
 * @buffer: a writable buffer. Copies of it share the data
 * @info: the description of the tensor
 * @data: the tensor data
 * @size: the size of @data in bytes: the product of the dimensions and the size of the data type
 * @notify: (nullable) (scope async) (closure user_data): called once with @user_data when no buffer
 *   holds the data any more, in the thread that releases it last and, for CUDA memory, with its
 *   context current; it must not wait for the pipeline. %NULL if the data outlives all buffers
 * @user_data: data for @notify
 * @error: return location for an error of #GST_RESOURCE_ERROR: GST_RESOURCE_ERROR_SETTINGS for
 *   invalid arguments, GST_RESOURCE_ERROR_FAILED if the driver or device fails
 *
 * Adds a tensor to a buffer, in addition to existing ones; boxdecode downstream reads all tensors
 * of a buffer. The data is not copied and must not change until it is released.
 *
 * CUDA memory is used in the context that it was allocated in, which for cudaMalloc() is the
 * runtime's primary context. Memory of a pool has no context: the stream's context is used, or else
 * the current one. The context must outlive the buffers and the pipeline.
 *
 * Returns: %TRUE if the tensor was added; %FALSE with @error set otherwise. The caller then still
 *   owns the data, and @notify is not called
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_buffer_add_tensor(GstBuffer* buffer, const KeepboxTensorInfo* info,
                                   gconstpointer data, gsize size, GDestroyNotify notify,
                                   gpointer user_data, GError** error);

/**
 * keepbox_buffer_add_tensor_bytes:
 * @buffer: a writable buffer. Copies of it share the data
 * @info: the description of the tensor
 * @bytes: the tensor data, to which the buffer holds a reference
 * @error: return location for an error, as for keepbox_buffer_add_tensor()
 *
 * Adds a tensor to a buffer like keepbox_buffer_add_tensor(), with reference-counted data in system
 * memory.
 *
 * Returns: %TRUE if the tensor was added; %FALSE with @error set otherwise
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_buffer_add_tensor_bytes(GstBuffer* buffer, const KeepboxTensorInfo* info,
                                         GBytes* bytes, GError** error);

/**
 * keepbox_buffers_add_tensor:
 * @buffers: (in) (array length=n_buffers) (transfer none): different writable buffers, the frames
 *   of the batch in its order. Copies of them share the data
 * @n_buffers: the number of frames, 1 or more
 * @info: the description of the tensor of the whole batch. Its first dimension is @n_buffers
 * @data: the tensor data of all frames
 * @size: the size of @data in bytes: the product of the dimensions and the size of the data type
 * @notify: (nullable) (scope async) (closure user_data): called once with @user_data when no buffer
 *   holds a slice of the data any more, as for keepbox_buffer_add_tensor()
 * @user_data: data for @notify
 * @error: return location for an error, as for keepbox_buffer_add_tensor()
 *
 * Adds the tensor of a batch to its frames: each buffer gets its slice, whose first dimension is 1,
 * as keepbox_buffer_add_tensor() would add it. The data is not copied and must not change until all
 * slices are released.
 *
 * A model with several output tensors needs one call for each of them.
 *
 * Returns: %TRUE if the slices were added; %FALSE with @error set otherwise. No buffer then has a
 *   slice, the caller still owns the data, and @notify is not called
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_buffers_add_tensor(GstBuffer** buffers, gsize n_buffers,
                                    const KeepboxTensorInfo* info, gconstpointer data, gsize size,
                                    GDestroyNotify notify, gpointer user_data, GError** error);

/**
 * keepbox_cuda_available:
 * @error: return location for an error that names what is missing
 *
 * Checks if tensors in CUDA memory can be added: this requires a build with CUDA, GStreamer's CUDA
 * library and a driver.
 *
 * Returns: %TRUE if tensors in CUDA memory can be added; %FALSE with @error set otherwise
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_cuda_available(GError** error);

G_END_DECLS
