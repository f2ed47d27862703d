"""What came out: records, store, statistics."""
