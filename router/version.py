"""Version: of the product. The distribution takes it from here, and nobody has to read what is installed."""

VERSION = "0.1.0"
