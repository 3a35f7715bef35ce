"""`DecisionTrainer`: a causal LM as judge, decider, role judge or comparator."""
