// SPDX-License-Identifier: LGPL-2.1-or-later
// What a model puts out, onto buffers.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * KEEPBOX_MAX_DIMS:
 *
 * The most dimensions that a tensor may have.
 *
 * Since: 0.2
 */
#define KEEPBOX_MAX_DIMS 8

/**
 * KeepboxMemory:
 * @KEEPBOX_MEMORY_SYSTEM: what malloc() and cudaMallocHost() give
 * @KEEPBOX_MEMORY_CUDA: what cudaMalloc(), cudaMallocAsync() and cuMemAlloc() give
 *
 * Where a tensor's data lies.
 *
 * Since: 0.2
 */
typedef enum { KEEPBOX_MEMORY_SYSTEM, KEEPBOX_MEMORY_CUDA } KeepboxMemory;

/**
 * KeepboxReady:
 * @KEEPBOX_READY_NOW: it is there; the only one for system memory
 * @KEEPBOX_READY_STREAM: behind all work that a stream (a cudaStream_t, or %NULL for the default
 *   one) has when the tensor is added
 * @KEEPBOX_READY_EVENT: behind an event (a cudaEvent_t) that has been recorded. It stays yours, and
 *   alive until the tensor's data is given back
 *
 * When the content of CUDA memory is there. Nothing here makes the calling thread wait for it:
 * boxdecode's work is ordered behind it on the device.
 *
 * Since: 0.2
 */
typedef enum { KEEPBOX_READY_NOW, KEEPBOX_READY_STREAM, KEEPBOX_READY_EVENT } KeepboxReady;

/**
 * KeepboxTensorInfo:
 *
 * What a tensor is that a model puts out on each frame: dense, row-major, whole bytes. It is made
 * once, and tensors are added by it: nothing of it is held by buffers.
 *
 * Since: 0.2
 */
typedef struct _KeepboxTensorInfo KeepboxTensorInfo;

#define KEEPBOX_TYPE_TENSOR_INFO (keepbox_tensor_info_get_type())
GST_API_EXPORT
GType keepbox_tensor_info_get_type(void);

/**
 * keepbox_tensor_info_new:
 * @id: (nullable): as boxdecode's tensor-ids= names it. Never freed, so keep to a few
 * @data_type: #GST_TENSOR_DATA_TYPE_FLOAT32 and all else but INT4 and UINT4
 * @dims: (array length=n_dims): slowest first, as 1, 84, 8400
 * @n_dims: from 1 to %KEEPBOX_MAX_DIMS
 *
 * Describes a tensor in system memory. What does not fit is said when a tensor is added.
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
 * Returns: (transfer full): another one like it
 *
 * Since: 0.2
 */
GST_API_EXPORT
KeepboxTensorInfo* keepbox_tensor_info_copy(const KeepboxTensorInfo* info);

/**
 * keepbox_tensor_info_free: (skip)
 * @info: (transfer full) (nullable): a description
 *
 * Tensors that were added by it stay as they are.
 *
 * Since: 0.2
 */
GST_API_EXPORT
void keepbox_tensor_info_free(KeepboxTensorInfo* info);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(KeepboxTensorInfo, keepbox_tensor_info_free)

/**
 * keepbox_tensor_info_set_memory:
 * @info: a description
 * @memory: where the data of tensors lies that are added from now on
 *
 * Since: 0.2
 */
GST_API_EXPORT
void keepbox_tensor_info_set_memory(KeepboxTensorInfo* info, KeepboxMemory memory);

/**
 * keepbox_tensor_info_set_ready:
 * @info: a description
 * @ready: when the data of tensors is there that are added from now on
 * @ready_on: (nullable): the stream or the event
 *
 * Since: 0.2
 */
GST_API_EXPORT
void keepbox_tensor_info_set_ready(KeepboxTensorInfo* info, KeepboxReady ready, gpointer ready_on);

/**
 * keepbox_buffer_add_tensor:
 * @buffer: a writable buffer. Copies of it share the data
 * @info: what the tensor is
 * @data: its numbers
 * @size: of @data in bytes: the product of the dimensions and the size of the data type
 * @notify: (nullable) (scope async) (closure user_data): called once with @user_data when no buffer
 *   holds the data any more, by whichever thread lets go of it last and, for CUDA memory, with its
 *   context current; it must not wait for the pipeline. %NULL: the data outlives all buffers
 * @user_data: of @notify
 * @error: place of an error of #GST_RESOURCE_ERROR: GST_RESOURCE_ERROR_SETTINGS for arguments that
 *   do not fit, GST_RESOURCE_ERROR_FAILED for a driver or device that does not work
 *
 * Adds a tensor to a buffer, beside those that it has; boxdecode downstream reads all of a buffer's
 * tensors. Data is not copied: it stays as it is until it is given back.
 *
 * CUDA memory is used in the context that it was allocated in, the runtime's primary one for
 * cudaMalloc(); memory of a pool has none, and takes the stream's or else the current one. The
 * context has to outlive the buffers and the pipeline.
 *
 * Returns: %FALSE with @error set when nothing was added. The data is then still yours: @notify was
 *   not called and will not be
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_buffer_add_tensor(GstBuffer* buffer, const KeepboxTensorInfo* info,
                                   gconstpointer data, gsize size, GDestroyNotify notify,
                                   gpointer user_data, GError** error);

/**
 * keepbox_buffer_add_tensor_bytes:
 * @buffer: as above
 * @info: what the tensor is
 * @bytes: its numbers, which the buffer holds a reference of
 * @error: as above
 *
 * The same for data in system memory that is counted.
 *
 * Returns: %FALSE with @error set when nothing was added
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_buffer_add_tensor_bytes(GstBuffer* buffer, const KeepboxTensorInfo* info,
                                         GBytes* bytes, GError** error);

/**
 * keepbox_cuda_available:
 * @error: as above, says what is missing
 *
 * Can tensors in CUDA memory be added: is this build made for it, and are GStreamer's CUDA library
 * and a driver there?
 *
 * Returns: %FALSE with @error set when they cannot
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_cuda_available(GError** error);

G_END_DECLS
