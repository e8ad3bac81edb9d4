"""The runtime companion: runs what was flagged, in each world, and says whether it is true."""
