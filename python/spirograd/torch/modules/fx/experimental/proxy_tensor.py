"""torch.fx.experimental.proxy_tensor: tracing with stand-ins for tensors, which there is not."""

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> None:
    """None: nothing traces so."""
