"""Names of measured quantities as ROS topic names."""

from collections.abc import Sequence
import re
import unicodedata

# A whole topic name, namespace included, may have 247 characters (rmw).
_LONGEST = 100


def topic_names(names: Sequence[str]) -> list[str]:
    """
    Return a legal, visible topic name of one level for each name, none of them twice.

    Letters lose their accents, other characters become single underscores; a name that begins
    with a digit or has nothing left gets the prefix ``p``. Where two become the same, the later
    one gets a number.
    """
    taken: set[str] = set()
    topics = []
    for name in names:
        plain = unicodedata.normalize('NFKD', name).encode('ascii', 'ignore').decode()
        base = re.sub('[^A-Za-z0-9]+', '_', plain).strip('_')[:_LONGEST].rstrip('_')
        if not base or base[0].isdigit():
            base = f'p_{base}'.rstrip('_')
        topic, number = base, 1
        while topic in taken:
            number += 1
            topic = f'{base}_{number}'
        taken.add(topic)
        topics.append(topic)
    return topics
