// SPDX-License-Identifier: LGPL-2.1-or-later
// Turns the output tensors of a detector into boxes, and suppresses overlapping boxes, on the CPU
// or on an NVIDIA GPU. Independent of GLib and GStreamer; needs Highway (libhwy) and a C library.
//
//   KeepboxDecodeError error;
//   KeepboxDecoder* decoder =
//       keepbox_decoder_new("detector=yolov8 model-size=640x640 frame-size=1920x1080 "
//                           "resize-mode=letterbox-center", &error);
//   KeepboxDecodeTensor tensor = KEEPBOX_DECODE_TENSOR_INIT;
//   tensor.data = output;  // of the model: 1x84x8400 float32
//   tensor.rank = 3, tensor.dims[0] = 1, tensor.dims[1] = 84, tensor.dims[2] = 8400;
//   KeepboxDecodeResult result = KEEPBOX_DECODE_RESULT_INIT;
//   if (decoder == NULL || keepbox_decoder_run(decoder, &tensor, 1, NULL, 0, &result, &error) != 0)
//     fprintf(stderr, "%s\n", error.message);
//   else if (*result.warnings != '\0')
//     fprintf(stderr, "%s\n", result.warnings);
//   else
//     for (uint32_t i = 0; i < result.images[0].n_boxes; ++i)
//       use(&result.images[0].boxes[i]);
//   keepbox_decoder_free(decoder);
//
// Threads: a decoder or a suppressor is used by one thread at a time; different ones are
// independent. On a GPU all calls use the device that it was made for, whichever is current, and
// leave the current one as it was.
//
// Errors: functions return a KeepboxDecodeStatus, which is 0 on success, or NULL instead of an
// object. The message says what is wrong and what to do. Nothing is written to stdout or stderr, no
// exception leaves the library, and it never aborts.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KEEPBOX_DECODE_API __attribute__((visibility("default")))

/// Maximum number of dimensions of a tensor.
#define KEEPBOX_DECODE_MAX_DIMS 8

typedef enum {
  KEEPBOX_DECODE_OK = 0,
  KEEPBOX_DECODE_INVALID = 1,      // an argument or an option is invalid
  KEEPBOX_DECODE_MISMATCH = 2,     // the tensors do not fit the family or the options
  KEEPBOX_DECODE_TRUNCATED = 3,    // a tensor has less data than its dimensions imply
  KEEPBOX_DECODE_NO_RESOURCE = 4,  // no memory, no such file, no GPU, or an error of the GPU
  KEEPBOX_DECODE_UNSUPPORTED = 5,  // a valid request that this function cannot process
} KeepboxDecodeStatus;

/// An error. Functions that take one accept NULL.
typedef struct {
  KeepboxDecodeStatus status;
  char message[1020];  // UTF-8, NUL-terminated; shortened if it does not fit
} KeepboxDecodeError;

typedef enum {
  KEEPBOX_DECODE_FLOAT32 = 0,
  KEEPBOX_DECODE_FLOAT16 = 1,
  KEEPBOX_DECODE_BFLOAT16 = 2,
  KEEPBOX_DECODE_FLOAT64 = 3,
  KEEPBOX_DECODE_INT8 = 4,
  KEEPBOX_DECODE_INT16 = 5,
  KEEPBOX_DECODE_INT32 = 6,
  KEEPBOX_DECODE_INT64 = 7,
  KEEPBOX_DECODE_UINT8 = 8,
  KEEPBOX_DECODE_UINT16 = 9,
  KEEPBOX_DECODE_UINT32 = 10,
  KEEPBOX_DECODE_UINT64 = 11,
} KeepboxDecodeType;

typedef enum {
  KEEPBOX_DECODE_HOST = 0,  // memory that the CPU reads: malloc(), cudaMallocHost(), managed memory
  KEEPBOX_DECODE_CUDA = 1,  // device memory: cudaMalloc(), cudaMallocAsync(), cuMemAlloc()
} KeepboxDecodeMemory;

/// Returns the version of the library, "0.2.0".
KEEPBOX_DECODE_API const char* keepbox_decode_version(void);

// Decoding: tensors to boxes.

