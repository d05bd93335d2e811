// SPDX-License-Identifier: LGPL-2.1-or-later
// embed [--cuda]: an application that runs its model itself. Frames with the model's tensor pass
// through appsrc ! boxdecode ! appsink, and return with boxes.
//
// A real application replaces infer(), and on a GPU copy_to_device(), by TensorRT's enqueueV3(),
// ONNX Runtime's Run() or libtorch's forward(), whose output tensor is passed on without a copy.
//
//   cc embed.c -o embed $(pkg-config --cflags --libs keepbox gstreamer-app-1.0)
//
// With --cuda the tensor is on the GPU; this also requires -DWITH_CUDA and cudart:
//
//   cc embed.c -o embed -DWITH_CUDA -I/usr/local/cuda/include -L/usr/local/cuda/lib64 -lcudart ...
#include <gst/app/app.h>
#include <keepbox.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 320, FRAMES = 10, OBJECTS = 2, CLASSES = 2, ROWS = 4 + CLASSES };
enum { ANCHORS = 40 * 40 + 20 * 20 + 10 * 10, TENSOR_BYTES = ROWS * ANCHORS * sizeof(float) };
enum { WRONG = 1, USAGE = 2, SKIPPED = 77 };

typedef struct {
  float x, y, width, height, score;
  int class_id;
} Object;

static gint lent;  // tensors that are still in use

// Sets the objects on a frame, best first.
static void draw(int frame, Object truth[OBJECTS]) {
  truth[0] = (Object){20, 40, 80, 60, 0.9f, 1};
  truth[1] = (Object){200, 250, 40, 50, 0.8f, 0};
  truth[0].x += 4 * (float)frame;
  truth[1].y -= 8 * (float)frame;
}

// Simulates a YOLOv8: ROWS planes of ANCHORS values each: centre x and y, width and height of
// boxes, and a score per class. Three anchors find each object; boxdecode keeps the best.
static void infer(const Object truth[OBJECTS], float* tensor) {
  memset(tensor, 0, TENSOR_BYTES);
  for (int i = 0; i < OBJECTS * 3; ++i) {
    const Object* object = &truth[i / 3];
    const float off = (float)(i % 3);
    float* anchor = tensor + 100 + i;
    anchor[0 * ANCHORS] = object->x + object->width / 2 + off;
    anchor[1 * ANCHORS] = object->y + object->height / 2 - off;
    anchor[2 * ANCHORS] = object->width;
    anchor[3 * ANCHORS] = object->height;
    anchor[(4 + object->class_id) * ANCHORS] = object->score - 0.1f * off;
  }
}

// Releases a tensor when no buffer holds it any more. A pool would reuse it for another frame.
static void release(gpointer data) {
  g_free(data);
  g_atomic_int_add(&lent, -1);
}

#ifdef WITH_CUDA
#include <cuda_runtime_api.h>

static cudaStream_t stream;  // used by the model

static gboolean start_device(void) {
  return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
}

static void release_device(gpointer data) {
  cudaFree(data);
  g_atomic_int_add(&lent, -1);
}

// Nothing waits for the copy, nor would it for a model: the stream orders all work.
static gpointer copy_to_device(const float* tensor) {
  gpointer data = NULL;
  if (cudaMalloc(&data, TENSOR_BYTES) != cudaSuccess) return NULL;
  cudaMemcpyAsync(data, tensor, TENSOR_BYTES, cudaMemcpyHostToDevice, stream);
  return data;
}
#else
static gpointer stream;
static gboolean start_device(void) { return FALSE; }
static void release_device(gpointer data) { release(data); }
static gpointer copy_to_device(const float* tensor) { return (void)tensor, NULL; }
#endif

// Describes the model's output, which is the same for every frame.
static KeepboxTensorInfo* describe_output(gboolean cuda) {
  const gsize dims[] = {1, ROWS, ANCHORS};
  KeepboxTensorInfo* info =
      keepbox_tensor_info_new("yolo-v8-out", GST_TENSOR_DATA_TYPE_FLOAT32, dims, 3);
  if (cuda) {
    keepbox_tensor_info_set_memory(info, KEEPBOX_MEMORY_CUDA);
    // boxdecode's work waits for the stream, on the GPU
    keepbox_tensor_info_set_ready(info, KEEPBOX_READY_STREAM, stream);
  }
  return info;
}

// Runs the model and attaches its tensor to the frame without a copy.
static gboolean add_tensor(GstBuffer* frame, const KeepboxTensorInfo* info,
                           const Object truth[OBJECTS], gboolean cuda, GError** error) {
  GDestroyNotify give_back = release;
  gpointer data = g_malloc(TENSOR_BYTES);
  infer(truth, data);
  if (cuda) {
    float* output = data;
    data = copy_to_device(output);
    give_back = release_device;
    g_free(output);
  }
  g_atomic_int_inc(&lent);
  if (keepbox_buffer_add_tensor(frame, info, data, TENSOR_BYTES, give_back, data, error))
    return TRUE;
  give_back(data);  // the data is still ours
  return FALSE;
}

