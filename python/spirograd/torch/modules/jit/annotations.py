"""torch.jit.annotations: types of arguments that may be one number for several."""

__all__ = [f"BroadcastingList{n}" for n in range(1, 7)]

globals().update({name: list for name in __all__})
