"""Placeholder."""


class Hybridized:
    pass
