"""The foundation of the package: modes, element and argument types, nested containers of tensors."""
