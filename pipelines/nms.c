// SPDX-License-Identifier: LGPL-2.1-or-later
// nms: keeps the best of overlapping boxes. Uses libkeepbox-decode only.
//
//   printf '%s\n' '0 0 10 10 0.9 0' '1 0 11 10 0.8 0' | nms "iou-threshold=0.5"
#include <inttypes.h>
#include <keepbox-decode.h>
#include <stdio.h>

#define MOST 10000

int main(int argc, char** argv) {
  static float boxes[MOST][4], scores[MOST];
  static int64_t classes[MOST], kept[MOST];
  uint32_t n = 0, n_kept = 0;
  while (n < MOST && scanf("%f %f %f %f %f %" SCNd64, &boxes[n][0], &boxes[n][1], &boxes[n][2],
                           &boxes[n][3], &scores[n], &classes[n]) == 6)
    ++n;
  if (!feof(stdin)) {
    fprintf(stderr,
            "nms: line %" PRIu32 " is not X1 Y1 X2 Y2 SCORE CLASS, or there are more than %d\n",
            n + 1, MOST);
    return 2;
  }
  KeepboxNmsProblems problems = KEEPBOX_NMS_INIT;
  problems.boxes = boxes[0];
  problems.scores = scores;
  problems.classes = classes;
  problems.n_boxes = n;
  problems.indices = kept;
  problems.counts = &n_kept;
  KeepboxDecodeError error;
  if (keepbox_nms(argc > 1 ? argv[1] : NULL, &problems, &error) != KEEPBOX_DECODE_OK) {
    fprintf(stderr, "nms: %s\n", error.message);
    return 1;
  }
  for (uint32_t i = 0; i < n_kept; ++i) {
    const int64_t at = kept[i];
    printf("%g %g %g %g %g %" PRId64 "\n", boxes[at][0], boxes[at][1], boxes[at][2], boxes[at][3],
           scores[at], classes[at]);
  }
  return 0;
}
