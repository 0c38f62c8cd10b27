"""Decoding and encoding of images by OpenCV, as NumPy arrays."""

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, FormatError, ShapeError, shown
from ..base.opencv import cv, error_reason
from .image_header import check_header

_PIXEL_DTYPES = (np.uint8, np.uint16)


def image_bytes(buffer):
    """Return the bytes of a compressed image, given as bytes or as a uint8 array."""
    if hasattr(buffer, "asnumpy"):
        buffer = buffer.asnumpy()
    if isinstance(buffer, np.ndarray):
        if buffer.dtype != np.uint8:
            raise ArgumentTypeError(f"a compressed image is bytes, got an array of {buffer.dtype}")
        buffer = buffer.tobytes()
    if not isinstance(buffer, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(
            f"a compressed image is bytes or an array of uint8, got {type(buffer).__name__}"
        )
    return bytes(buffer)


def decode_bgr(buffer, flag, name=None):
    """Decode a compressed image; channels are in OpenCV's order: blue, green, red.

    buffer: bytes or numpy.ndarray of uint8
    flag (int): OpenCV's: 1 colors, 0 grey, -1 as the file has it.
    name (str, optional): Where it comes from, for the message.

    Raises FormatError when it is no image, or one that is too large for its bytes.
    """
    content, module = image_bytes(buffer), cv()
    if content:
        check_header(content)
        try:
            image = module.imdecode(np.frombuffer(content, np.uint8), flag)
        except module.error as error:
            raise FormatError(f"{name or 'an image'}: {error_reason(error)}") from None
        if image is not None:
            return image
    what = f"{len(content)} bytes that are not an image" if content else "no bytes"
    raise FormatError(f"{name or 'an image'} has {what} that OpenCV knows: {shown(content[:16])}")


def decode_rgb(buffer, flag=1, to_rgb=True, name=None):
    """Decode an image with channels red, green, blue: (H, W, 3), or (H, W, 1) for `flag` 0.

    EXIF data turn the image, except for `flag` -1. OpenCV and MXNet have the same defaults.
    """
    if flag not in (-1, 0, 1):
        raise ArgumentError(f"flag is 1 for colors or 0 for grey, got {shown(flag)}")
    module, turned = cv(), to_rgb and flag == 1
    in_one_step = getattr(module, "IMREAD_COLOR_RGB", None) if turned else None  # since OpenCV 4.11
    image = decode_bgr(buffer, flag if in_one_step is None else in_one_step, name)
    if turned and in_one_step is None:
        image = module.cvtColor(image, module.COLOR_BGR2RGB)
    if image.dtype != np.uint8:
        raise FormatError(f"{name or 'an image'} has pixels of {image.dtype}, uint8 are read")
    return image[:, :, None] if image.ndim == 2 else image


def encode_image(image, extension, quality):
    """Encode an image as JPEG or PNG bytes.

    image (array of uint8 or uint16): (H, W), (H, W, 1) or (H, W, 3) in the order blue, green, red.
        JPEG has the upper 8 bits.
    extension (str): ``'.jpg'``, ``'.jpeg'`` or ``'.png'``.
    quality: int
    """
    image = np.asarray(image.asnumpy() if hasattr(image, "asnumpy") else image)
    module, kind = cv(), str(extension).lower()
    if kind not in (".jpg", ".jpeg", ".png"):
        raise ArgumentError(f"img_fmt is '.jpg' or '.png', got {shown(extension)}")
    if image.ndim not in (2, 3) or image.dtype not in _PIXEL_DTYPES or 0 in image.shape:
        raise ShapeError(
            f"an image is an array (H, W) or (H, W, C) of uint8 or uint16, got {image.shape}"
            f" {image.dtype}"
        )
    if kind == ".png":  # PNG levels end at 9, but scripts pass a JPEG quality
        option, quality = module.IMWRITE_PNG_COMPRESSION, min(int(quality), 9)
    else:
        option, quality = module.IMWRITE_JPEG_QUALITY, int(quality)
        image = (image >> 8).astype(np.uint8) if image.dtype == np.uint16 else image
    try:
        done, content = module.imencode(kind, image, [option, quality])
    except module.error as error:
        raise ArgumentError(f"an image of {image.shape}: {error_reason(error)}") from None
    if not done:
        raise ArgumentError(f"OpenCV cannot write an image of {image.shape} as {kind}")
    return content.tobytes()
