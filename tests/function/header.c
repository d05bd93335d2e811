// SPDX-License-Identifier: LGPL-2.1-or-later
// The header in C, with the example of its comment.
#include <keepbox-decode.h>

#include <stdio.h>
#include <stdlib.h>

int main(void) {
  float* output = calloc(84 * 8400, sizeof *output);
  KeepboxDecodeError error;
  KeepboxDecoder* decoder =
      keepbox_decoder_new("detector=yolov8 model-size=640x640 frame-size=1920x1080", &error);
  KeepboxDecodeTensor tensor = KEEPBOX_DECODE_TENSOR_INIT;
  KeepboxDecodeResult result = KEEPBOX_DECODE_RESULT_INIT;
  tensor.data = output;
  tensor.rank = 3, tensor.dims[0] = 1, tensor.dims[1] = 84, tensor.dims[2] = 8400;
  output[4 * 8400] = 0.9f;  // one box
  output[0] = output[8400] = 320, output[2 * 8400] = output[3 * 8400] = 100;
  if (decoder == NULL || keepbox_decoder_run(decoder, &tensor, 1, NULL, 0, &result, &error) != 0) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  uint32_t boxes = result.images[0].n_boxes;
  printf("%u\n", boxes);
  keepbox_decoder_free(decoder);
  free(output);
  return boxes == 1 ? 0 : 1;
}
