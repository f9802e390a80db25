"""torch.utils.model_zoo: torch.hub by its old place."""

from ..hub import download_url_to_file as _download_url_to_file
from ..hub import load_state_dict_from_url as load_url

__all__ = ["_download_url_to_file", "load_url"]
