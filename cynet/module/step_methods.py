"""StepMethods: detects overridden methods, before a module runs a whole step at once."""

# methods that a step at once replaces
_METHODS_OF_STEP = {  # step -> methods that it replaces
    "forward_backward": ("forward", "backward"),
    "train_step": ("forward", "backward", "forward_backward", "update"),
}


class StepMethods:  # tells whether a user overrides methods of a step
    """The methods of a training step that a module class defines and inherits.

    A step at once calls none of the methods that it consists of. So it is allowed only while none
    of them is overridden.
    """

    def __init__(self, kind):
        self._kind = kind
        self._own = {name: vars(kind)[name] for name in _METHODS_OF_STEP["train_step"]}
        self._inherited = _inherited_methods(kind, kind)

    def are_not_overridden(self, module, step):
        """Return whether a module has the class's own methods for this step: no subclass, object,
        patch or later base class overrides one."""
        own = self._own
        for name in _METHODS_OF_STEP[step]:
            if getattr(getattr(module, name), "__func__", None) is not own[name]:
                return False
        return _inherited_methods(self._kind, type(module)) == self._inherited


def _inherited_methods(kind, module_class):
    """Return the methods that ``super()`` gives in the methods of `kind`."""
    parent = super(kind, module_class)
    return parent.forward_backward, parent.train_step
