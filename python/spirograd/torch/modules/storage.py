"""torch.storage: the memory of tensors."""

from ..storage import Storage as TypedStorage
from ..storage import Storage as UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
