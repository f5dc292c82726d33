"""How often an event fits into a filter: one by one, or by doubling and bisection."""

from dpkit import Event, PrivacyFilter, Repeat


def fill(filter_, event):
    charged = 0
    while filter_.admits(event):
        filter_ = filter_.charge(event)
        charged += 1
    return filter_, charged


def admitted(opened: PrivacyFilter, event: Event, *, limit: int = 10**9) -> int:
    """How many times the event fits, by doubling and bisection."""
    low, high = 0, 1
    while high <= limit and opened.admits(Repeat(event=event, times=high)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if opened.admits(Repeat(event=event, times=middle)) else (low, middle)
    return low