/// An output tensor of a model. Initialise it with KEEPBOX_DECODE_TENSOR_INIT: a float32 tensor in
/// host memory. Its length is not known: dims and strides have to be right. The data is read during
/// the call and has to stay as it is until it returns; with keepbox_decoder_enqueue() until the
/// enqueued work is done.
typedef struct {
  size_t size;                               // sizeof(KeepboxDecodeTensor)
  const void* data;                          // first element; no alignment is required
  KeepboxDecodeType type;                    // of the elements
  KeepboxDecodeMemory memory;                // of the data; equal for all tensors of a call
  uint32_t rank;                             // number of dimensions, up to KEEPBOX_DECODE_MAX_DIMS
  int64_t dims[KEEPBOX_DECODE_MAX_DIMS];     // slowest first, such as 1, 84, 8400. A batch is the
                                             // first dimension
  int64_t strides[KEEPBOX_DECODE_MAX_DIMS];  // elements between neighbours of each dimension; all
                                             // 0: dense in row-major order
  const char* id;  // name of the model's output, as in tensor-ids=; may be NULL
  float scale;     // of quantised integers: value = (stored - zero_point) * scale; 0: none
  float zero_point;
  void* stream;  // CUDA memory only: the cudaStream_t whose work produces the data
} KeepboxDecodeTensor;
#define KEEPBOX_DECODE_TENSOR_INIT {sizeof(KeepboxDecodeTensor)}

/// Place of an image of the batch in the frame that its boxes refer to: frame x = (model x - pad_x)
/// * scale_x, and likewise y. Initialise it with KEEPBOX_DECODE_FRAME_INIT; members that are 0 are
/// those of the options.
typedef struct {
  size_t size;             // sizeof(KeepboxDecodeFrame)
  uint32_t width, height;  // of the frame in pixels
  float scale_x, scale_y;  // frame pixels per model pixel; 0: as resize-mode= says
  float pad_x, pad_y;      // model pixels left of and above the picture; with a scale only
} KeepboxDecodeFrame;
#define KEEPBOX_DECODE_FRAME_INIT {sizeof(KeepboxDecodeFrame)}

/// A kept box, 32 bytes.
typedef struct {
  float x1, y1, x2, y2;  // frame pixels, clipped to the frame; an oriented box is not clipped, and
                         // given unrotated about its centre
  float score;           // 0 to 1
  float angle;           // radians, clockwise about the centre; 0 for upright boxes
  uint32_t class_id;     // from 0
  uint32_t anchor;       // row or cell of the tensor that the box comes from
} KeepboxDecodeBox;

/// A keypoint of a box, in frame pixels.
typedef struct {
  float x, y;
  float score;  // as the model gives it; 1 if it gives none
} KeepboxDecodePoint;

/// The mask of a box: pixel (x, y) is bit (first + x) % 32 of word y * stride + (first + x) / 32.
typedef struct {
  const uint32_t* bits;    // NULL without a pixel
  uint32_t stride;         // words per row
  uint32_t first;          // bit of the first pixel of a row, below 32
  uint32_t width, height;  // pixels
  float x1, y1, x2, y2;    // area that the pixels cover, in frame pixels
} KeepboxDecodeMask;

/// Numbers of candidates at each stage; answers why there is no box.
typedef struct {
  uint32_t anchors;          // in the tensors
  uint32_t above_threshold;  // passed the score threshold of their class
  uint32_t not_finite;       // of those, dropped for a NaN, an infinity or an invalid class
  uint32_t after_class_filter;
  uint32_t after_top_k;   // reached suppression
  uint32_t kept;          // by suppression and max-detections
  uint32_t clipped_away;  // of those, entirely outside of the frame
  uint32_t filtered_out;  // of those, dropped by min-size=, max-size= or regions=
} KeepboxDecodeFunnel;

/// The boxes of an image, best first.
typedef struct {
  uint32_t n_boxes;
  uint32_t n_points;                 // keypoints per box
  uint32_t n_values;                 // other values per box, such as embeddings
  const KeepboxDecodeBox* boxes;     // n_boxes
  const KeepboxDecodePoint* points;  // n_boxes * n_points, or NULL
  const KeepboxDecodeMask* masks;    // n_boxes, or NULL
  const float* values;               // n_boxes * n_values, or NULL
  KeepboxDecodeFunnel funnel;
} KeepboxDecodeImage;

