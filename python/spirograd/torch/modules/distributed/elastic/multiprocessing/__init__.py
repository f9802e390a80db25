"""What a launcher of PyTorch offers to its processes."""
