"""Choices with known answers, to measure how often a model changes its mind when the options change places."""

from agentkit.decisions import Query, Question

_CHOICES = (
    ("Which of these is an animal?", "dog", "table", "spoon", "cloud"),
    ("Which of these is a colour?", "blue", "chair", "seven", "river"),
    ("Which of these is a fruit?", "apple", "hammer", "shirt", "window"),
    ("What is the capital of France?", "Paris", "Rome", "Madrid", "Berlin"),
    ("What is two plus two?", "four", "nine", "one", "twelve"),
    ("Which of these can fly?", "a bird", "a stone", "a house", "a shoe"),
    ("Where does one keep milk cold?", "the fridge", "the oven", "the shelf", "the bed"),
    ("What heats food?", "the microwave", "the fridge", "the drawer", "the sofa"),
    ("What cleans a dirty plate?", "the sink", "the lamp", "the desk", "the safe"),
    ("Which of these is a day of the week?", "Monday", "March", "noon", "winter"),
    ("Which of these is a month?", "July", "Tuesday", "evening", "ocean"),
    ("What do you use to cut bread?", "a knife", "a pillow", "a book", "a sock"),
    ("Which of these is the largest?", "the sun", "a mouse", "a car", "a tree"),
    ("Which of these is hot?", "fire", "ice", "snow", "a frozen lake"),
    ("Where do fish live?", "in water", "in the sky", "in a book", "in a fire"),
    ("What do people drink?", "water", "sand", "wood", "glass"),
    ("Who treats sick people?", "a doctor", "a carpenter", "a pilot", "a painter"),
    ("What does one read?", "a book", "a fork", "a carpet", "a wheel"),
    ("Which of these is a vegetable?", "a carrot", "a lion", "a bottle", "a train"),
    ("What shines at night?", "the moon", "a sandwich", "a shoe", "a door"),
)


def known_choices() -> list[tuple[Query, str]]:
    """Each question with its answer, which stands in every place equally often."""
    choices = []
    for i, (text, answer, *others) in enumerate(_CHOICES):
        options = [*others]
        options.insert(i % 4, answer)
        choices.append((Query("", Question(text, "choice", tuple(options))), answer))
    return choices


def reversed_options(query: Query) -> Query:
    """The same question with its options in reverse."""
    question = query.question
    return Query(query.context, Question(question.text, question.kind, question.options[::-1]), query.system)