/// Results of keepbox_decoder_run(), which belong to the decoder until its next
/// keepbox_decoder_run(), _set(), _enqueue() or _free(). Initialise it with
/// KEEPBOX_DECODE_RESULT_INIT. Empty after an error.
typedef struct {
  size_t size;  // sizeof(KeepboxDecodeResult)
  uint32_t n_images;
  size_t image_size;  // bytes from one image to the next
  const KeepboxDecodeImage* images;
  const char* remark;    // what was recognised and assumed, in English
  const char* warnings;  // what may be wrong; empty if nothing is
} KeepboxDecodeResult;
#define KEEPBOX_DECODE_RESULT_INIT {sizeof(KeepboxDecodeResult)}

typedef struct KeepboxDecoder KeepboxDecoder;

/// Creates a decoder.
/// @param options properties of the element boxdecode as text, "NAME=VALUE NAME=VALUE", such as
/// "detector=yolov8 score-threshold=0.3 class-thresholds=person:0.5,2:0.3"; a value with blanks is
/// put in double quotes. keepbox_decoder_options() describes each. detector= may be a file. In
/// addition frame-size=WIDTHxHEIGHT is the picture that boxes refer to, by default the model's
/// input. NULL or empty: the family is recognised.
/// @return NULL on an error; free it with keepbox_decoder_free().
KEEPBOX_DECODE_API KeepboxDecoder* keepbox_decoder_new(const char* options,
                                                       KeepboxDecodeError* error);

/// Changes options as in keepbox_decoder_new(); others keep their values. On an error nothing is
/// changed.
KEEPBOX_DECODE_API KeepboxDecodeStatus keepbox_decoder_set(KeepboxDecoder* decoder,
                                                           const char* options,
                                                           KeepboxDecodeError* error);

/// Decodes the output of one run of a model and waits for the boxes. The first call, and calls with
/// tensors of other shapes, also recognise the tensors and allocate memory; others allocate
/// nothing, except for masks larger than any before.
/// @param tensors those of the model, in any order; those that the family does not read are
/// ignored. In host memory they are decoded by the CPU unless backend=cuda is set, in CUDA memory
/// on their device.
/// @param frames NULL, or one for each image of the batch. @param n_frames 0, or their number.
KEEPBOX_DECODE_API KeepboxDecodeStatus
keepbox_decoder_run(KeepboxDecoder* decoder, const KeepboxDecodeTensor* tensors, size_t n_tensors,
                    const KeepboxDecodeFrame* frames, size_t n_frames, KeepboxDecodeResult* result,
                    KeepboxDecodeError* error);

/// Memory for the results of keepbox_decoder_enqueue(): device memory, or host memory that the
/// device writes to, from cudaMallocHost(). Initialise it with KEEPBOX_DECODE_OUTPUT_INIT.
typedef struct {
  size_t size;                   // sizeof(KeepboxDecodeOutput)
  KeepboxDecodeBox* boxes;       // capacity for each image, image after image, best first
  uint32_t* counts;              // one for each image: its number of boxes
  KeepboxDecodeFunnel* funnels;  // one for each image, or NULL
  uint32_t capacity;             // boxes per image; at least max-detections=
} KeepboxDecodeOutput;
#define KEEPBOX_DECODE_OUTPUT_INIT {sizeof(KeepboxDecodeOutput)}

/// Enqueues the decoding of tensors in CUDA memory on a stream, and returns at once: the order of
/// the stream makes the tensors ready before, and the results after. Nothing is allocated, and the
/// host does not wait. Before the first call, keepbox_decoder_run() has to have decoded tensors of
/// these shapes, which recognises them and allocates memory; otherwise this call does that and
/// waits. Boxes are those of keepbox_decoder_run(), bit for bit. Keypoints, masks and other values
/// are not written, and methods that need the host between launches (soft-NMS, weighted, merge,
/// matrix, diou, bitmask, segmented) are KEEPBOX_DECODE_UNSUPPORTED.
/// @param stream the cudaStream_t; NULL is the default stream. Calls on different streams are put
/// in order.
KEEPBOX_DECODE_API KeepboxDecodeStatus
keepbox_decoder_enqueue(KeepboxDecoder* decoder, const KeepboxDecodeTensor* tensors,
                        size_t n_tensors, const KeepboxDecodeFrame* frames, size_t n_frames,
                        void* stream, const KeepboxDecodeOutput* output, KeepboxDecodeError* error);

