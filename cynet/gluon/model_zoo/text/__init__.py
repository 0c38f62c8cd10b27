"""mx.gluon.model_zoo.text: language models, with weights from Hugging Face's files."""

from .bert import BERT
from .generation import generate
from .gpt import GPT2
from .hugging_face import from_hugging_face

__all__ = ["BERT", "GPT2", "from_hugging_face", "generate"]
