"""mx.gluon.model_zoo.vision: networks for image classification, by name."""

from ....operator.namespaces import guard_public_names as _guarded_names
from .alexnet import *
from .convnext import *
from .densenet import *
from .efficientnet import *
from .inception import *
from .mobilenet import *
from .catalog import *
from .resnet import *
from .squeezenet import *
from .vgg import *
from .vit import *

__all__ = _guarded_names(globals())
