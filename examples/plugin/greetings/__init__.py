"""Sessions about greetings: an example of a plug-in."""
