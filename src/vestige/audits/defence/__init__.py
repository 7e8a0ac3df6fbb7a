"""What a defence buys and what it costs: a membership audit and a frontier audit an arm, the same ones for all."""
