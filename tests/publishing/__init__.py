"""Publishing: repair and plan."""
