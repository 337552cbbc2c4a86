"""What a request costs: tokens counted offline as the provider counts them, beside the usage it reported."""