/// Returns the name of a class from label-file=, or "class-N". Valid until the decoder's next call.
KEEPBOX_DECODE_API const char* keepbox_decoder_class_name(KeepboxDecoder* decoder,
                                                          uint32_t class_id);

/// Frees a decoder, after the work that it enqueued. @param decoder may be NULL.
KEEPBOX_DECODE_API void keepbox_decoder_free(KeepboxDecoder* decoder);

/// Returns a text that describes all options, a paragraph each.
KEEPBOX_DECODE_API const char* keepbox_decoder_options(void);

// Non-maximum suppression: boxes and scores in, indices of the kept boxes out.

/// One or more problems of suppression. Initialise it with KEEPBOX_NMS_INIT. All arrays but
/// `starts` are in the same memory.
typedef struct {
  size_t size;  // sizeof(KeepboxNmsProblems)
  KeepboxDecodeMemory memory;
  void* stream;            // CUDA memory only: the cudaStream_t that the work is enqueued on
  const float* boxes;      // four per box: x1, y1, x2, y2; five if oriented: centre x and y,
                           // width, height, angle in radians, clockwise
  const float* scores;     // one per box
  const int64_t* classes;  // one per box, 0 to 2047: only boxes of one class suppress each
                           // other. NULL: all boxes do
  uint32_t n_boxes;        // of all problems
  const uint32_t* starts;  // host memory: index of the first box of each problem, ascending,
                           // from 0. NULL: one problem
  uint32_t n_problems;     // with `starts` only
  int oriented;            // not 0: boxes have five values
  int64_t* indices;        // result: room for n_boxes. Those of problem i begin at starts[i],
                           // best first, and are indices of `boxes`
  uint32_t* counts;        // result: kept boxes of each problem. With CUDA memory it may be
                           // host memory: then the call waits, otherwise it returns at once
  KeepboxDecodeMemory counts_memory;
} KeepboxNmsProblems;
#define KEEPBOX_NMS_INIT {sizeof(KeepboxNmsProblems)}

typedef struct KeepboxNms KeepboxNms;

/// Creates a suppressor.
/// @param options "NAME=VALUE NAME=VALUE" as for keepbox_decoder_new(): iou-threshold= (0.5),
/// score-threshold= (none), nms-contract= (exact), nms-method=, class-agnostic=, max-detections=
/// (no limit), backend= (with host memory: the CPU), device-id=.
/// @return NULL on an error; free it with keepbox_nms_free().
KEEPBOX_DECODE_API KeepboxNms* keepbox_nms_new(const char* options, KeepboxDecodeError* error);

/// Suppresses the boxes of each problem, of at most 2097152 boxes. Boxes with a NaN or an infinity
/// are not kept. A class that is not 0 to 2047 is an error; in CUDA memory only if the call waits
/// for the counts, otherwise its boxes are not kept. More boxes than a method that compares all
/// pairs can process in about a second are KEEPBOX_DECODE_UNSUPPORTED; in CUDA memory boxes below
/// the score threshold count, too. Memory is allocated only if there are more boxes than in any
/// call before.
KEEPBOX_DECODE_API KeepboxDecodeStatus keepbox_nms_run(KeepboxNms* nms,
                                                       const KeepboxNmsProblems* problems,
                                                       KeepboxDecodeError* error);

/// Frees a suppressor, after the work that it enqueued. @param nms may be NULL.
KEEPBOX_DECODE_API void keepbox_nms_free(KeepboxNms* nms);

/// Creates a suppressor, runs it and frees it; waits for the result.
KEEPBOX_DECODE_API KeepboxDecodeStatus keepbox_nms(const char* options,
                                                   const KeepboxNmsProblems* problems,
                                                   KeepboxDecodeError* error);

#ifdef __cplusplus
}
#endif
