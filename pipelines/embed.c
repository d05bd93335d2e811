// SPDX-License-Identifier: LGPL-2.1-or-later
// embed [--cuda]: an application that runs its model itself. Its frames go through
// appsrc ! boxdecode ! appsink with the model's tensor on them, and come back with boxes.
//
// A real one replaces infer(), and on a GPU copy_to_device(): by TensorRT's enqueueV3(), ONNX
// Runtime's Run() or libtorch's forward(), whose output tensor is handed over as it is.
//
//   cc embed.c -o embed $(pkg-config --cflags --libs keepbox gstreamer-app-1.0)
//
// With --cuda the tensor lies on the GPU; that needs -DWITH_CUDA and cudart, too:
//
//   cc embed.c -o embed -DWITH_CUDA -I/usr/local/cuda/include -L/usr/local/cuda/lib64 -lcudart ...
#include <gst/app/app.h>
#include <keepbox.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 320, FRAMES = 10, OBJECTS = 2, CLASSES = 2, ROWS = 4 + CLASSES };
enum { ANCHORS = 40 * 40 + 20 * 20 + 10 * 10, TENSOR_BYTES = ROWS * ANCHORS * sizeof(float) };
enum { WRONG = 1, USAGE = 2, SKIPPED = 77 };

static gint lent;  // tensors that are under way

// What is on a frame, the best first.
static void draw(int frame, KeepboxBox truth[OBJECTS]) {
  truth[0] = (KeepboxBox){20, 40, 80, 60, .score = 0.9f, .class_id = 1};
  truth[1] = (KeepboxBox){200, 250, 40, 50, .score = 0.8f, .class_id = 0};
  truth[0].x += 4 * (float)frame;
  truth[1].y -= 8 * (float)frame;
}

// Stands for a YOLOv8: ROWS planes of ANCHORS numbers each, which are the boxes' centre x and y,
// their width and height, and a score for each class. Three anchors find each object; boxdecode
// keeps the best.
static void infer(const KeepboxBox truth[OBJECTS], float* tensor) {
  memset(tensor, 0, TENSOR_BYTES);
  for (int i = 0; i < OBJECTS * 3; ++i) {
    const KeepboxBox* box = &truth[i / 3];
    const float off = (float)(i % 3);
    float* anchor = tensor + 100 + i;
    anchor[0 * ANCHORS] = box->x + box->width / 2 + off;
    anchor[1 * ANCHORS] = box->y + box->height / 2 - off;
    anchor[2 * ANCHORS] = box->width;
    anchor[3 * ANCHORS] = box->height;
    anchor[(4 + box->class_id) * ANCHORS] = box->score - 0.1f * off;
  }
}

// Gets a tensor back when no buffer holds it any more. A pool would keep it for another frame.
static void release(gpointer data) {
  g_free(data);
  g_atomic_int_add(&lent, -1);
}

#ifdef WITH_CUDA
#include <cuda_runtime_api.h>

static cudaStream_t stream;  // the model's

static gboolean start_device(void) {
  return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
}

static void release_device(gpointer data) {
  cudaFree(data);
  g_atomic_int_add(&lent, -1);
}

// Nothing waits for the copy, as nothing would for the model: the stream orders all.
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

// Runs the model and puts its tensor on the frame, which takes it along without a copy.
static gboolean add_tensor(GstBuffer* frame, const KeepboxBox truth[OBJECTS], gboolean cuda,
                           GError** error) {
  GDestroyNotify give_back = release;
  KeepboxTensor tensor = {.id = "yolo-v8-out",
                          .data_type = GST_TENSOR_DATA_TYPE_FLOAT32,
                          .n_dims = 3,
                          .dims = {1, ROWS, ANCHORS},
                          .size = TENSOR_BYTES};
  float* output = g_malloc(TENSOR_BYTES);
  infer(truth, output);
  tensor.data = output;
  if (cuda) {
    tensor.data = copy_to_device(output);
    tensor.memory = KEEPBOX_MEMORY_CUDA;
    tensor.ready = KEEPBOX_READY_STREAM;  // boxdecode's work waits for the stream, on the GPU
    tensor.ready_on = stream;
    give_back = release_device;
    g_free(output);
  }
  g_atomic_int_inc(&lent);
  if (keepbox_buffer_add_tensor(frame, &tensor, give_back, (gpointer)tensor.data, error))
    return TRUE;
  give_back((gpointer)tensor.data);  // it is still ours
  return FALSE;
}

// Prints a frame's boxes. Are they those that were drawn?
static gboolean check_boxes(int number, GstBuffer* frame, const KeepboxBox truth[OBJECTS]) {
  KeepboxBox boxes[100];
  const guint count = MIN(keepbox_buffer_get_boxes(frame, boxes, 100), 100);
  gboolean same = count == OBJECTS;
  for (guint i = 0; i < count; ++i) {
    const KeepboxBox *box = &boxes[i], *want = &truth[MIN(i, OBJECTS - 1)];
    printf("frame %d: %s %.2f, %g x %g at %g, %g\n", number, box->label, box->score, box->width,
           box->height, box->x, box->y);
    same = same && box->x == want->x && box->y == want->y && box->width == want->width &&
           box->height == want->height && box->score == want->score &&
           box->class_id == want->class_id;
  }
  if (!same) fprintf(stderr, "embed: expected other boxes on frame %d\n", number);
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

// One frame there and back. A busier application pushes and pulls on threads of their own.
static gboolean run_frame(GstElement* pipeline, GstAppSrc* frames, GstAppSink* boxes, int number,
                          gboolean cuda) {
  KeepboxBox truth[OBJECTS];
  GError* error = NULL;
  GstBuffer* frame = gst_buffer_new_allocate(NULL, SIDE * SIDE * 3, NULL);
  gst_buffer_memset(frame, 0, 0x80, SIDE * SIDE * 3);
  GST_BUFFER_PTS(frame) = (GstClockTime)number * GST_SECOND / 25;
  draw(number, truth);
  if (!add_tensor(frame, truth, cuda, &error)) {
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
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  gboolean same = TRUE;
  for (int number = 0; number < FRAMES && same; ++number)
    same = run_frame(pipeline, GST_APP_SRC(frames), GST_APP_SINK(boxes), number, cuda);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(frames);
  gst_object_unref(boxes);
  gst_object_unref(pipeline);
  if (lent != 0) fprintf(stderr, "embed: expected all tensors back, %d are missing\n", lent);
  return same && lent == 0 ? 0 : WRONG;
}
