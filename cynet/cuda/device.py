"""Devices that kernels run on: the interface for an operator's GPU form, and the known devices."""

from ..base.errors import CynetError
from ..context import load_gpu_backend


class Device:  # base class: gives operators their GPU kernels
    """A device that GPU forms of operators are built for; a backend subclasses it.

    name (str): What messages call it.
    multiprocessors (int): How many blocks make sense at a time, for the size of grids.
    launch_address, workspace_function_address, read_fn_address (int): Addresses of the C functions
        LaunchFn, SpaceFn, ReadFn of ``_device.pxd``.
    sizes_address (int): Address of a SizesFn that wants to know the arrays' sizes before each
        launch, or 0.
    """

    name = "device"
    multiprocessors = 1
    launch_address = workspace_function_address = read_fn_address = sizes_address = 0

    def kernel(self, source, instance):
        """A kernel of ``cuda/kernels/SOURCE.cu``, compiled at the first call.

        source, instance (str): A name of `families.cu_sources` and one of its `families.instances`.

        Returns object: with ``address`` (int, what LaunchFn takes), ``name`` and ``sizes``: bytes
        of each argument's value, or None where the device cannot tell. Raises KernelError when it
        does not compile or there is no such instance.
        """
        raise CynetError(f"{type(self).__name__} defines no kernel")

    def upload(self, data):
        """Copy bytes to device memory, which lives as long as the returned object.

        Returns object: with ``address``, an int, 64-byte aligned, and ``nbytes``.
        """
        raise CynetError(f"{type(self).__name__} defines no upload")

    def error(self, kernel, code):
        """Create the exception for an error code of LaunchFn or ReadFn.

        `kernel` is what `kernel` gave, or None for a copy.
        """
        return CynetError(f"{self.name}: code {code}")


_provider = None  # function of a device id that returns its Device


def register_devices(provider):
    """Register ``provider(device_id)``, which returns the Device of ``gpu(device_id)``."""
    global _provider
    _provider = provider


def device(device_id):
    """The Device of ``gpu(device_id)``; CynetError if it does not exist."""
    if _provider is None:
        load_gpu_backend()
    return _provider(device_id)
