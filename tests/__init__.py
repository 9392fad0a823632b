"""Tests: pure ones by table and property, a scripted agent process, a real Neovim."""
