"""What is measured: each file enters its rows, or is a section of benchmark_gpu.py."""
