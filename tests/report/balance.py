"""A reader of HTML that checks its tags: every one is closed, in order."""

from html.parser import HTMLParser


class Balance(HTMLParser):
    """Whether every element that opens closes, and what elements and links there are."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.links = [], set(), []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.handle_startendtag(tag, attributes)

    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)
        self.links += [
            value for name, value in attributes if name in ("src", "href", "action", "data") or name.startswith("on")
        ]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
