"""What the programs are made of: options, libraries to compare with, timing, tables, results."""
