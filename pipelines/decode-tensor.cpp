// SPDX-License-Identifier: LGPL-2.1-or-later
// decode-tensor: prints the boxes of a raw tensor file. Uses libkeepbox-decode only.
//
//   decode-tensor FILE 1x84x8400 "detector=yolov8 model-size=640x640 frame-size=1920x1080"
#include <keepbox-decode.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs(
        "usage: decode-tensor FILE DIMS [OPTIONS]\n"
        "  FILE     raw float32 values, little endian\n"
        "  DIMS     dimensions such as 1x84x8400\n"
        "  OPTIONS  such as \"detector=yolov8 score-threshold=0.3\", which are:\n\n",
        stderr);
    std::fputs(keepbox_decoder_options(), stderr);
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  KeepboxDecodeTensor tensor = KEEPBOX_DECODE_TENSOR_INIT;
  tensor.data = bytes.data();
  size_t values = 1;
  for (char* at = argv[2]; *at != '\0' && tensor.rank < KEEPBOX_DECODE_MAX_DIMS; ++tensor.rank) {
    tensor.dims[tensor.rank] = std::strtol(at, &at, 10);
    values *= static_cast<size_t>(tensor.dims[tensor.rank]);
    if (*at != '\0') ++at;
  }
  if (values * sizeof(float) != bytes.size()) {
    std::fprintf(stderr, "decode-tensor: %s has %zu bytes, not those of %s float32 values\n",
                 argv[1], bytes.size(), argv[2]);
    return 1;
  }
  KeepboxDecodeError error;
  KeepboxDecodeResult result = KEEPBOX_DECODE_RESULT_INIT;
  KeepboxDecoder* decoder = keepbox_decoder_new(argc > 3 ? argv[3] : nullptr, &error);
  if (decoder == nullptr ||
      keepbox_decoder_run(decoder, &tensor, 1, nullptr, 0, &result, &error) != KEEPBOX_DECODE_OK) {
    std::fprintf(stderr, "decode-tensor: %s\n", error.message);
    keepbox_decoder_free(decoder);
    return 1;
  }
  if (*result.warnings != '\0') std::fprintf(stderr, "decode-tensor: %s\n", result.warnings);
  std::printf("# %s\n# class score x1 y1 x2 y2 anchor\n", result.remark);
  for (uint32_t i = 0; i < result.images[0].n_boxes; ++i) {
    const KeepboxDecodeBox& box = result.images[0].boxes[i];
    std::printf("%s %.6f %.4f %.4f %.4f %.4f %u\n",
                keepbox_decoder_class_name(decoder, box.class_id), box.score, box.x1, box.y1,
                box.x2, box.y2, box.anchor);
  }
  keepbox_decoder_free(decoder);
}
