"""The kernel: one composition in, admitted calls out."""
