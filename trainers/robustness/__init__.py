"""Environments that fail, judges that are out, losses that are not finite, runs that resume."""
