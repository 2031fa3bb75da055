"""A server for analysts one does not trust: the same verbs over HTTP, every answer on a public time grid, pages for people."""
