"""What files were: checkpoints, and the stores that keep contents."""
