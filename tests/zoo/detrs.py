# SPDX-License-Identifier: LGPL-2.1-or-later
"""Detectors of transformers as exported by optimum, and the boxes of their image processors."""
import pathlib
import zlib

import numpy as np
import onnxruntime
import torch

import pictures
from settle import Watch, raise_scores, raise_softmax, settle_norms, smooth, spread

ANY_SIZE = False
THRESHOLD = 0.3
WANTED = 90  # queries above the threshold in all pictures
# name: class of model, of configuration, of image processor; height and width; whether it has a
# second input pixel_mask, and whether softmax makes the scores
MODELS = {
    'detr': ('DetrForObjectDetection', 'DetrConfig', 'DetrImageProcessor', (320, 320), False,
             'softmax'),
    'detr-mask': ('DetrForObjectDetection', 'DetrConfig', 'DetrImageProcessor', (320, 416), True,
                  'softmax'),
    'yolos': ('YolosForObjectDetection', 'YolosConfig', 'YolosImageProcessor', (256, 320), False,
              'softmax'),
    'conditional-detr': ('ConditionalDetrForObjectDetection', 'ConditionalDetrConfig',
                         'ConditionalDetrImageProcessor', (320, 320), False),
    'rt-detr': ('RTDetrForObjectDetection', 'RTDetrConfig', 'RTDetrImageProcessor',
                (320, 320), False),
    'rt-detr-v2': ('RTDetrV2ForObjectDetection', 'RTDetrV2Config', 'RTDetrImageProcessor',
                   (320, 320), False),
    'd-fine': ('DFineForObjectDetection', 'DFineConfig', 'RTDetrImageProcessor', (320, 320), False),
}
SMALL = {'encoder_layers': 1, 'decoder_layers': 2, 'd_model': 64, 'encoder_attention_heads': 4,
         'decoder_attention_heads': 4, 'encoder_ffn_dim': 128, 'decoder_ffn_dim': 128}
RESNET = {'embedding_size': 16, 'hidden_sizes': [16, 32, 64, 128], 'depths': [2, 2, 2, 2],
          'layer_type': 'basic'}


ATTENTION = ('q_proj.weight', 'k_proj.weight', 'q_pos_proj.weight', 'k_pos_proj.weight')


def size_of(name):
    height, width = MODELS[name][3]
    return width, height


def unscaled(name):
    return [size_of(name)]


def configuration(name):
    import transformers
    kind = getattr(transformers, MODELS[name][1])
    if name == 'yolos':
        return kind(hidden_size=96, num_hidden_layers=3, num_attention_heads=4,
                    intermediate_size=192, image_size=list(MODELS[name][3]), num_labels=91,
                    num_detection_tokens=100)
    if name in ('detr', 'detr-mask', 'conditional-detr'):
        backbone = transformers.ResNetConfig(**RESNET, out_features=['stage4'])
        return kind(**SMALL, backbone_config=backbone, use_timm_backbone=False, num_labels=91,
                    num_queries=100)
    if name == 'd-fine':
        return kind(num_labels=80)
    stages = ['stage2', 'stage3', 'stage4']
    backbone = transformers.RTDetrResNetConfig(**RESNET, out_features=stages)
    return kind(backbone_config=backbone, num_labels=80, d_model=64, encoder_hidden_dim=64,
                encoder_in_channels=[32, 64, 128], decoder_in_channels=[64, 64, 64],
                encoder_ffn_dim=128, decoder_ffn_dim=128, decoder_layers=2,
                encoder_attention_heads=4, decoder_attention_heads=4, num_queries=300)


def processor(name):
    import transformers
    height, width = MODELS[name][3]
    kind = getattr(transformers, MODELS[name][2])
    return kind(size={'height': height, 'width': width}, do_pad=False)


def prepared(name, path):
    """Returns the picture as prepared by the processor, except its smoothing when scaling."""
    picture = pictures.scale(pictures.read(path), size_of(name))
    return processor(name)(images=[picture], do_resize=False, return_tensors='pt')['pixel_values']


