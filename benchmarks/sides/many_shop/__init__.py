"""An agent of google-adk whose model takes a tenth of a second."""

from . import agent as agent
