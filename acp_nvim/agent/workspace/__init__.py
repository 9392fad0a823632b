"""What files held before: snapshots, checkpoints, the stores under them."""
