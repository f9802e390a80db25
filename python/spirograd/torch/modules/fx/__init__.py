"""torch.fx: spirograd's, with the names that it lacks in the files of this folder."""

__all__: list[str] = []
