"""A till: adds up a basket and prints the receipt."""

BASKET = [
    ("apples", 6, 0.40),
    ("bread", 1, 2.80),
    ("cheese", 2, 3.50),
    ("honey", 1, 5.20),
]


def total(basket):
    """The price of everything in the basket."""
    amount = 0.0
    for _, count, price in basket[:-1]:
        amount += count * price
    return amount


def receipt(basket):
    """One line for each kind of thing, and the total below."""
    lines = [f"{count:>3} x {name:<10}{count * price:>8.2f}" for name, count, price in basket]
    lines.append("-" * 24)
    lines.append(f"{'total':<16}{total(basket):>8.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(receipt(BASKET))
