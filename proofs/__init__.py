"""What is true of the machines: proofs about the very tables that sessions run on."""
