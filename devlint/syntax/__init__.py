"""Program text to the small program form that the interpreter runs; two front ends, one form."""