class Export(torch.nn.Module):
    """Wraps the model with the inputs and outputs of optimum's exports."""

    def __init__(self, model, mask):
        super().__init__()
        self.model, self.mask = model, mask

    def forward(self, pixel_values, pixel_mask=None):
        given = {'pixel_mask': pixel_mask} if self.mask else {}
        out = self.model(pixel_values=pixel_values, **given)
        return out.logits, out.pred_boxes


def linears(model, *words):
    """Returns the linear layers with one of the words in their names."""
    return [layer for key, layer in model.named_modules()
            if isinstance(layer, torch.nn.Linear) and any(word in key for word in words)]


def build(name, paths):
    import transformers
    torch.manual_seed(zlib.crc32(name.encode()))
    kind = getattr(transformers, MODELS[name][0])
    model = kind(configuration(name)).eval()
    for key, parameter in model.named_parameters():  # queries that differ, and look at places
        if 'query_position_embeddings' in key or 'detection_tokens' in key:
            torch.nn.init.normal_(parameter, std=2.0)
        elif 'decoder' in key and any(word in key for word in ATTENTION):
            parameter.data *= 6
    for layer in model.modules():  # no embedding of positions, which is exported in float64
        if 'AIFI' in type(layer).__name__:
            layer.eval_size = MODELS[name][3]
    batch = torch.cat([prepared(name, path) for path in paths])

    def run():
        with torch.no_grad():
            model(pixel_values=batch)
    smooth(model)
    settle_norms(model, run)
    scores = linears(model, 'class_labels_classifier', 'class_embed')
    boxes = [layer for layer in linears(model, 'bbox_predictor', 'bbox_embed')
             if layer.out_features == 4]
    watch = Watch(scores + boxes, run)
    for layer in filter(watch.saw, boxes):
        spread(layer, watch.of(layer), 0.7)
    used = [layer for layer in scores if watch.saw(layer)][-1]
    if 'softmax' in MODELS[name][5:]:
        raise_softmax(used, watch, WANTED, background=-1)
    else:
        raise_scores([used], watch, WANTED)
    return model


def export(name, path, paths):
    """Writes the ONNX file, and the configurations of model and preprocessing into a folder of its
    name, like optimum."""
    model = build(name, paths)
    height, width = MODELS[name][3]
    mask = MODELS[name][4]
    inputs = {'pixel_values': torch.rand(1, 3, height, width)}
    if mask:
        inputs['pixel_mask'] = torch.ones(1, 64, 64, dtype=torch.int64)
    torch.onnx.export(Export(model, mask), tuple(inputs.values()), str(path), dynamo=False,
                      opset_version=17, input_names=list(inputs),
                      output_names=['logits', 'pred_boxes'])
    beside = pathlib.Path(path).with_suffix('')
    model.config.save_pretrained(beside)
    processor(name).save_pretrained(beside)


def expect(name, path, picture):
    """Returns the objects of post_process_object_detection() for the ONNX model's outputs."""
    from types import SimpleNamespace
    session = onnxruntime.InferenceSession(str(path), providers=['CPUExecutionProvider'])
    given = {'pixel_values': prepared(name, picture).numpy()}
    if MODELS[name][4]:
        given['pixel_mask'] = np.ones((1, 64, 64), np.int64)
    logits, boxes = (torch.from_numpy(x) for x in session.run(['logits', 'pred_boxes'], given))
    height, width = pictures.read(picture).shape[:2]
    found = processor(name).post_process_object_detection(
        SimpleNamespace(logits=logits, pred_boxes=boxes), threshold=THRESHOLD,
        target_sizes=[(height, width)])[0]
    return [{'box': box, 'score': score, 'class': of} for box, score, of in
            zip(found['boxes'].tolist(), found['scores'].tolist(), found['labels'].tolist())], None
