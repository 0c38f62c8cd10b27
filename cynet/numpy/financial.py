"""Financial functions of mx.np, which NumPy had before 1.20: by their formulas, on the host."""

import numpy as onp

from ..base.errors import ArgumentTypeError, shown
from .dispatch import call_numpy

_PAYMENT_TIMES = {"end": 0, "e": 0, 0: 0, "finish": 0, "begin": 1, "b": 1, 1: 1, "start": 1}


def _payment_time(when):
    try:
        return _PAYMENT_TIMES[when]
    except (KeyError, TypeError):
        raise ArgumentTypeError(
            f"mx.np: a payment is due at the 'begin' or the 'end' of a period, got {shown(when)}"
        ) from None


def _broadcast_numbers(*given):
    return onp.broadcast_arrays(*(onp.asarray(each, "float64") for each in given))


def _annuity_factor(rate, nper, when):
    """The value at the end of a payment of 1 in each of `nper` periods."""
    safe = onp.where(rate == 0, 1.0, rate)
    return onp.where(rate == 0, nper, (1 + rate * when) * ((1 + safe) ** nper - 1) / safe)


def _present_value(rate, nper, pmt, fv, when):
    rate, nper, pmt, fv = _broadcast_numbers(rate, nper, pmt, fv)
    return -(fv + pmt * _annuity_factor(rate, nper, when)) / (1 + rate) ** nper


def _principal_payment(rate, per, nper, pv, fv, when):
    rate, per, nper, pv, fv = _broadcast_numbers(rate, per, nper, pv, fv)
    payment = -(fv + pv * (1 + rate) ** nper) / _annuity_factor(rate, nper, when)
    before = pv * (1 + rate) ** (per - 1) + payment * _annuity_factor(rate, per - 1, when)
    interest = -before * rate
    if when:
        interest = onp.where(per == 1, 0.0, interest / (1 + rate))
    return payment - interest


def _net_present_value(rate, values):
    values = onp.asarray(values, "float64")
    return (values / (1 + rate) ** onp.arange(values.size).reshape(values.shape)).sum()


def _interest_rate(nper, pmt, pv, fv, when, guess, tol, maxiter):
    nper, pmt, pv, fv, found = _broadcast_numbers(nper, pmt, pv, fv, guess)
    with onp.errstate(all="ignore"):
        for _ in range(maxiter):

            def left(r):
                return fv + pv * (1 + r) ** nper + pmt * _annuity_factor(r, nper, when)

            step = 1e-6
            slope = (left(found + step) - left(found - step)) / (2 * step)
            moved = left(found) / slope
            found = found - moved
            if (onp.abs(moved) < tol).all():
                return found
    return onp.where(onp.abs(moved) < tol, found, onp.nan)


def _modified_return_rate(values, finance_rate, reinvest_rate):
    values = onp.asarray(values, "float64")
    if not ((values > 0).any() and (values < 0).any()):
        return onp.float64("nan")
    gained = abs(_net_present_value(reinvest_rate, onp.where(values > 0, values, 0)))
    paid = abs(_net_present_value(finance_rate, onp.where(values < 0, values, 0)))
    return (gained / paid) ** (1 / (values.size - 1)) * (1 + reinvest_rate) - 1


def pv(rate, nper, pmt, fv=0, when="end"):
    """The value today of payments to come, and of a last sum `fv`."""
    return call_numpy(_present_value, (rate, nper, pmt, fv, _payment_time(when)), {})


def ppmt(rate, per, nper, pv, fv=0, when="end"):
    """The part of the payment of period `per` that goes to the loan itself."""
    return call_numpy(_principal_payment, (rate, per, nper, pv, fv, _payment_time(when)), {})


def npv(rate, values):
    """The value today of a series of sums, the first of them today."""
    return call_numpy(_net_present_value, (rate, values), {})


def rate(nper, pmt, pv, fv, when="end", guess=0.1, tol=1e-6, maxiter=100):
    """The interest a period; NaN where Newton's method does not find it."""
    return call_numpy(
        _interest_rate, (nper, pmt, pv, fv, _payment_time(when), guess, tol, maxiter), {}
    )


def mirr(values, finance_rate, reinvest_rate):
    """The modified internal rate of return; NaN without a gain and a cost."""
    return call_numpy(_modified_return_rate, (values, finance_rate, reinvest_rate), {})


__all__ = ["mirr", "npv", "ppmt", "pv", "rate"]
