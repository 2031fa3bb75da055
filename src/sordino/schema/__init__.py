"""What the owner declares: columns, filters, and the frame of rows a release looks at. Nothing here reads data."""
