from graphite.readers.utils import BaseReader

class Node:
    name: str
    path: str
    local: bool
    is_leaf: bool
    def __init__(self, path: str) -> None: ...

class BranchNode(Node): ...

class LeafNode(Node):
    reader: BaseReader
    def __init__(self, path: str, reader: BaseReader) -> None: ...
