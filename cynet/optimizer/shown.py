"""The text of an optimizer."""

import inspect

from ..base.reprs import ReprMixin


class ShownOptimizer(ReprMixin):
    """Shows the rate, and the numbers, flags and texts that are other than by default."""

    def _repr_settings(self):
        found = {"learning_rate": self.learning_rate}
        for owner in type(self).__mro__:
            if "__init__" not in vars(owner):
                continue
            for each in inspect.signature(owner.__init__).parameters.values():
                value = vars(self).get(each.name, each.default)
                if isinstance(value, (int, float, str)) and value != each.default:
                    found.setdefault(each.name, value)
        if self.lr_scheduler is not None:
            found["lr_scheduler"] = type(self.lr_scheduler).__name__
        return found
