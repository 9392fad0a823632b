"""Child processes: started, watched, and ended with all that they started."""
