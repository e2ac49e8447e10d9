"""The commands of `crossrail`, one file each."""
