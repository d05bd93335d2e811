#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the names of a detector's classes: of the model, and of label files."""
import shutil

from common import CLIP, MODEL, detector, fails, names, need_inference, need_own_elements
from tap import main

import keepbox
from keepbox._gi import Gst

SHAPES = ['circle', 'square', 'triangle', 'star', 'cross', 'ring']
# Lines end at a line feed alone, and other blanks than these of ASCII are part of a name.
LABELS = '\ufeffa\rb\x0b\x85\r\n\n\xa0c \n\td\u2028e\nf\fg\nh\n\n'
READ = ['a\rb\x0b\x85', 'class-1', '\xa0c', 'd\u2028e', 'f\fg', 'h']


def changed_model(folder, old, new):
    """Returns a copy of the model with another text in its metadata."""
    need_inference()
    model = folder / f'{new}.onnx'
    model.write_bytes(MODEL.read_bytes().replace(old.encode(), new.encode()))
    shutil.copy(f'{MODEL}.modelinfo', f'{model}.modelinfo')
    return model


def wrote_labels(file):
    file.write_bytes(LABELS.encode())
    return file


def detector_file(folder, text):
    file = folder / 'own.detector'
    file.write_text(f'[detector]\nbase=yolov8\n{text}\n')
    return file


def assert_names_of_boxes(found):
    frame = next(frame for frame in found(CLIP) if len(set(frame.boxes.cls)) > 3)
    assert [found.names[number] for number in frame.boxes.cls] == names(frame)


def test_names_of_the_model(folder):
    del folder
    with detector() as found:
        assert found.names == dict(enumerate(SHAPES)), 'before the first frame'
        assert_names_of_boxes(found)


def test_names_in_a_label_file(folder):
    with detector(labels=wrote_labels(folder / 'some.labels')) as found:
        assert list(found.names.values()) == READ
        assert_names_of_boxes(found)


def test_names_of_a_detector_file(folder):
    own = detector_file(folder, 'label-file = some.labels ')
    wrote_labels(folder / 'some.labels')
    (folder / 'others').write_text('1\n2\n3\n4\n5\n6\n')
    with detector(detector=own) as found:
        assert list(found.names.values()) == READ
        assert_names_of_boxes(found)
        found.set(labels=folder / 'others')
        assert list(found.names.values()) == list('123456'), 'the property comes first'
        assert_names_of_boxes(found)
    for text in ('', f'label-file={folder}/others'):
        with detector(detector=detector_file(folder, text)) as found:
            assert list(found.names.values()) == (list('123456') if text else SHAPES)


def test_names_with_numbers(folder):
    """Lines of a number and a name, as Frigate's; several classes may have the same name."""
    file = folder / 'labelmap.txt'
    file.write_bytes('\ufeff0  round\r\n1  other\r\n3  other\r\n5  other\r\n'.encode())
    with detector(labels=file) as found:
        assert found.names == {0: 'round', 1: 'other', 2: 'class-2', 3: 'other', 4: 'class-4',
                               5: 'other'}
        assert_names_of_boxes(found)
    with detector(labels=file, classes=['other']) as found:
        assert {int(number) for frame in found(CLIP) for number in frame.boxes.cls} == {1, 3, 5}
    for text, name in (('1 euro\n2 euro\n', '1 euro'), ('0 a\n1 b\n', 'a'),
                       ('1  a\n0  b\n', '1  a'), ('0  a\nb\n', '0  a')):
        file.write_text(text)
        with detector(labels=file) as found:
            assert found.names[0] == name


def test_detector_files_of_windows(folder):
    own = detector_file(folder, 'label-file=some.labels')
    own.write_bytes(b'\xef\xbb\xbf' + own.read_bytes().replace(b'\n', b'\r\n'))
    wrote_labels(folder / 'some.labels')
    with detector(detector=own) as found:
        assert list(found.names.values()) == READ


def test_a_label_file_is_read_once(folder):
    file = wrote_labels(folder / 'some.labels')
    with detector(labels=file) as found:
        file.unlink()
        assert list(found.names.values()) == READ
        found.set(labels=folder / 'nosuch')
        assert list(found.names.values()) == READ, 'as in running streams'
        found.set(labels='')
        assert list(found.names.values()) == SHAPES


def test_label_files_that_cannot_be_read(folder):
    (folder / 'blank').write_text(' \n')
    (folder / 'latin1').write_bytes(b'caf\xe9\n')
    for name in ('nosuch', 'blank', 'latin1', ''):
        fails(keepbox.Error, str(folder / name), lambda: list(detector(labels=folder / name)(CLIP)))
    own = detector_file(folder, 'label-file=nosuch')
    fails(keepbox.Error, 'nosuch', lambda: list(detector(detector=own)(CLIP)))


def test_a_model_without_names(folder):
    with keepbox.Detector(changed_model(folder, 'names', 'nomes')) as found:
        assert found.names == {}
        assert set(names(found.detect(CLIP))) <= {f'class-{number}' for number in range(6)}


def test_names_come_with_a_later_load(folder):
    """A GPU that fails has no names; the model is then loaded for the CPU."""
    need_own_elements()
    model = changed_model(folder, 'names', 'nomes')
    with keepbox.Detector(model) as found:
        stream = found(CLIP)
        infer = stream._line.element('keepbox-infer')
        for labels in ('', 'a\n\n b\n', ''):
            about = Gst.Structure.new_empty('tensorinfer-model')
            for key, value in (('file', str(model)), ('error', ''), ('labels', labels)):
                about.set_value(key, value)
            infer.post_message(Gst.Message.new_element(infer, about))
        next(stream)
        assert found.names == {0: 'a', 1: 'class-1', 2: ' b'}


def test_names_follow_the_model(folder):
    with detector() as found:
        found.set(model=changed_model(folder, 'circle', 'sphere'))
        assert_names_of_boxes(found)
        assert found.names == dict(enumerate(['sphere', *SHAPES[1:]]))
        image = found.detect(CLIP).image
        assert 'sphere' in names(found.detect(image)), 'pictures have the new model too'
        stream = found([image, image])
        next(stream)
        found.set(model=MODEL)
        assert 'sphere' in names(next(stream)), 'a stream keeps its model'
        stream.close()
        assert 'sphere' not in names(found.detect(image))


if __name__ == '__main__':
    main(globals())
