"""What all of the package stands on: modes, types of elements and arguments, nests of tensors."""
