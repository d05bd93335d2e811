# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes small ONNX models with constant rows as their output, without the package onnx."""
import struct


def _varint(number):
    out = bytearray()
    while number > 0x7f:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def _number(field, value):
    return _varint(field << 3) + _varint(value)


def _block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _value(name, dims):
    """Returns a ValueInfoProto of float32."""
    shape = b''.join(_block(1, _number(1, dim)) for dim in dims)
    return _block(1, name) + _block(2, _block(1, _number(1, 1) + _block(2, shape)))


def write_rows(path, rows, output, side=640):
    """Writes a model for a picture of 1x3xSIDExSIDE whose output, of that name, are these rows. It
    has no metadata."""
    dims = (1, len(rows), len(rows[0]))
    numbers = struct.pack(f'<{dims[1] * dims[2]}f', *(number for row in rows for number in row))
    tensor = (b''.join(_number(1, dim) for dim in dims) + _number(2, 1) + _block(8, 'rows')
              + _block(9, numbers))
    node = _block(1, 'rows') + _block(2, output) + _block(4, 'Identity')
    graph = (_block(1, node) + _block(2, 'graph') + _block(5, tensor)
             + _block(11, _value('images', (1, 3, side, side))) + _block(12, _value(output, dims)))
    path.write_bytes(_number(1, 8) + _block(7, graph) + _block(8, _block(1, '') + _number(2, 13)))
