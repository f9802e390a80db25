"""Tokens that follow others, chosen on the device from the scores of a decoder.

Example:
    >>> _ = sg.manual_seed(0)
    >>> model = sg.models.GPT2(vocabulary=10, context=16, width=8, layers=1, heads=2)
    >>> len(sg.generation.generate(model, [1, 2, 3], 5))
    5
"""

from .beam_search import Hypothesis, beam_search
from .decoding import generate, stream

__all__ = ["Hypothesis", "beam_search", "generate", "stream"]
