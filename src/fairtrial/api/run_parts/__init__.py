"""What a run says about itself when somebody asks: its failures, and its attack rates."""
