// SPDX-License-Identifier: LGPL-2.1-or-later
// keepbox for applications that run a model themselves: its tensors onto buffers, boxes off them.
//
// gst_init() comes before all of this. Every function may be called from any thread; a buffer is
// used by one at a time.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

G_BEGIN_DECLS

#define KEEPBOX_MAX_DIMS 8

/// Where a tensor's data lies.
typedef enum {
  KEEPBOX_MEMORY_SYSTEM,  // what malloc() and cudaMallocHost() give
  KEEPBOX_MEMORY_CUDA     // what cudaMalloc(), cudaMallocAsync() and cuMemAlloc() give
} KeepboxMemory;

/// When the content of CUDA memory is there. Nothing here makes the calling thread wait for it:
/// boxdecode's work is ordered behind it on the device.
typedef enum {
  KEEPBOX_READY_NOW,     // it is there; the only one for system memory
  KEEPBOX_READY_STREAM,  // behind all work that ready_on, a cudaStream_t or NULL for the default
                         // stream, has when the tensor is added
  KEEPBOX_READY_EVENT    // behind ready_on, a cudaEvent_t that has been recorded. It stays yours,
                         // and alive until the tensor's data is given back
} KeepboxReady;

/// A tensor that a model has put out: dense, row-major, whole bytes. The struct itself, its id
/// included, is read during the call only. What is not set has to be zero.
typedef struct {
  const gchar* id;  // as boxdecode's tensor-ids= names it, or NULL; never freed, so keep
                    // to a few
  GstTensorDataType data_type;   // GST_TENSOR_DATA_TYPE_FLOAT32 and all else but INT4 and UINT4
  gsize n_dims;                  // from 1 to KEEPBOX_MAX_DIMS
  gsize dims[KEEPBOX_MAX_DIMS];  // slowest first, as 1, 84, 8400
  gconstpointer data;
  gsize size;  // of data in bytes: the product of the dimensions and the size of data_type
  KeepboxMemory memory;
  KeepboxReady ready;
  gpointer ready_on;
} KeepboxTensor;

/// Adds a tensor to a buffer, beside those that it has; boxdecode downstream reads all of a
/// buffer's tensors. Data is not copied: it stays as it is until it is given back.
///
/// CUDA memory is used in the context that it was allocated in, the runtime's primary one for
/// cudaMalloc(); memory of a pool has none, and takes the stream's or else the current one. The
/// context has to outlive the buffers and the pipeline.
///
/// @param buffer writable. Copies of it share the data.
/// @param notify called once with user_data when no buffer holds the data any more, by whichever
/// thread lets go of it last and, for CUDA memory, with its context current; it must not wait for
/// the pipeline. NULL: the data outlives all buffers.
/// @param error NULL or the place of an error of GST_RESOURCE_ERROR: GST_RESOURCE_ERROR_SETTINGS
/// for arguments that do not fit, GST_RESOURCE_ERROR_FAILED for a driver or device that does not
/// work.
/// @return FALSE with the error set when nothing was added. The data is then still yours: notify
/// was not called and will not be.
GST_API_EXPORT
gboolean keepbox_buffer_add_tensor(GstBuffer* buffer, const KeepboxTensor* tensor,
                                   GDestroyNotify notify, gpointer user_data, GError** error);

/// Can tensors in CUDA memory be added: is this build made for it, and is there a driver?
/// @param error as above, says what is missing.
GST_API_EXPORT
gboolean keepbox_cuda_available(GError** error);

/// A box on a video frame.
typedef struct {
  gfloat x, y;           // its left upper corner in pixels of the frame
  gfloat width, height;  // in pixels; whole numbers when another decoder than boxdecode wrote it
  gfloat score;
  gfloat angle;        // in radians, clockwise; 0 for upright boxes
  gint class_id;       // as the model numbers it; -1 when another decoder does not say
  gint anchor;         // row or cell of the tensor; -1 likewise
  guint od_id;         // of the GstAnalyticsODMtd with the same box
  const gchar* label;  // never freed; NULL for none
} KeepboxBox;

/// Reads the boxes of a buffer, whichever decoder wrote them, in the order of its analytics meta:
/// boxdecode's is by descending score.
/// @param boxes room for capacity boxes, or NULL with a capacity of 0.
/// @return how many there are, of which the first up to capacity were written.
GST_API_EXPORT
guint keepbox_buffer_get_boxes(GstBuffer* buffer, KeepboxBox* boxes, guint capacity);

/// The version of the library, as "0.1.0".
GST_API_EXPORT
const gchar* keepbox_version(void);

G_END_DECLS
