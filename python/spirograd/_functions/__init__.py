"""Functions of tensors that are made of others and belong to no module: `spirograd` itself shows most of them."""
