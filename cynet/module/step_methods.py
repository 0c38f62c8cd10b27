"""StepMethods: finds what a user has overridden, before a module computes a step in one go."""

STEPS = ("forward", "backward", "forward_backward", "update", "train_step")


class StepMethods:
    """The methods of a training step as a class of modules defines and inherits them.

    A step in one go calls none of the methods that it is made of. So it may be taken only while
    each of them is still the one of the class.
    """

    def __init__(self, kind):
        self._kind = kind
        self._own = {name: vars(kind)[name] for name in STEPS}
        self._inherited = _inherited(kind, kind)

    def are_used(self, module, names):
        """Return whether a module has these methods; else a subclass, the object itself, a patch or
        a class behind `kind` in the order of base classes has another one."""
        own = self._own
        for name in names:
            if getattr(getattr(module, name), "__func__", None) is not own[name]:
                return False
        return _inherited(self._kind, type(module)) == self._inherited


def _inherited(kind, module_class):
    """The functions that ``super()`` finds in the methods of `kind`."""
    parent = super(kind, module_class)
    return parent.forward_backward, parent.train_step
