"""Pictures of the product: real runs in a real terminal, drawn as SVG (`make pictures`)."""