static gboolean check_box(int number, const KeepboxBox* box, const Object* want) {
  const float score = keepbox_box_get_score(box);
  float x, y, width, height;
  keepbox_box_get_rect(box, &x, &y, &width, &height);
  printf("frame %d: %s %.2f, %g x %g at %g, %g\n", number, keepbox_box_get_label(box), score, width,
         height, x, y);
  return x == want->x && y == want->y && width == want->width && height == want->height &&
         score == want->score && keepbox_box_get_class_id(box) == want->class_id;
}

// Prints a frame's boxes. Returns TRUE if they are those that were drawn.
static gboolean check_boxes(int number, GstBuffer* frame, const Object truth[OBJECTS]) {
  guint count;
  KeepboxBox** boxes = keepbox_buffer_get_boxes(frame, &count);
  gboolean same = count == OBJECTS;
  for (guint i = 0; i < count; ++i)
    same = check_box(number, boxes[i], &truth[MIN(i, OBJECTS - 1)]) && same;
  if (!same) fprintf(stderr, "embed: expected other boxes on frame %d\n", number);
  g_free(boxes);
  return same;
}

static void report_error(GstElement* pipeline) {
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  GError* error = NULL;
  if (message != NULL) gst_message_parse_error(message, &error, NULL);
  fprintf(stderr, "embed: %s\n", error != NULL ? error->message : "no frame in 10 s");
  g_clear_error(&error);
  g_clear_pointer(&message, gst_message_unref);
  gst_object_unref(bus);
}

// Pushes one frame and pulls it. A busier application uses separate threads for both.
static gboolean run_frame(GstElement* pipeline, GstAppSrc* frames, GstAppSink* boxes,
                          const KeepboxTensorInfo* info, int number, gboolean cuda) {
  Object truth[OBJECTS];
  GError* error = NULL;
  GstBuffer* frame = gst_buffer_new_allocate(NULL, SIDE * SIDE * 3, NULL);
  gst_buffer_memset(frame, 0, 0x80, SIDE * SIDE * 3);
  GST_BUFFER_PTS(frame) = (GstClockTime)number * GST_SECOND / 25;
  draw(number, truth);
  if (!add_tensor(frame, info, truth, cuda, &error)) {
    fprintf(stderr, "embed: %s\n", error->message);
    g_clear_error(&error);
    gst_buffer_unref(frame);
    return FALSE;
  }
  gst_app_src_push_buffer(frames, frame);
  GstSample* sample = gst_app_sink_try_pull_sample(boxes, 10 * GST_SECOND);
  if (sample == NULL) {
    report_error(pipeline);
    return FALSE;
  }
  const gboolean same = check_boxes(number, gst_sample_get_buffer(sample), truth);
  gst_sample_unref(sample);
  return same;
}

static GstElement* make_pipeline(void) {
  GError* error = NULL;
  GstElement* pipeline = gst_parse_launch(
      "appsrc name=frames format=time caps=video/x-raw,format=RGB,width=320,height=320,"
      "framerate=25/1 ! boxdecode ! appsink name=boxes sync=false",
      &error);
  if (error != NULL) {
    fprintf(stderr, "embed: %s\n", error->message);
    g_clear_error(&error);
    gst_clear_object(&pipeline);
  }
  return pipeline;
}

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const gboolean cuda = argc == 2 && strcmp(argv[1], "--cuda") == 0;
  if (argc > 1 && !cuda) return fputs("usage: embed [--cuda]\n", stderr), USAGE;
  if (cuda && !(keepbox_cuda_available(NULL) && start_device()))
    return fputs("embed: no CUDA device, or a build without CUDA\n", stderr), SKIPPED;
  GstElement* pipeline = make_pipeline();
  if (pipeline == NULL) return WRONG;
  GstElement* frames = gst_bin_get_by_name(GST_BIN(pipeline), "frames");
  GstElement* boxes = gst_bin_get_by_name(GST_BIN(pipeline), "boxes");
  KeepboxTensorInfo* info = describe_output(cuda);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  gboolean same = TRUE;
  for (int number = 0; number < FRAMES && same; ++number)
    same = run_frame(pipeline, GST_APP_SRC(frames), GST_APP_SINK(boxes), info, number, cuda);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  keepbox_tensor_info_free(info);
  gst_object_unref(frames);
  gst_object_unref(boxes);
  gst_object_unref(pipeline);
  if (lent != 0) fprintf(stderr, "embed: expected all tensors back, %d are missing\n", lent);
  return same && lent == 0 ? 0 : WRONG;
}
