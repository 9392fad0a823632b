"""What the user is asked: permissions, forms and addresses, and the rules that answer."""
