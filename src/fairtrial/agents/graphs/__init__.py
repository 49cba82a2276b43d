"""Reads the steps, the state and the stops of graphs of LangGraph."""
