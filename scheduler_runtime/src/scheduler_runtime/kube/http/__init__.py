"""HTTP/1.1, streaming responses, and what they share with HTTP/2."""
