"""torch.fx.passes: what is learned from a graph."""
