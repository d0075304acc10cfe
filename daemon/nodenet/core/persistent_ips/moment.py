"""How is a moment written in an object of Kubernetes? (RFC 3339, UTC)"""

from __future__ import annotations

DAY = 86400
_ERA_DAYS = 146097
"""Days of 400 years."""


def text(seconds: float, *, micro: bool = False) -> str:
    """Return the moment so many *seconds* after 1970, with microseconds if *micro* (MicroTime)."""
    whole = int(seconds // 1)
    day, rest = divmod(whole, DAY)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    fraction = f".{int((seconds - whole) * 1e6):06}" if micro else ""
    return f"{_date(day)}T{clock}{fraction}Z"


def _date(day: int) -> str:
    """Return the date of the proleptic Gregorian calendar so many days after 1970; years begin in March inside."""
    era, of_era = divmod(day + 719468, _ERA_DAYS)
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    number = of_year - (153 * month + 2) // 5 + 1
    civil = month + 3 if month < 10 else month - 9
    return f"{year + era * 400 + (1 if civil <= 2 else 0):04}-{civil:02}-{number:02}"
