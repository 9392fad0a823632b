"""Questions to the user: permissions, forms, and the rules that answer some of them."""
