"""Encoders, random feature maps and augmentations."""
