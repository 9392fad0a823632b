"""Sessions: new, stored, restored, their options."""
