"""zCDP under another name, with the usual constants and read by the simple conversion (BS16)."""

from dataclasses import dataclass

import dpkit
from dpkit.accountants.zcdp import ZCDPAccountant


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcentratedAccountant(ZCDPAccountant):
    constants: str = "usual"
    conversion: str = "simple"

    @property
    def name(self):
        return "concentrated"


@dpkit.hookimpl
def dpkit_accountants():
    return [ConcentratedAccountant()]
