"""What each command takes: light dataclasses, from which its help and its parameters are made."""
