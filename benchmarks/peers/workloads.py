"""What is measured beside the peers: name, description, and the least ratios that are aimed at."""

from typing import NamedTuple


class Workload(NamedTuple):
    """One row of the table.

    torch, mxnet : float or None
        The peer's time over cynet's that is aimed at.
    unit : str
        ``ms``, or ``us``.
    """

    title: str
    torch: float = None
    mxnet: float = None
    unit: str = "ms"


WORKLOADS = {
    "mlp": Workload("MLP 784-128-64-10, batch 128, training step", 1.8, 4),
    "lenet": Workload("LeNet, batch 128, training step", 1.6, 3.5),
    "resnet20": Workload("ResNet-20, 32x32, batch 64, training step", 1.5, 4),
    "fit_epoch": Workload("`Module.fit`, an epoch of LeNet on 12,800 images", 1.5, 3),
    "inception64": Workload("Inception-BN, 64x64, batch 32, training step", 1.25, 2.5),
    "lstm": Workload("LSTM, 2 layers of 128, 28 steps, batch 64, training step", 1.25, 2.5),
    "resnet18": Workload("ResNet-18, 64x64, batch 32, training step", 1.25, 2.5),
    "vgg11": Workload("VGG-11, 32x32, batch 64, training step", 1.25, 2.5),
    "alexnet": Workload("AlexNet, 224x224, batch 8, training step", 1.25, 2.5),
    "densenet": Workload("DenseNet of 20 layers, 32x32, batch 32, training step", 1.25, 2.5),
    "mobilenet": Workload("MobileNet, half as wide, 64x64, batch 16, training step", 1.25, 2.5),
    "mobilenet2": Workload("MobileNet v2, 64x64, batch 16, training step", 1.25, 2.5),
    "unet": Workload("U-Net of three steps, 64x64, batch 4, training step", 1.25, 2.5),
    "generator": Workload("DCGAN's generator, 64x64, batch 16, training step", 1.25, 2.5),
    "discriminator": Workload("DCGAN's discriminator, 64x64, batch 16, training step", 1.25, 2.5),
    "critic": Workload("WGAN's critic, 32x32, batch 64, training step", 1.25, 2.5),
    "image_autoencoder": Workload(
        "Autoencoder of convolutions, 64x64, batch 32, training step", 1.25, 2.5
    ),
    "attention": Workload(
        "two attention blocks of 256, 64 positions, batch 16, training step", 1.25, 2.5
    ),
    "factorization": Workload(
        "two embeddings of 20,000 x 64, batch 1024, training step", 1.25, 2.5
    ),
    "char_cnn": Workload("CNN over 256 characters, batch 32, training step", 1.25, 2.5),
    "text_cnn": Workload("Text CNN, 56 words, batch 50, training step", 1.25, 2.5),
    "norm_mlp": Workload(
        "MLP 784-1024-1024-1024-10, BatchNorm and Dropout, batch 128, training step", 1.25, 2.5
    ),
    "autoencoder": Workload("Autoencoder of dense layers, batch 128, training step", 1.25, 2.5),
    "gelu": Workload("MLP 784-1024-1024-10, GELU written out, batch 128, training step"),
    "formula": Workload("twelve elementwise functions of 1 M floats, forward and backward"),
    "resnet50_1": Workload("ResNet-50, 224x224, batch 1, prediction", 1, 1.2),
    "resnet50_8": Workload("ResNet-50, 224x224, batch 8, prediction", 1, 1.2),
    "inception_1": Workload("Inception-BN, 224x224, batch 1, prediction", 1, 1.2),
    "inception_8": Workload("Inception-BN, 224x224, batch 8, prediction", 1, 1.2),
    **{
        f"gluon_{name}{kind}": Workload(f"Gluon: {title}, {words}", torch, mxnet)
        for kind, words, torch, mxnet in (
            ("", "hybridized training step", 1.25, 2.5),
            ("_eager", "eager training step (PyTorch eager)", 1, 2),
        )
        for name, title in (
            ("lenet", "LeNet, batch 128"),
            ("resnet18", "ResNet-18, 64x64, batch 32"),
            ("lstm", "LSTM, 2 layers of 128, 28 steps, batch 64"),
            ("attention", "two attention blocks of 256, 64 positions, batch 16"),
        )
    },
    "loader_here": Workload("DataLoader, 2,000 small samples, in process", 1, 1),
    "loader_processes": Workload("DataLoader, 2,000 small samples, 2 processes", 1, 1),
    "loader_threads": Workload(
        "DataLoader, 2,000 small samples, 2 threads (PyTorch in process)", 1, 1
    ),
    "small_add": Workload("`a + b` on 10 floats", 1, 12, "us"),
    "add": Workload("add, 10 M floats", 1, 1),
    "tanh": Workload("tanh, 10 M floats", 1, 1),
    "exp": Workload("exp, 10 M floats", 1, 1),
    "sum": Workload("sum, 10 M floats", 1, 1),
    "softmax": Workload("softmax, 10,000 x 1,000", 1, 1),
}
