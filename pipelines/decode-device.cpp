// SPDX-License-Identifier: LGPL-2.1-or-later
// decode-device: decodes a model's output where it lies on the GPU, on the model's own stream, as a
// program with TensorRT does: enqueue the model, then the decoder, then copy the boxes.
#include <cuda_runtime_api.h>
#include <keepbox-decode.h>

#include <cstdio>
#include <vector>

namespace {

constexpr int64_t kChannels = 84, kAnchors = 8400;
constexpr uint32_t kMost = 300;

/// Stands for context->enqueueV3(stream): writes an output with one box of class 2.
void run_model(float* output, cudaStream_t stream) {
  static std::vector<float> values(kChannels * kAnchors);
  const float box[] = {320, 240, 100, 50};  // centre and sides in model pixels
  for (int i = 0; i < 4; ++i) values[i * kAnchors + 7] = box[i];
  values[(4 + 2) * kAnchors + 7] = 0.9f;
  cudaMemcpyAsync(output, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice,
                  stream);
}

}  // namespace

int main() {
  cudaStream_t stream = nullptr;
  float* output = nullptr;
  KeepboxDecodeBox* boxes = nullptr;
  uint32_t* count = nullptr;
  if (cudaStreamCreate(&stream) != cudaSuccess) return 77;  // no GPU
  cudaMalloc(&output, kChannels * kAnchors * sizeof(float));
  cudaMalloc(&boxes, kMost * sizeof *boxes);
  cudaMalloc(&count, sizeof *count);

  KeepboxDecodeError error;
  KeepboxDecoder* decoder = keepbox_decoder_new(
      "detector=yolov8 model-size=640x640 frame-size=1920x1080 "
      "resize-mode=letterbox-center",
      &error);
  KeepboxDecodeTensor tensor = KEEPBOX_DECODE_TENSOR_INIT;
  tensor.data = output;
  tensor.memory = KEEPBOX_DECODE_CUDA;
  tensor.stream = stream;
  tensor.rank = 3, tensor.dims[0] = 1, tensor.dims[1] = kChannels, tensor.dims[2] = kAnchors;
  KeepboxDecodeOutput results = KEEPBOX_DECODE_OUTPUT_INIT;
  results.boxes = boxes, results.counts = count, results.capacity = kMost;

  run_model(output, stream);
  if (decoder == nullptr || keepbox_decoder_enqueue(decoder, &tensor, 1, nullptr, 0, stream,
                                                    &results, &error) != KEEPBOX_DECODE_OK) {
    std::fprintf(stderr, "decode-device: %s\n", error.message);
    return 1;
  }
  uint32_t found = 0;
  KeepboxDecodeBox first{};
  cudaMemcpyAsync(&found, count, sizeof found, cudaMemcpyDeviceToHost, stream);
  cudaMemcpyAsync(&first, boxes, sizeof first, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  std::printf("%u box, class %u, %.2f: %g %g %g %g\n", found, first.class_id, first.score, first.x1,
              first.y1, first.x2, first.y2);
  keepbox_decoder_free(decoder);
  cudaFree(count), cudaFree(boxes), cudaFree(output);
  cudaStreamDestroy(stream);
}
