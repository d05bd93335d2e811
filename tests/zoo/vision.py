# SPDX-License-Identifier: LGPL-2.1-or-later
"""Detectors of torchvision as written by torch.onnx.export(), and their boxes."""
import zlib

import torch
from torch import nn

import pictures
from settle import Watch, raise_scores, settle_norms, smooth, spread

ANY_SIZE = True  # the models scale pictures themselves
THRESHOLD = 0.25
TWO_STAGES = {'box_score_thresh': 0.2, 'min_size': 320, 'max_size': 512}
ONE_STAGE = {'score_thresh': 0.2, 'min_size': 320, 'max_size': 512}
# name: height and width of the picture, and what the constructor is given
MODELS = {
    'fasterrcnn_resnet50_fpn': ((320, 320), TWO_STAGES),
    'fasterrcnn_mobilenet_v3_large_320_fpn': ((240, 320), {'box_score_thresh': 0.2}),
    'retinanet_resnet50_fpn': ((320, 320), ONE_STAGE),
    'ssd300_vgg16': ((320, 320), {'score_thresh': 0.2}),
    'ssdlite320_mobilenet_v3_large': ((320, 320), {'score_thresh': 0.2}),
    'fcos_resnet50_fpn': ((320, 320), ONE_STAGE),
    'maskrcnn_resnet50_fpn': ((320, 320), TWO_STAGES),
    'keypointrcnn_resnet50_fpn': ((320, 320), TWO_STAGES),
}
TWO_STAGE_OUTPUTS = ['boxes', 'labels', 'scores']
ONE_STAGE_OUTPUTS = ['boxes', 'scores', 'labels']
MORE_OUTPUTS = {'maskrcnn_resnet50_fpn': ['masks'],
                'keypointrcnn_resnet50_fpn': ['keypoints', 'keypoints_scores']}


def outputs_of(name):
    """Names in the order of the model's outputs; one model keeps the exporter's."""
    if name.startswith('ssdlite'):
        return None
    outputs = TWO_STAGE_OUTPUTS if 'rcnn' in name else ONE_STAGE_OUTPUTS
    return outputs + MORE_OUTPUTS.get(name, [])


def size_of(name):
    height, width = MODELS[name][0]
    return width, height


def unscaled(name):
    return [size_of(name)]


def tensor_of(path):
    return torch.from_numpy(pictures.read(path)).permute(2, 0, 1).float() / 255


def last_layers(model):
    """Returns the layers for scores and those for boxes."""
    scores, boxes = [], []
    for key, layer in model.named_modules():
        if not isinstance(layer, (nn.Conv2d, nn.Linear)) or layer.bias is None:
            continue  # of ssdlite the last convolution of each level alone has one
        if key.endswith(('cls_score', 'cls_logits')) or 'classification_head.module_list' in key:
            scores.append(layer)
        elif key.endswith(('bbox_pred', 'bbox_reg')) or 'regression_head.module_list' in key:
            boxes.append(layer)
    return scores, boxes


def build(name, paths):
    from torchvision.models import detection
    torch.manual_seed(zlib.crc32(name.encode()))
    _, options = MODELS[name]
    model = getattr(detection, name)(weights=None, weights_backbone=None, **options).eval()
    batch = [tensor_of(path) for path in paths]

    def run():
        with torch.no_grad():
            model(batch)
    smooth(model)
    settle_norms(model, run)
    if hasattr(model, 'rpn'):
        settle_proposals(model.rpn.head, run)
    scores, boxes = last_layers(model)
    watch = Watch(scores + boxes, run)
    for layer in boxes:
        spread(layer, watch.of(layer), 0.3, 0.0)
    softmax = hasattr(model, 'rpn') or name.startswith('ssd')
    for layer in scores:
        spread(layer, watch.of(layer), 2.0, 0.0)
    if not softmax:
        raise_scores(scores, Watch(scores, run), 3000)
    return model


def settle_proposals(head, run):
    layers = [head.cls_logits, head.bbox_pred]
    watch = Watch(layers, run)
    spread(layers[0], watch.of(layers[0]), 1.0, 0.0)
    spread(layers[1], watch.of(layers[1]), 0.3, 0.0)


def export(name, path, paths):
    """Writes the ONNX file, whose input is a batch of one picture."""
    model = build(name, paths)
    torch.save(model.state_dict(), path.with_suffix('.pth'))
    torch.onnx.export(model, (tensor_of(paths[0])[None],), str(path), dynamo=False,
                      opset_version=17, input_names=['input'], output_names=outputs_of(name))


def expect(name, path, picture):
    """Returns objects of the model in PyTorch; keepbox does not read masks and points of such
    models."""
    from torchvision.models import detection
    model = getattr(detection, name)(weights=None, weights_backbone=None, **MODELS[name][1]).eval()
    model.load_state_dict(torch.load(path.with_suffix('.pth')))
    with torch.no_grad():
        found = model(tensor_of(picture)[None])[0]
    kept = found['scores'] > THRESHOLD
    found = {key: value[kept] for key, value in found.items()}
    objects = [{'box': box, 'score': score, 'class': of} for box, score, of in
               zip(found['boxes'].tolist(), found['scores'].tolist(), found['labels'].tolist())]
    return objects, None
