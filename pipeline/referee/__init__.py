"""The referee: proves every won line and every certificate of loss by compiled rules of its own."""
