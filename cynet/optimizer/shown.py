"""The repr of an optimizer."""

from ..base.guard import Guarded
from ..base.reprs import SettingsRepr


class OptimizerRepr(Guarded, SettingsRepr):  # gives Optimizer its repr
    """Base of Optimizer: its repr shows the rate and the settings that differ from defaults."""

    _unguarded = ("joined_update",)

    def _repr_settings(self):
        found = {"learning_rate": self.learning_rate} | super()._repr_settings()
        found["learning_rate"] = self.learning_rate
        if self.lr_scheduler is not None:
            found["lr_scheduler"] = type(self.lr_scheduler).__name__
        return found
