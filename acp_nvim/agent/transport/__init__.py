"""How bytes travel between us and an agent: one module for each way, behind one protocol."""
