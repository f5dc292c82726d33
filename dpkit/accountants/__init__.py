"""The accountants, one a file: each a commutative monoid of states and a reading, by theorems that it names."""
