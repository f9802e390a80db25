"""What tests compare with: the table of operations with what NumPy says of each, and micrograd's scalars."""
