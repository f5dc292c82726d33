"""Small networks that tell two classes apart, many of them trained side by side, in numpy alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpkit.authoring import Array

_WIDTH, _BATCH, _RATE = 12, 100, 0.01
_Floats = npt.NDArray[np.float32]


def logit_networks(inputs: Array, labels: Array, *, steps: int, seed: int) -> Callable[[Array], Array]:
    """Train one network for each entry of the first axis: three hidden layers of 12 with ReLU, cross-entropy, Adam at 0.01.

    `inputs` is (networks, rows, columns), `labels` (networks, rows) of 0 and 1. The answer maps inputs to logits. Inputs are
    standardised by the training rows of their own network.
    """
    rng = np.random.default_rng(seed)
    means = inputs.mean(axis=1, keepdims=True)
    spreads = np.maximum(inputs.std(axis=1, keepdims=True), 1e-12)

    def scaled(given: Array) -> _Floats:
        return np.asarray((given - means) / spreads, dtype=np.float32)

    rows, truth = scaled(inputs), np.asarray(labels, dtype=np.float32)
    count, size, width = rows.shape
    sizes = (width, _WIDTH, _WIDTH, _WIDTH, 1)
    layers: list[_Floats] = []
    for before, after in itertools.pairwise(sizes):
        reach = math.sqrt(6.0 / (before + after))
        layers += [
            rng.uniform(-reach, reach, (count, before, after)).astype(np.float32),
            np.zeros((count, 1, after), dtype=np.float32),
        ]
    moments = [(np.zeros_like(layer), np.zeros_like(layer)) for layer in layers]
    order, place = rng.permutation(size), 0
    for step in range(1, steps + 1):
        if place >= size:
            order, place = rng.permutation(size), 0
        chosen = order[place : place + _BATCH]
        place += _BATCH
        for layer, moment, slope in zip(layers, moments, _slopes(layers, rows[:, chosen], truth[:, chosen]), strict=True):
            moment[0][...] += 0.1 * (slope - moment[0])
            moment[1][...] += 0.001 * (slope * slope - moment[1])
            rate = _RATE * math.sqrt(1.0 - 0.999**step) / (1.0 - 0.9**step)
            layer -= rate * moment[0] / (np.sqrt(moment[1]) + 1e-7)
    return lambda given: np.asarray(_forward(layers, scaled(given))[-1][..., 0], dtype=np.float64)


def _forward(layers: list[_Floats], rows: _Floats) -> list[_Floats]:
    """What goes into each layer, and the logits."""
    flow = [rows]
    for place in range(0, len(layers), 2):
        value = flow[-1] @ layers[place] + layers[place + 1]
        flow.append(np.maximum(value, 0.0) if place + 2 < len(layers) else value)
    return flow


def _slopes(layers: list[_Floats], rows: _Floats, truth: _Floats) -> list[_Floats]:
    """Of the mean cross-entropy, for each array of `layers`."""
    flow = _forward(layers, rows)
    back = (1.0 / (1.0 + np.exp(-np.clip(flow[-1], -30.0, 30.0))) - truth[..., None]) / truth.shape[1]
    slopes: list[_Floats] = []
    for place in range(len(layers) - 2, -1, -2):
        source = flow[place // 2]
        slopes = [np.swapaxes(source, 1, 2) @ back, back.sum(axis=1, keepdims=True), *slopes]
        if place:
            back = (back @ np.swapaxes(layers[place], 1, 2)) * (source > 0.0)
    return slopes
