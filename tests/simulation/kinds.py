"""All kinds of faults, by name."""

from __future__ import annotations

from simulation import (
    by_hand,
    faults_of_boots,
    faults_of_host,
    faults_of_network,
    faults_of_others,
    faults_of_trials,
    swapped,
)
from simulation.faults import KINDS

__all__ = [
    "KINDS",
    "by_hand",
    "faults_of_boots",
    "faults_of_host",
    "faults_of_network",
    "faults_of_others",
    "faults_of_trials",
    "swapped",
]
