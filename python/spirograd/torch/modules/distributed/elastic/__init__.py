"""torch.distributed.elastic: what programs import of it."""
