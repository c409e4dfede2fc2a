"""One network answers many clients as if each had its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.inference.pool.shared_network import Failed, Request, SharedNetwork
from ner_pipeline_tests.inference.pool.planted_network import PlantedNetwork, code


class Client:
    """Numbers its types in the order in which it meets them, and tells each once."""

    def __init__(self):
        self.number_of = {}
        self.told = 0

    def request(self, texts):
        for word in (word for text in texts for word in text):
            self.number_of.setdefault(word, len(self.number_of))
        new = list(self.number_of)[self.told :]
        rows = np.array([(word.isupper(), code(word)) for word in new], np.uint64).reshape(-1, 2)
        types = np.array([self.number_of[word] for text in texts for word in text], np.int32)
        first, self.told = self.told, len(self.number_of)
        return Request(first, rows, types, np.array([len(text) for text in texts], np.int32))

    def forget(self):
        self.__init__()


def expected(texts):
    return [
        [number, at, at + 1, 0]
        for number, text in enumerate(texts)
        for at, w in enumerate(text)
        if w.isupper()
    ]


def answers(shared, asked):
    replies = shared.answer([(client, client.request(texts)) for client, texts in asked])
    return [reply if isinstance(reply, Failed) else reply.tolist() for reply in replies]


texts_of_words = st.lists(st.lists(st.sampled_from("aAbBcCdD"), max_size=4), max_size=4)


@given(
    rounds=st.lists(st.dictionaries(st.integers(0, 2), texts_of_words, min_size=1), max_size=6),
    most=st.integers(1, 9),
    forgets=st.sets(st.integers(0, 5)),
)
def test_each_client_gets_what_it_would_get_alone(rounds, most, forgets):
    shared, clients = SharedNetwork(PlantedNetwork(), most), [Client() for _ in range(3)]
    for number, asked in enumerate(rounds):
        if number in forgets:
            clients[number % 3].forget()
        found = answers(shared, [(clients[who], texts) for who, texts in asked.items()])
        assert found == [expected(texts) for texts in asked.values()]


def test_requests_that_wait_are_computed_together():
    network = PlantedNetwork()
    answers(SharedNetwork(network), [(Client(), [["A"], ["b"]]), (Client(), [["b", "C"]])])
    assert network.asked == [3]


def test_the_network_learns_a_type_once_however_many_clients_have_it():
    network = PlantedNetwork()
    shared = SharedNetwork(network)
    answers(shared, [(Client(), [["A", "b"]]), (Client(), [["b", "A"]])])
    answers(shared, [(Client(), [["b", "c"]])])
    assert len(network.types) == 3


def test_the_types_that_the_network_knows_are_bounded():
    network = PlantedNetwork()
    shared, client = SharedNetwork(network, most_types=10), Client()
    for number in range(100):
        assert answers(shared, [(client, [[f"W{number}", f"w{number}"]])]) == [[[0, 0, 1, 0]]]
        assert len(network.types) <= 10


@pytest.mark.parametrize("company", [0, 3])
def test_a_request_on_which_the_network_raises_fails_alone(company):
    shared = SharedNetwork(PlantedNetwork())
    others = [Client() for _ in range(company)]
    bad, *good = answers(shared, [(Client(), [["BOOM"]])] + [(client, [["A"]]) for client in others])
    assert bad == Failed("ValueError: planted")
    assert good == [[[0, 0, 1, 0]]] * company
    assert answers(shared, [(client, [["b", "A"]]) for client in others]) == [[[0, 1, 2, 0]]] * company


def test_no_request_is_blamed_by_a_network_that_is_broken():
    network = PlantedNetwork()
    shared, client = SharedNetwork(network), Client()
    answers(shared, [(client, [["A"]])])
    network.ruined = True
    with pytest.raises(ValueError, match="planted"):
        answers(shared, [(client, [["b"]])])


def test_types_that_are_told_again_are_taken_again():
    shared, client = SharedNetwork(PlantedNetwork()), Client()
    assert isinstance(answers(shared, [(client, [["A", "BOOM"]])])[0], Failed)
    client.told = 0
    assert answers(shared, [(client, [["b", "A"]])]) == [[[0, 1, 2, 0]]]


def test_a_client_that_has_left_is_forgotten():
    shared, client = SharedNetwork(PlantedNetwork()), Client()
    answers(shared, [(client, [["A"]])])
    shared.drop(client)
    client.forget()
    assert answers(shared, [(client, [["b"]])]) == [[]]
